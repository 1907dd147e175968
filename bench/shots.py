"""Pictures of the pages for the documents, from models of the demos: each view of `regard look`, and `regard serve`.

`regard demo translate` and `regard demo answer` make the models; a picture is of a model whose family it shows.
"""

import base64
import shutil
import struct
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from clients import Server
from measure import arguments
from playwright.sync_api import Browser, Page, sync_playwright

import regard
from regard.convert import make_page

PICTURES = Path(__file__).parent.parent / "docs" / "guides" / "pictures"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
SIZE, SERVED = {"width": 1280, "height": 820}, {"width": 1280, "height": 700}
CHANGED = "#change=off,decoder.blocks.1.cross_attention,0"  # a head that is off, in the picture of that view
PIXELS = """async (source) => {
  const picture = new Image();
  picture.src = source;
  await picture.decode();
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: picture.width, height: picture.height });
  const pen = canvas.getContext("2d");
  pen.drawImage(picture, 0, 0);
  const bytes = pen.getImageData(0, 0, canvas.width, canvas.height).data;
  let text = "";
  for (let i = 0; i < bytes.length; i += 30000) text += String.fromCharCode(...bytes.subarray(i, i + 30000));
  return [[canvas.width, canvas.height], btoa(text)];
}"""
TEXT = "The tired friend sends my happy father a letter."
STORY = ["Brian is a frog.", "Lily is gray.", "Brian is yellow.", "Julius is green.", "Greg is a frog."]
VIEWS = {
    "translate": (
        "text",
        "matrix",
        "lines",
        "overview",
        "numbers",
        "stream",
        "near",
        "probabilities",
        "beam",
        "why",
        "change",
    ),
    "answer": ("story",),
}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("models", type=Path, nargs="+", help="model folders, each with its run")
    given = parser.parse_args()
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for model in given.models:
            look(browser, regard.load(model), model.name)
        serve(browser, given.models)
        browser.close()


def look(browser: Browser, model: Any, name: str) -> None:
    """A picture of each view of a model's page."""
    task = model.info.task
    given = {"text": TEXT} if task == "translate" else {"text": "What color is Greg?", "story": "\n".join(STORY)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "look.html")
        path.write_text(make_page(model, name, given=given), encoding="utf-8")
        page = browser.new_page(viewport=SIZE)
        page.set_default_timeout(120_000)
        for view in VIEWS[task]:
            page.goto("about:blank")
            page.goto(path.as_uri() + (CHANGED if view == "change" and task == "translate" else ""))
            page.wait_for_selector(f'nav .tab[data-view="{"why" if task == "translate" else view}"]')
            page.click(f'nav .tab[data-view="{view}"]')
            page.wait_for_selector(".waits", state="detached")
            take(page, f"{task}-{view}", is_whole=False)
        if task == "translate":
            page.set_viewport_size({**SIZE, "height": 900})
            page.goto("about:blank")
            page.goto(f"{path.as_uri()}#view=matrix")
            page.wait_for_selector('nav .tab[data-view="why"]')
            page.click('nav .tab[data-view="matrix"]')
            page.select_option("[data-pick='map']", "1-1")
            page.select_option("[data-pick='beside']", "2-2")
            take(page, f"{task}-beside", is_whole=False)
        page.close()


def serve(browser: Browser, folders: list[Path]) -> None:
    """A picture of each model's tab on the served page, and of the training of the first."""
    server = Server(folders)
    try:
        page = browser.new_page(viewport=SERVED)
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


def take(page: Page, name: str, is_whole: bool = True) -> None:
    """Writes a picture of what the page shows once it is drawn."""
    page.wait_for_timeout(800)
    path = PICTURES / f"{name}.png"
    shot = base64.b64encode(page.screenshot(full_page=is_whole)).decode()
    blank = page.context.browser.new_page()
    size, pixels = blank.evaluate(PIXELS, f"data:image/png;base64,{shot}")
    blank.close()
    path.write_bytes(write_png(np.frombuffer(base64.b64decode(pixels), np.uint8).reshape(size[1], size[0], 4)[..., :3]))


def write_png(pixels: np.ndarray) -> bytes:
    """A picture with a palette of 256 of its colours, a third as large as with all; pixels (H, W, 3)."""
    height, width, _ = pixels.shape
    packed = pixels.astype(np.uint32) @ np.array([65536, 256, 1], np.uint32)
    colors, places, counts = np.unique(packed.ravel(), return_inverse=True, return_counts=True)
    split = np.stack([colors >> 16, (colors >> 8) & 255, colors & 255], axis=1).astype(np.int32)
    kept = list(np.argsort(-counts)[:96])  # the most frequent, then those that are farthest from all that are kept
    away = ((split[:, None] - split[kept]) ** 2).sum(-1).min(1)
    while len(kept) < 256:
        kept.append(int(away.argmax()))
        away = np.minimum(away, ((split - split[kept[-1]]) ** 2).sum(-1))
    nearest = np.array([np.argmin(((split[kept] - color) ** 2).sum(1)) for color in split], np.uint8)
    rows = np.zeros((height, width + 1), np.uint8)  # each begins with its filter: none
    rows[:, 1:] = nearest[places.ravel()].reshape(height, width)
    found = b"\x89PNG\r\n\x1a\n"
    for kind, content in (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", split[kept].astype(np.uint8).tobytes()),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    ):
        found += struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    return found


def translate(page: Page) -> None:
    """Opens the alternatives of a translated word."""
    page.fill("textarea", TEXT)
    page.wait_for_selector("[data-word='2']")
    page.wait_for_function("text => document.querySelector('p.sentence').textContent.trim() === text", arg=TEXT)
    page.click("[data-word='2']")
    page.wait_for_selector("[data-choice]")
    page.click("[data-act='look']")
    page.wait_for_selector(".look .stage .sentence")


def answer(page: Page) -> None:
    """Waits for the hops of the story that is there."""
    page.wait_for_selector(".look td[data-hop]")


OPEN = {"translate": translate, "answer": answer}

if __name__ == "__main__":
    main()
