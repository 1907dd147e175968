"""Pictures of the pages for the documents, from models of the demos: each view of `regard look`, and `regard serve`.

`regard demo translate` and `regard demo answer` make the models; a picture is of a model whose family it shows.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from clients import Server
from measure import arguments
from playwright.sync_api import Browser, Page, sync_playwright

import regard

PICTURES = Path(__file__).parent.parent / "docs" / "guides" / "pictures"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
SIZE = {"width": 900, "height": 420}
TEXT = "The tired friend sends my happy father a letter."
STORY = ["Brian is a frog.", "Lily is gray.", "Brian is yellow.", "Julius is green.", "Greg is a frog."]
VIEWS = {
    "translate": ("text", "matrix", "lines", "overview", "probabilities", "why"),
    "answer": ("story",),
}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("models", type=Path, nargs="+", help="model folders, each with its run")
    given = parser.parse_args()
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for model in given.models:
            look(browser, regard.load(model))
        serve(browser, given.models)
        browser.close()


def look(browser: Browser, model: Any) -> None:
    """A picture of each view of a model's page."""
    task = model.info.task
    seen = model.look(TEXT, why=True) if task == "translate" else model.look("What color is Greg?", STORY, why=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "look.html")
        seen.save(path)
        page = browser.new_page(viewport=SIZE)
        page.goto(path.as_uri())
        for view in VIEWS[task]:
            page.click(f'nav .tab[data-view="{view}"]')
            if view == "text":
                page.hover('.token[data-side="row"][data-index="3"]')
            take(page, f"{task}-{view}")
        page.close()


def serve(browser: Browser, folders: list[Path]) -> None:
    """A picture of each model's tab on the served page, and of the training of the first."""
    server = Server(folders)
    try:
        page = browser.new_page(viewport=SIZE)
        page.set_default_timeout(120_000)
        page.goto(f"http://127.0.0.1:{server.port}/")
        page.wait_for_selector("nav.models .tab.chosen")
        models = server.ask("/api/models")[1]
        for model in models:
            page.click(f"nav.models .tab[data-model^='{model['id']}']")
            OPEN[model["task"]](page)
            take(page, f"serve-{model['task']}")
        page.click(f"[data-model='training: {models[0]['id']}']")
        page.wait_for_selector(".snapshots canvas.matrix")
        take(page, "serve-training")
    finally:
        server.stop()


def take(page: Page, name: str) -> None:
    """Writes a picture of what the page shows once it is drawn."""
    page.wait_for_timeout(800)
    page.screenshot(path=PICTURES / f"{name}.png", full_page=True)


def translate(page: Page) -> None:
    """Opens the alternatives of a translated word."""
    page.fill("textarea", TEXT)
    page.wait_for_selector("[data-word='2']")
    page.click("[data-word='2']")
    page.wait_for_selector("[data-choice]")


def answer(page: Page) -> None:
    """Waits for the hops of the story that is there."""
    page.wait_for_selector(".look td[data-hop]")


OPEN = {"translate": translate, "answer": answer}

if __name__ == "__main__":
    main()
