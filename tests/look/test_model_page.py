"""A page with a model in it, in a real browser from a disk: it computes what the library computes, and asks nobody."""

import base64
import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from browser import opened_browser
from hostile import reseal
from missing import skip

import regard
from regard.convert import export_model, make_page
from regard.errors import ConfigError
from regard.training.log import read_example

TEXT = "The old dog sleeps in the garden."
TALE = ["Brian is a frog.", "Lily is gray.", "Brian is yellow.", "Greg is a frog."]
HOSTILE = "<img src=x onerror=bad=1>"
ASK = """async ([path, fields]) => {
  const plain = (_, value) => (ArrayBuffer.isView(value) ? [...value] : value);
  return JSON.parse(JSON.stringify(await regard.askJson(path, fields), plain));
}"""


@pytest.fixture(scope="module")
def browser():
    with opened_browser() as found:
        yield found


@pytest.fixture
def visit(browser, tmp_path):
    """Opens a model as a page; requests and errors of the page are kept."""
    pages = []

    def show(folder, precision="float32", **given):
        path = tmp_path / f"{len(pages)}.html"
        path.write_text(make_page(regard.load(folder), folder.name, precision, given), encoding="utf-8")
        page = browser.new_page(viewport={"width": 1100, "height": 800})
        page.trouble, page.asked = [], []
        page.on("pageerror", lambda problem: page.trouble.append(str(problem)))
        page.on("console", lambda message: page.trouble.append(message.text))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(path.as_uri())
        pages.append(page)
        return page

    yield show
    for page in pages:
        assert page.trouble == []
        assert [url for url in page.asked if not url.startswith(("file:", "data:", "blob:"))] == []
        page.close()


def near(mine, theirs, within=1e-4):
    """Whether two answers are equal but for rounding, wherever they have numbers."""
    if isinstance(theirs, dict):
        return all(near(mine[key], value, within) for key, value in theirs.items() if key in mine)
    if isinstance(theirs, list) and len(mine) != len(theirs):  # a map is flat in a page
        return near(mine, [value for row in theirs for value in row], within)
    if isinstance(theirs, list):
        return all(near(one, other, within) for one, other in zip(mine, theirs, strict=True))
    return abs(mine - theirs) <= within if isinstance(theirs, float) else mine == theirs


def test_every_family_is_looked_into_as_by_the_library(
    visit, folder, writer_folder, filler_folder, answerer_folder, classifier_folder
):
    looks = {
        folder: ({"text": TEXT}, {}),
        writer_folder: ({"text": "The old dog sleeps."}, {}),
        filler_folder: ({"text": "The [MASK] dog sleeps."}, {}),
        answerer_folder: ({"text": "What color is Greg?", "story": "\n".join(TALE)}, {"story": TALE}),
        classifier_folder: ({"text": "The old dog sleeps, der Hund nicht."}, {}),
    }
    for model, (fields, options) in looks.items():
        found = visit(model).evaluate(ASK, ["/api/look", fields | {"why": True}])
        seen = json.loads(regard.load(model).look(fields["text"], why=True, **options).to_json())
        for part in ("answer", "kinds", "token_scores"):
            assert near(found[part], seen[part]), (model, part)
        assert near(found["why"]["left_out"], seen["why"]["left_out"], 1e-3)
        assert near(found["why"]["gradient"], seen["why"]["gradient"], 5e-3)
        assert [off["layer"] for off in found["why"]["off"]] == [off["layer"] for off in seen["why"]["off"]]


