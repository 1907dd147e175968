"""The page in a real browser: the right words light up, the right numbers show, nothing leaves the file."""

import dataclasses
import json
import re
from pathlib import Path

import pytest
from browser import opened_browser

import regard

WORD = 5e-5  # a page has weights in 65,535ths, and a word adds up those of its pieces
TEXT = "The old dog sleeps in the garden."
HOSTILE = ["<script>window.bad = 1</script>", '"><img src=x onerror=bad=1>', "</script>", "\u2028\x00\x1b[31m", "&lt;"]


@pytest.fixture(scope="module")
def browser():
    with opened_browser() as found:
        yield found


@pytest.fixture(scope="module")
def seen(translator):
    return translator.look(TEXT, why=True)


@pytest.fixture
def visit(browser, tmp_path):
    """Opens what was seen as a page; requests and errors of the page are kept."""
    pages = []

    def show(seen, **options):
        path = tmp_path / "look.html"
        seen.save(path)
        page = browser.new_page(viewport={"width": 1100, "height": 800}, **options)
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
        assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
        page.close()


def weights_of(page, side):
    spans = page.query_selector_all(f'.token[data-side="{side}"]')
    return [span.evaluate("span => span.weight") for span in spans]


def test_pointing_at_a_word_lights_up_where_it_looked_both_ways(visit, seen):
    page = visit(seen)
    shown = seen.map("cross", head="alignment", words=True)
    for row in (0, len(shown) - 1):
        page.hover(f'.token[data-side="row"][data-index="{row}"]')
        assert weights_of(page, "column") == pytest.approx(shown[row], abs=WORD)
    page.hover('.token[data-side="column"][data-index="1"]')
    assert weights_of(page, "row") == pytest.approx([row[1] for row in shown], abs=WORD)
    linked = {int(span.get_attribute("data-index")) for span in page.query_selector_all(".token.linked")}
    assert linked == {target for source, target in seen.alignment if source == 1}


def test_words_and_subwords_are_switched(visit, seen):
    page = visit(seen)
    count = lambda: len(page.query_selector_all('.token[data-side="column"]'))  # noqa: E731
    assert count() == len(seen.labels("cross", words=True)[1])
    page.click('[data-switch="words"]')
    assert count() == len(seen.kinds["cross"].columns)


def test_every_layer_and_head_shows_the_numbers_of_the_json(visit, seen):
    page = visit(seen)
    told = json.loads(seen.to_json())
    for kind, about in told["kinds"].items():
        page.select_option('[data-pick="kind"]', kind)
        for layer, heads in enumerate(about["weights"], start=1):
            for head, rows in enumerate(heads, start=1):
                page.select_option('[data-pick="map"]', f"{layer}-{head}")
                script = "(s => [...s.data.table(s.kind, s.key, false).values])(document.querySelector('main').state)"
                flat = [weight for row in rows for weight in row]
                assert page.evaluate(script) == pytest.approx(flat, abs=1e-5)
    page.select_option('[data-pick="kind"]', "encoder")
    page.select_option('[data-pick="map"]', "rollout")
    page.click('[data-view="matrix"]')
    canvas = page.query_selector("canvas.matrix").bounding_box()
    page.mouse.move(canvas["x"] + canvas["width"] - 20, canvas["y"] + canvas["height"] - 20)
    rollout = told["kinds"]["encoder"]["rollout"]
    words = [sum(rollout[-1][-1:])]
    assert float(page.inner_text(".readout").rsplit(" ", 1)[1]) == pytest.approx(words[0], abs=1e-4)


def test_keys_change_view_layer_head_and_zoom(visit, seen):
    page = visit(seen)
    state = lambda name: page.evaluate(f"document.querySelector('main').state.{name}")  # noqa: E731
    page.keyboard.press("2")
    assert state("view") == "matrix"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert state("key") == "2-2"
    page.keyboard.press("+")
    assert state("zoom") == 1.25
    page.keyboard.press("k")
    assert state("kind") == "encoder"
    page.keyboard.press("m")
    assert state("key") == "mean"
    theme = page.evaluate("document.documentElement.dataset.theme")
    page.keyboard.press("d")
    assert page.evaluate("document.documentElement.dataset.theme") != theme


