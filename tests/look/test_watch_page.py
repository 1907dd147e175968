"""A page with a model in it shows its beam search, what its heads do and how it was trained; in a real browser."""

import pytest
from browser import opened_browser

import regard
from regard.convert import make_page
from regard.training.log import read_history

TEXT = "The old dog sleeps."
ROLES = {"aligning": 0.62, "sink": 0.2, "previous": -0.1}


@pytest.fixture(scope="module")
def browser():
    with opened_browser() as found:
        yield found


@pytest.fixture(scope="module")
def page(browser, folder, tmp_path_factory):
    translator = regard.load(folder)
    shape = translator.model.config
    roles = {"cross": [[ROLES] * shape.heads] * shape.layers}
    translator.info = translator.info.model_copy(update={"head_roles": roles})
    path = tmp_path_factory.mktemp("page") / "model.html"
    history = read_history(folder / "run")
    path.write_text(make_page(translator, "en-fr", "float32", {"text": TEXT}, history), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1100, "height": 800})
    page.set_default_timeout(120_000)
    trouble: list[str] = []
    page.on("pageerror", lambda problem: trouble.append(str(problem)))
    page.on("console", lambda message: trouble.append(message.text))
    page.goto(path.as_uri())
    page.wait_for_selector("nav .tab[data-view='beam']")
    yield page
    assert trouble == []
    page.close()


def test_the_beam_has_the_scores_that_the_library_finds(page, folder):
    page.wait_for_selector("nav .tab[data-view='why']")  # all is computed: what is shown stays
    page.click("nav .tab[data-view='beam']")
    best = regard.load(folder, engine="torch").translate(TEXT, n_best=4)
    rows = page.locator("table.finished tr:has(td)").all_inner_texts()
    found = sorted(round(float(row.split("\t")[2].replace("−", "-")), 2) for row in rows)
    scores = [one.score for one in (best, *best.alternatives)]
    assert len(found) >= 4 and all(any(abs(score - one) < 0.02 for one in found) for score in scores)
    assert rows[0].split("\t")[0] == best.text
    shown = page.locator(".tree-of-beam g").count()
    page.check("#beam-whole")
    assert page.locator(".tree-of-beam g").count() > shown
    page.hover(".tree-of-beam g[data-node='0']")
    assert "log-probability" in page.inner_text(".stage .readout")


def test_heads_are_named_with_their_scores(page):
    page.click("nav .tab[data-view='overview']")
    assert page.inner_text(".head[data-key='2-1'] [data-role]") == "aligning 0.62"
    assert "aligning 0.62, sink 0.20" in page.get_attribute(".head[data-key='1-1']", "title")
    assert "layer 1, head 2 · aligning 0.62" in page.inner_text("select[data-pick='map']")


def test_the_training_is_played_from_its_first_step(page, folder):
    frames = read_history(folder / "run")["snapshots"]
    assert frames[0]["step"] == 0
    page.click(".history summary")
    page.wait_for_selector(".snapshots canvas.matrix")
    assert page.inner_text("#moment-step") == f"step {frames[-1]['step']}"
    page.fill("#moment", "0")
    assert page.inner_text("#moment-step") == "step 0"
    page.click("#play")
    page.wait_for_selector(f"#moment[aria-valuetext='step {frames[-1]['step']}']")
    page.wait_for_selector("#play:text('play')")  # it has come to the end
    page.fill("#moment", "1")
    assert page.inner_text("#moment-step") == f"step {frames[1]['step']}"
    shown = page.inner_text(".samples")
    assert f"generated at step {frames[1]['step']}" in shown and frames[1]["samples"][0][0] in shown
    assert page.locator(".curve .moment, .curve polyline").count() > 3
    assert page.locator("[data-curve='loss'] .axis").count() == 1
