"""A server keeps its weights, unless it is started to send them; then its page runs the models and asks nothing."""

import json
import re

import pytest
from browser import opened_browser
from server import Server

from regard.look.export import SCRIPTS
from regard.look.live import LIVE

TEXT = "The old dog sleeps."


def test_no_weights_are_sent_unless_asked_for(server):
    models = server.ask("/api/models")[1]
    assert models and not any(model["is_shared"] for model in models)
    for model in models:
        status, answer, _ = server.ask(f"/api/models/{model['id']}/weights")
        assert status == 403 and "--share-weights" in answer["error"]
    assert server.ask("/api/models/none/weights")[0] == 404
    every = server.ask("/openapi.json")[1]["paths"]
    for path in (path for path, ways in every.items() if "get" in ways and "{" not in path):
        assert len(json.dumps(server.ask(path)[1])) < 200_000, path  # the smallest model has more


@pytest.fixture(scope="module")
def sharing(folders):
    running = Server(folders[:2], "--share-weights", "--api-key", "a long key")
    yield running
    running.stop()


def test_weights_need_the_key_as_all_else(sharing):
    assert sharing.ask("/api/models/en-fr/weights")[0] == 401
    status, parts, _ = sharing.ask("/api/models/en-fr/weights", headers={"Authorization": "Bearer a long key"})
    assert status == 200 and set(parts) == {"about", "tokenizer", "weights", "engine"}


def test_the_page_runs_shared_models_itself(sharing, translator):
    with opened_browser() as browser:
        page = browser.new_page()
        trouble, asked = [], []
        page.on("pageerror", lambda problem: trouble.append(str(problem)))
        page.on("request", lambda request: asked.append((request.method, request.url)))
        page.add_init_script("sessionStorage.setItem('regard-key', 'a long key')")
        page.goto(sharing.url)
        page.fill("textarea", TEXT)
        words = "document.querySelector('.sentence[aria-live]').textContent.trim().split(/\\s+/)"
        page.wait_for_function(f"text => {words}.join(' ') === text", arg=" ".join(translator(TEXT).split()))
        page.wait_for_selector(".look .stage .sentence")
        page.click("[data-view='change']")
        page.click("[data-edit='off,decoder.blocks.0']")
        page.wait_for_selector(".changes .chip")
        page.wait_for_selector(".columns table")
        page.click("[data-view='numbers']")
        page.wait_for_selector(".stage:not(:has(.waits)) .card")
        page.click("[data-model='tales']")
        page.fill("textarea", "The old")
        page.click("[data-act='write']")
        page.wait_for_selector(".look .stage")
        assert page.inner_text(".written").startswith("The old")
        assert trouble == [] and not [url for method, url in asked if method == "POST"]
        assert [url.split("/")[-2] for _, url in asked if url.endswith("/weights")] == ["en-fr", "tales"]


def test_the_served_page_has_every_script_of_a_saved_one(server):
    served = re.findall(r'src="/page/([a-z_]+)\.js"', server.ask("/")[1])
    saved = [*SCRIPTS, *LIVE]
    assert [name for name in served if name in saved] == saved