def test_every_view_of_every_family_can_be_opened(visit, seen, writer_folder, filler_folder, answerer_folder):
    tale = ["Brian is a frog.", "Brian is yellow.", "Greg is a frog."]
    families = {
        "translate": seen,
        "write": regard.load(writer_folder).look("The old dog sleeps.", why=True),
        "fill": regard.load(filler_folder).look("The [MASK] dog sleeps.", why=True),
        "answer": regard.load(answerer_folder).look("What color is Greg?", tale, why=True),
    }
    for task, one in families.items():
        page = visit(one)
        views = page.eval_on_selector_all("nav .tab", "tabs => tabs.map(tab => tab.dataset.view)")
        assert views == (
            ["story", "matrix", "probabilities"]
            if task == "answer"
            else ["text", "matrix", "lines", "overview", "probabilities", "why"]
        )
        for view in views:
            page.click(f'nav .tab[data-view="{view}"]')
            assert page.inner_text(".stage").strip() or page.query_selector(".stage canvas")
        if task == "answer":
            page.click('[data-view="story"]')
            cells = [float(cell.inner_text()) for cell in page.query_selector_all("td[data-hop='0']")]
            assert cells == pytest.approx(one.map("hops")[0], abs=0.006)


def test_chances_and_switches_show_what_was_measured(visit, seen):
    page = visit(seen)
    page.click('[data-view="probabilities"]')
    page.hover('.token[data-index="1"]')
    rows = page.query_selector_all(".alternatives section:first-child tr")
    assert [row.query_selector("bdi").inner_text() for row in rows] == [
        token.strip() or "␣" for token, _ in seen.token_scores[1].alternatives
    ]
    page.click('[data-view="why"]')
    bars = [float(cell.get_attribute("data-value")) for cell in page.query_selector_all(".importance td:nth-child(3)")]
    assert bars == pytest.approx(seen.why.left_out[0], abs=1e-5)
    assert "not an explanation" in page.inner_text(".honest")
    page.select_option('[data-pick="head"]', "0")
    worst = max(seen.why.off, key=lambda off: off.loss)
    changed = sum(other != score.token for other, score in zip(worst.instead, seen.token_scores, strict=True))
    assert len(page.query_selector_all(".switches .changed")) == changed


def hostile(seen):
    """An inspection with hostile tokens."""
    kinds = {}
    for name, kind in seen.kinds.items():
        rows = [HOSTILE[place % len(HOSTILE)] for place in range(len(kind.rows))]
        columns = [HOSTILE[place % len(HOSTILE)] for place in range(len(kind.columns))]
        kinds[name] = kind._replace(rows=rows, columns=columns)
    scores = [one._replace(token=HOSTILE[1], alternatives=[(HOSTILE[0], 0.5)]) for one in seen.token_scores]
    return dataclasses.replace(seen, kinds=kinds, token_scores=scores, text=HOSTILE[0], answer=HOSTILE[1])


def test_hostile_text_is_shown_as_text(visit, seen):
    page = visit(hostile(seen))
    page.click('[data-switch="words"]')
    for view in page.eval_on_selector_all("nav .tab", "tabs => tabs.map(tab => tab.dataset.view)"):
        page.click(f'nav .tab[data-view="{view}"]')
    assert page.evaluate("window.bad") is None and page.query_selector("main img") is None
    assert page.inner_text(".given") == HOSTILE[0] and page.title().startswith("<script>")


def test_the_file_names_no_address_and_loads_nothing(seen):
    html = hostile(seen).to_html()
    pages = Path(regard.__file__).parent / "look" / "page"
    for text in (html.split("</head>")[0], *(path.read_text() for path in pages.iterdir())):
        assert not re.search(r"https?:|//[a-z]+\.|@import|url\(|fetch\(|XMLHttpRequest|\bimport\(|src=|href=", text)
    assert html.count("<script") == html.count("</script>") and "default-src 'none'" in html
    outside = re.sub(r"<script.*?</script>", "", html, flags=re.S)
    assert "<img" not in outside and "onerror" not in outside.split("<title>")[0]