def test_a_cell_is_what_torch_computed_down_to_its_numbers(visit, folder, translator):
    page = visit(folder)
    cell = {"kind": "cross", "layer": 1, "head": 1, "row": 2}
    found = page.evaluate(ASK, ["/api/numbers", {"text": TEXT, "target": translator(TEXT), **cell}])
    seen = translator.look(TEXT, target=translator(TEXT))
    assert near(found["weights"], seen.kinds["cross"].weights[0, 1, 2].tolist())
    products = [sum(q * k for q, k in zip(found["query"], key, strict=True)) for key in found["keys"]]
    assert near(found["scores"], [one / found["scale"] for one in products])
    softmax = torch.tensor(found["scores"]).softmax(-1).tolist()
    assert near(found["weights"], softmax)
    network = regard.load(folder, engine="torch").model
    output = network.decoder.blocks[0].cross_attention.output.weight.detach()
    deep = output.shape[1] // network.config.heads
    brought = torch.tensor(found["values"]) @ output[:, deep : 2 * deep].T  # (S, D)
    assert near(found["norms"], brought.norm(dim=-1).tolist(), 1e-3)
    mixed = torch.tensor(found["weights"]) @ brought
    assert found["written"][1] == pytest.approx(float(mixed.norm()), abs=1e-3)


def test_a_head_that_is_off_changes_every_view_as_the_library_says(visit, folder, translator):
    page, target = visit(folder), translator(TEXT)
    seen = translator.look(TEXT, target=target, why=True)
    off = next(one for one in seen.why.off if one.kind == "cross")
    edits = [{"what": "off", "name": f"decoder.blocks.{off.layer - 1}.cross_attention", "head": off.head - 1}]
    fields = {"text": TEXT, "target": target, "edits": edits}
    changes = page.evaluate(ASK, ["/api/changed", {"before": fields | {"edits": []}, "after": fields}])["changes"]
    assert near([one["after"] for one in changes], off.probabilities)
    assert near([one["before"] for one in changes], [score.probability for score in seen.token_scores])
    looked = page.evaluate(ASK, ["/api/look", fields])
    assert near([one["probability"] for one in looked["token_scores"]], off.probabilities)


def test_the_residual_stream_and_the_nearest_words_are_the_models(visit, folder, translator):
    page, target = visit(folder), translator(TEXT)
    fields = {"text": TEXT, "target": target}
    found = page.evaluate(ASK, ["/api/stream", fields | {"stack": "decoder", "place": 1}])
    lens = translator.look(TEXT, target=target).logit_lens
    after = [step for step in found["steps"] if step["name"].endswith(("input", "feed_forward"))]
    for layer, step in zip(lens, after, strict=True):  # the last has one norm more
        assert [token for token, _ in step["likeliest"]][:1] == [token for token, _ in layer[1]][:1]
    assert found["steps"][-1]["cosine"] == pytest.approx(1, abs=1e-5)
    assert all(len(one["units"]) == 5 for one in found["units"])
    near_words = page.evaluate(ASK, ["/api/near", fields])
    assert all(-1.001 <= cosine <= 1.001 for word in near_words["words"] for _, cosine in word["near"])


def test_one_types_and_the_views_follow(visit, folder, translator):
    page = visit(folder)
    page.fill("textarea", TEXT)
    page.wait_for_selector(".look .stage .sentence")
    assert page.inner_text(".sentence[aria-live]").split() == translator(TEXT).split()
    page.click(".look [data-view='matrix']")
    page.wait_for_selector(".look [data-view='why']")  # computed after the rest, and the view stays
    assert page.query_selector(".look canvas.matrix")
    page.click("[data-word='0']")
    page.wait_for_selector("[data-choice]")
    other = page.query_selector("[data-choice]:not(.chosen)")
    word = other.get_attribute("data-choice")
    other.click()
    page.wait_for_selector(f"[data-word='0']:text-is({word!r})")
    found = translator.translate(TEXT, prefix=word)
    assert page.inner_text(".sentence[aria-live]").split() == found.text.split()


