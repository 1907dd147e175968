"""Pictures of the served page for the documents, from models of the demos: translate, write, fill, answer, training."""

import shutil
from pathlib import Path

from clients import Server
from measure import arguments

DOCS = Path(__file__).parent.parent / "docs" / "guides" / "pictures"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("models", type=Path, nargs="+", help="model folders, each with its run")
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright

    DOCS.mkdir(exist_ok=True)
    server = Server(given.models)
    try:
        with sync_playwright() as running:
            flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
            browser = running.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
            page = browser.new_page(viewport={"width": 900, "height": 420})
            page.goto(f"http://127.0.0.1:{server.port}/")
            page.wait_for_selector("nav.models .tab.chosen")
            models = server.ask("/api/models")[1]
            for model in models:
                page.click(f"nav.models .tab[data-model^='{model['id']}']")
                SHOTS[model["task"]](page)
                page.wait_for_timeout(800)
                page.screenshot(path=DOCS / f"serve-{model['task']}.png", full_page=True)
            page.click(f"[data-model='training: {models[0]['id']}']")
            page.wait_for_selector(".snapshots canvas.matrix")
            page.screenshot(path=DOCS / "serve-training.png", full_page=True)
            browser.close()
    finally:
        server.stop()


def translate(page) -> None:  # type: ignore[no-untyped-def]
    page.fill("textarea", "The tired friend sends my happy father a letter.")
    page.wait_for_selector("[data-word='2']")
    page.click("[data-word='2']")
    page.wait_for_selector("[data-choice]")


def write(page) -> None:  # type: ignore[no-untyped-def]
    page.fill("textarea", "The old")
    page.click("[data-act='write']")
    page.wait_for_selector(".look .stage")


def fill(page) -> None:  # type: ignore[no-untyped-def]
    page.wait_for_selector("[data-word='1']")
    page.click("[data-word='1']")
    page.wait_for_selector(".gaps table tr")


def answer(page) -> None:  # type: ignore[no-untyped-def]
    page.wait_for_selector(".look td[data-hop]")


SHOTS = {"translate": translate, "write": write, "fill": fill, "answer": answer}

if __name__ == "__main__":
    main()