def test_right_to_left_and_other_scripts_run_their_way(visit, seen):
    kind = seen.kinds["cross"]
    arabic, chinese = [" الكلب"] * len(kind.rows), ["狗"] * len(kind.columns)
    page = visit(dataclasses.replace(seen, kinds=seen.kinds | {"cross": kind._replace(rows=arabic, columns=chinese)}))
    page.click('[data-switch="words"]')
    lines = page.query_selector_all(".sentence")
    direction = "line => getComputedStyle(line).direction"
    assert [line.evaluate(direction) for line in lines] == ["ltr", "rtl"]
    assert page.inner_text('.token[data-side="column"]') == "狗"


def test_it_works_on_a_phone_and_in_a_notebook(visit, seen, browser):
    page = visit(seen)
    page.set_viewport_size({"width": 380, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    frame = browser.new_page()
    frame.set_content(seen._repr_html_())
    inside = frame.frames[1]
    inside.wait_for_selector(".sentence")
    assert seen.answer.strip() in inside.inner_text("header")  # a page has no space at the ends of lines
    frame.close()


SCALED = ["text", "matrix", "lines", "overview"]
STRENGTH = """view => {
  const pixels = (canvas) => [...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data].join();
  const stage = document.querySelector('.stage');
  return [...stage.querySelectorAll('canvas')].map(pixels).join() + stage.innerHTML;
}"""


def cell_color(page, value):
    return page.evaluate(f"regard.css(regard.color({value}))")


def test_equal_weights_have_equal_colours_in_every_row_and_every_view(visit, seen):
    """Colours are of the weight itself, unless the scale is per row."""
    page = visit(seen)
    shown = seen.map("cross", head="alignment", words=True)
    for row in range(len(shown)):
        page.hover(f'.token[data-side="row"][data-index="{row}"]')
        place = max(range(len(shown[row])), key=lambda x: shown[row][x])
        strongest = page.query_selector(f'.token[data-side="column"][data-index="{place}"]')
        weight = strongest.evaluate("span => span.weight")
        same = "(span, color) => { const b = document.createElement('b'); b.style.background = color; return b.style.background === span.style.background; }"  # noqa: E501
        assert strongest.evaluate(same, cell_color(page, weight))
        page.keyboard.press("s")
        page.hover(f'.token[data-side="row"][data-index="{row}"]')
        strongest = page.query_selector(f'.token[data-side="column"][data-index="{place}"]')
        assert strongest.evaluate(same, cell_color(page, 1))
        page.keyboard.press("s")


def test_the_scale_is_switched_and_told_in_every_view(visit, seen):
    page = visit(seen)
    for view in SCALED:
        page.click(f'[data-view="{view}"]')
        assert page.input_value('[data-pick="scale"]') == "absolute"
        told, drawn = page.inner_text(".stage"), page.evaluate(STRENGTH)
        assert "all attention of a row" in told
        page.select_option('[data-pick="scale"]', "row")
        assert "largest weight" in page.inner_text(".stage") and page.evaluate(STRENGTH) != drawn
        page.select_option('[data-pick="scale"]', "absolute")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_legend_is_true_in_both_themes(visit, seen, theme):
    """What it says of more attention is what the colours do."""
    page = visit(seen, color_scheme=theme)
    light = "(([r, g, b]) => 0.3 * r + 0.59 * g + 0.11 * b)"
    for _ in range(2):
        none, most = page.evaluate(f"[0, 1].map(regard.color).map({light})")
        word = "brighter" if most > none else "darker"
        other = "darker" if most > none else "brighter"
        for view in ["text", "matrix", "overview", "probabilities"]:
            page.click(f'[data-view="{view}"]')
            told = page.inner_text(".stage")
            assert word in told and other not in told
        page.click('[data-switch="theme"]')