def test_a_writer_and_a_filler_and_an_answerer_answer_in_their_page(
    visit, writer_folder, filler_folder, answerer_folder
):
    page = visit(writer_folder, text="The old")
    page.click("[data-act='write']")
    page.wait_for_selector(".look .stage")
    page.wait_for_function("document.querySelectorAll('.written span').length > 3")
    assert page.inner_text(".written").startswith("The old") and len(page.inner_text(".written")) > 10
    page.click(".written span >> nth=1")
    page.wait_for_selector("[data-choice]")
    kept, other = page.inner_text(".written span >> nth=0"), page.query_selector("[data-choice]:not(.chosen)")
    chosen = other.get_attribute("data-choice")
    other.click()
    page.wait_for_function(
        "text => document.querySelector('.written').textContent.startsWith(text)", arg=f"The old{kept}{chosen}"
    )
    page = visit(filler_folder, precision="float16")
    page.fill("textarea", "The old man reads a book.")
    page.click("[data-word='1']")
    page.wait_for_selector(".look .stage")
    assert len(page.query_selector_all(".gaps table tr")) == 5
    page.fill("textarea", "The [MASK] man reads.")
    page.wait_for_selector("[data-word='1'].hidden")
    page.click("[data-word='3']")
    page.wait_for_selector(".gaps table >> nth=1")
    assert page.inner_text(".look .stage").split()[-3:] == ["[MASK]", ".", "[SEP]"], "signs after a word stay"
    page.fill("textarea", "犬は水を見る。")
    page.wait_for_selector("[data-word='2']")
    page = visit(answerer_folder, precision="int8", story="\n".join(TALE), text="What color is Greg?")
    page.wait_for_selector(".look td[data-hop]")
    assert page.inner_text(".answer strong") == regard.load(answerer_folder)(TALE, "What color is Greg?")


def test_a_classifier_answers_in_its_page_while_one_types(visit, classifier_folder):
    page = visit(classifier_folder)
    page.fill("textarea", "Der alte Hund schläft im Garten.")
    page.wait_for_selector(".look .stage")
    found = regard.load(classifier_folder).classify("Der alte Hund schläft im Garten.", top=5)
    assert page.inner_text(".answer strong") == found.label
    told = page.evaluate(ASK, ["/api/classify", {"text": ["Der alte Hund schläft im Garten.", ""], "unsure": 0.4}])
    assert near(told["texts"][0]["labels"], [asdict(one) for one in found.labels])
    assert told["texts"][1]["is_unlike"] and told["texts"][0]["unknown"] == found.unknown


def test_hostile_names_and_texts_are_inert(visit, folder, tmp_path):
    place = shutil.copytree(folder, tmp_path / "</script><img src=x onerror=bad=1>")
    page = visit(place, text=HOSTILE)
    page.wait_for_selector(".look .stage .sentence")
    assert page.evaluate("window.bad") is None and page.query_selector("main img") is None
    assert "onerror" in page.inner_text("h1")


