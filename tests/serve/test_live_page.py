"""The page in a real browser, for every family, against the real server."""

import pytest
from browser import opened_browser


@pytest.fixture(scope="module")
def browser():
    with opened_browser() as found:
        yield found


@pytest.fixture
def page(browser, server):
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    trouble, asked = [], []
    page.on("pageerror", lambda problem: trouble.append(str(problem)))
    page.on("console", lambda told: trouble.append(told.text) if "status of 4" not in told.text else None)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(server.url)
    page.wait_for_selector("nav.models .tab.chosen")
    yield page
    assert trouble == [] and all(url.startswith(server.url) for url in asked)
    page.close()


def test_a_translator_reads_along_and_takes_another_word(page):
    assert page.input_value("textarea"), "an example of the training is there"
    page.fill("textarea", "The old dog sleeps.")
    page.wait_for_selector(".sentence:text('The old dog sleeps.')")
    page.hover("[data-word='0']")
    first = page.inner_text("[data-word='0']")
    page.click("[data-word='0']")
    page.wait_for_selector("[data-choice]")
    choices = [one.get_attribute("data-choice") for one in page.query_selector_all("[data-choice]")]
    assert first in choices
    other = next((one for one in choices if one != first), None)
    if other:
        page.click(f"[data-choice={other!r}]")
        page.wait_for_selector(f"[data-word='0']:text-is({other!r})")
    assert page.query_selector(".tree li")
    page.click("[data-act='look']")
    page.wait_for_selector(".look .stage .sentence")
    page.click(".look [data-view='matrix']")
    assert page.query_selector(".look canvas.matrix")


def test_a_writer_streams_and_shows_its_surprises(page):
    page.click("[data-model='tales']")
    page.fill("textarea", "The old")
    page.click("[data-act='write']")
    page.wait_for_selector(".look .stage")
    assert page.inner_text(".written").startswith("The old") and len(page.inner_text(".written")) > 10
    page.click(".look [data-view='probabilities']")
    assert page.query_selector(".look .token[data-probability]")


def test_a_filler_hides_the_word_that_is_clicked(page):
    page.click("[data-model='gaps']")
    page.wait_for_selector("[data-word].hidden")  # of an example of the training
    page.fill("textarea", "The old man reads a book.")
    page.wait_for_selector("[data-word].hidden", state="detached")
    page.click("[data-word='1']")
    page.wait_for_selector(".gaps table tr")
    assert len(page.query_selector_all(".gaps table")) == 1
    page.click("[data-word='4']")
    page.wait_for_selector(".gaps table >> nth=1")


def test_an_answerer_follows_the_story_as_it_changes(page):
    page.click("[data-model='stories']")
    page.wait_for_selector(".look td[data-hop]")
    before = page.inner_text(".look")
    page.fill("textarea", "Brian is a frog.\nBrian is pink.\nGreg is a frog.")
    page.wait_for_selector(".look td[data-hop='0'][data-sentence='3']", state="detached")
    assert page.inner_text(".look") != before


def test_a_training_shows_its_curves_and_trouble_is_told(page):
    page.click("[data-model='training: en-fr']")
    page.wait_for_selector("[data-curve='loss'] polyline")
    assert int(page.get_attribute("[data-curve='loss']", "data-points")) > 1
    scores = page.get_attribute("[data-curve='bleu']", "data-points")
    assert page.get_attribute("[data-curve='validation loss']", "data-points") == scores  # not among those of training
    page.click("[data-model='gaps']")
    page.wait_for_selector("[data-word='1']")
    page.fill("textarea", "word " * 1500)
    page.wait_for_selector("[data-word='1400']")
    page.click("[data-word='1']")
    page.wait_for_selector("#trouble:not([hidden])")
    assert "tokens" in page.inner_text("#trouble") or "characters" in page.inner_text("#trouble")


@pytest.mark.parametrize("name", ["en-fr", "tales", "gaps", "stories"])
def test_a_slider_goes_through_what_a_training_looked_at(page, server, name):
    frames = server.ask(f"/api/runs/{name}/snapshots")[1]["snapshots"]
    page.click(f"[data-model='training: {name}']")
    page.wait_for_selector(".snapshots canvas.matrix")
    assert page.inner_text("#moment-step") == f"step {frames[-1]['step']}"
    for number in (0, len(frames) - 1):
        page.fill("#moment", str(number))
        shown = frames[number]["probes"][0]["maps"][0][0][0]
        assert float(page.get_attribute(".snapshots canvas.matrix", "data-first")) == shown
        assert page.inner_text("#moment-step") == f"step {frames[number]['step']}"
        if name == "en-fr":
            assert frames[number]["samples"][0][0] in page.inner_text(".samples")
    page.hover(".snapshots canvas.matrix", position={"x": 160, "y": 160})
    assert page.inner_text(".snapshots .readout")


def test_it_works_on_a_phone(page):
    page.set_viewport_size({"width": 380, "height": 700})
    page.fill("textarea", "The old dog sleeps.")
    page.wait_for_selector("[data-word='0']")
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