def test_a_hostile_label_and_a_hostile_card_are_inert(visit, classifier_folder, tmp_path):
    place = shutil.copytree(classifier_folder, tmp_path / "m", ignore=shutil.ignore_patterns("run"))
    config = json.loads((place / "config.json").read_text(encoding="utf-8"))
    labels = next(part for part in (config, config.get("model", {})) if "labels" in part)["labels"]
    labels[:] = [f"</script>{HOSTILE}{number}" for number in range(len(labels))]
    (place / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (place / "README.md").write_text(f"# </script>{HOSTILE}", encoding="utf-8")
    reseal(place)
    page = visit(place, text="The old dog sleeps.")
    page.wait_for_selector(".look .stage")
    assert page.evaluate("window.bad") is None and page.query_selector("main img") is None
    assert "onerror" in page.inner_text(".answer strong")


def test_a_notebook_shows_the_page_and_runs_the_model_in_a_frame_without_rights(browser, folder, translator):
    shown = regard.show(regard.load(folder), TEXT)
    page = browser.new_page()
    page.set_content(f"<!doctype html>{shown._repr_html_()}")
    frame = page.frames[1]
    frame.wait_for_selector(".look .stage .sentence")
    assert frame.inner_text(".sentence[aria-live]").split() == translator(TEXT).split()
    page.close()


def test_a_page_that_is_shown_can_be_saved_but_not_over_a_file_of_others(folder, tmp_path):
    shown = regard.show(regard.load(folder))
    shown.save(tmp_path / "model.html")
    assert (tmp_path / "model.html").read_text(encoding="utf-8") == shown.html
    (tmp_path / "theirs.html").write_text("<p>mine</p>")
    with pytest.raises(ConfigError, match="theirs"):
        shown.save(tmp_path / "theirs.html")


def test_without_webassembly_the_page_computes_the_same(browser, folder, tmp_path):
    path = tmp_path / "plain.html"
    html = make_page(regard.load(folder), "plain", "float32")
    found = []
    for policy in ("script-src 'wasm-unsafe-eval'", "script-src"):
        path.write_text(html.replace("script-src 'wasm-unsafe-eval'", policy), encoding="utf-8")
        page = browser.new_page()
        page.goto(path.as_uri())
        found.append(page.evaluate(ASK, ["/api/look", {"text": TEXT}]))
        page.close()
    assert near(found[0]["token_scores"], found[1]["token_scores"]) and found[0]["answer"] == found[1]["answer"]


def test_the_file_names_no_address_and_is_small(folder, tmp_path):
    export_model(folder, "page", tmp_path / "model.html")
    html = (tmp_path / "model.html").read_text(encoding="utf-8")
    data = re.compile(r'<script type="application/json" id="regard-(\w+)">(.*?)</script>', re.S)
    outside = data.sub("", html)
    assert not re.search(r"https?:|//[a-z]+\.|@import|url\(|fetch\(|XMLHttpRequest|\bimport\(|src=|href=", outside)
    held = dict(data.findall(html))
    weights, tokenizer = (len(base64.b64decode(held[name])) for name in ("weights", "tokenizer"))
    assert len(html.encode()) <= 1.4 * weights + 250_000 + tokenizer


def test_a_model_too_large_for_a_page_is_refused_with_the_server_as_remedy(folder, monkeypatch):
    monkeypatch.setattr("regard.look.live.MOST_WEIGHTS", 1000)
    with pytest.raises(ConfigError, match=r"million weights, and a page holds up to 0 million; `regard serve` it"):
        make_page(regard.load(folder), "model")


def switch(page, edit):
    page.click('nav .tab[data-view="change"]')
    page.click(f'[data-edit="{edit}"]')
    page.wait_for_selector(f'[data-edit="{edit}"][aria-checked="false"]')
    page.wait_for_selector(".before-after")


def test_a_head_is_switched_off_taken_back_and_kept_in_the_address(visit, folder, translator):
    page = visit(folder, text=TEXT)
    page.wait_for_selector('.look [data-view="why"]')
    off = "off,decoder.blocks.0.cross_attention,1"
    switch(page, off)
    after = page.eval_on_selector_all(".token[data-after]", "all => all.map(one => Number(one.dataset.after))")
    heads = translator.look(TEXT, why=True).why.off
    ablated = next(one for one in heads if (one.kind, one.layer, one.head) == ("cross", 1, 2))
    assert near(after, ablated.probabilities)
    assert "cross-attention layer 1 head 2 off" in page.inner_text(".changes")
    again = visit(folder)
    again.goto(again.url + page.evaluate("location.hash"))
    again.reload()
    again.wait_for_selector(".changes .chip")
    assert "cross-attention layer 1 head 2 off" in again.inner_text(".changes")
    assert again.input_value("textarea") == TEXT
    page.keyboard.press("u")
    page.wait_for_selector(f'[data-edit="{off}"][aria-checked="true"]')
    assert not page.inner_text(".changes")


def test_a_weight_that_is_dragged_is_what_the_model_goes_on_with(visit, folder):
    page = visit(folder, text=TEXT)
    page.wait_for_selector('.look [data-view="why"]')
    page.click('[data-view="numbers"]')
    page.wait_for_selector(".softmax input")
    page.focus('.softmax input[data-column="0"]')
    page.keyboard.press("End")  # all attention to the first key
    page.wait_for_selector(".changes .chip")
    page.wait_for_selector(".softmax .chip")
    shares = "() => [...document.querySelectorAll('.softmax input')].map(one => Number(one.value))"
    page.wait_for_function(f"() => {{ const all = ({shares})(); return all[0] === 1 }}")  # drawn again meanwhile
    found = page.evaluate(shares)
    assert found == [1] + [0] * (len(found) - 1)


def test_a_hostile_address_is_left_out_and_said_so(visit, folder):
    page = visit(folder, text=TEXT)
    page.goto(page.url + "#view=<b>&change=off,decoder.blocks.99.cross_attention,0;x,<img src=x onerror=bad=1>")
    page.reload()
    page.wait_for_selector(".look .stage .sentence")
    page.wait_for_selector("#trouble:not([hidden])")
    assert "left out" in page.inner_text("#trouble") and not page.inner_text(".changes")
    assert page.evaluate("window.bad") is None and page.query_selector("main img") is None


def test_a_story_is_turned_round_and_the_answer_before_stands_beside_it(visit, answerer_folder):
    page = visit(answerer_folder, story="\n".join(TALE), text="What color is Greg?")
    page.wait_for_selector('[data-view="change"]')
    page.click('[data-view="change"]')
    page.click('[data-act="reverse"]')
    page.wait_for_selector(".changes .chip")
    page.wait_for_selector(".before-after")
    given = page.eval_on_selector_all(".sentences input", "all => all.map(one => one.value)")
    assert given == TALE[::-1]
    found = regard.load(answerer_folder).look("What color is Greg?", TALE).token_scores[0].probability
    assert float(page.get_attribute(".token[data-before]", "data-before")) == pytest.approx(found, abs=1e-3)


def choose_page(page, path):
    with page.expect_file_chooser() as chooser:
        page.select_option("[data-pick='beside']", "open")
    chooser.value.set_files(path)


def test_two_models_stand_side_by_side(visit, folder, writer_folder, translator, tmp_path):
    page, other = visit(folder, text=TEXT), tmp_path / "other.html"
    page.wait_for_selector('.look [data-view="why"]')
    page.click('[data-view="matrix"]')
    other.write_text(make_page(regard.load(writer_folder), "tales"), encoding="utf-8")
    choose_page(page, other)
    page.wait_for_selector("#trouble:not([hidden])")
    assert "one family" in page.inner_text("#trouble")
    other.write_text(make_page(regard.load(folder), "second", "float32"), encoding="utf-8")
    choose_page(page, other)
    page.wait_for_selector("canvas.matrix >> nth=1")
    assert page.inner_text("figcaption >> nth=1").startswith("second (en → fr): ")
    found = page.evaluate("[...regard.besideTable(document.querySelector('.look').state).table.values]")
    seen = translator.look(TEXT, target=translator(TEXT)).map("cross", head="alignment", words=True)
    assert near(found, [weight for row in seen for weight in row])


def test_a_page_begins_with_an_example_of_the_training_where_none_is_given(folder, answerer_folder, tmp_path):
    found = read_example(answerer_folder / "run")
    assert found["text"].endswith("?") and len(found["story"].splitlines()) > 1
    assert read_example(folder / "run")["text"] and read_example(tmp_path) == {}
    (tmp_path / "snapshots.jsonl").write_text('{"step": 1, "samples": 5, "probes": null}\n')
    assert read_example(tmp_path) == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_view_has_a_serious_finding_of_axe(visit, folder, answerer_folder, theme):
    script = Path(__file__).parent.parent / "page" / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        skip("axe-core is not installed: make page")
    story = {"story": "\n".join(TALE), "text": "What color is Greg?"}
    for model, given in ((folder, {"text": TEXT}), (answerer_folder, story)):
        page = visit(model, **given)
        page.emulate_media(color_scheme=theme)
        page.reload()
        page.evaluate(script.read_text(encoding="utf-8"))
        page.wait_for_selector('[data-view="change"]')
        for view in page.eval_on_selector_all("nav .tab", "tabs => tabs.map(tab => tab.dataset.view)"):
            page.click(f'nav .tab[data-view="{view}"]')
            page.wait_for_selector(".waits", state="detached")
            run = "axe.run(document, {resultTypes: ['violations']})"
            found = page.evaluate(f"{run}.then(r => r.violations.map(v => [v.impact, v.id, v.nodes[0].html]))")
            assert [one for one in found if one[0] in ("serious", "critical")] == [], view
