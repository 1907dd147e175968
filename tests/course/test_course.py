"""The course: experiments come out as their lessons say, every line of Python runs, and what is text stays text."""

import re
import shutil
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest
from browser import opened_browser
from typer.testing import CliRunner

import regard
from regard.cli.commands import app
from regard.config import RunConfig
from regard.course import models as course_models
from regard.course.lessons import parse_lesson, read_lessons, to_html
from regard.course.page import make_course, write_course

LESSONS = read_lessons()
NAMES = [lesson.name for lesson in LESSONS]
NUMBERS = re.compile(r"(?<!\w)-?\d+\.?\d*(?:e-?\d+)?")
ROUNDING = ("order", "feed", "parallel", "labels")  # lessons whose Python computes one thing in two ways
HOSTILE = "<script>window.bad = 1</script><img src=x onerror=window.bad=1>"


@pytest.fixture(scope="module")
def place(folder, writer_folder, filler_folder, answerer_folder, tmp_path_factory) -> Path:
    """A folder of a pupil, with the models of the course where its lines of Python find them."""
    place = tmp_path_factory.mktemp("pupil")
    named = {"translate": folder, "write": writer_folder, "fill": filler_folder, "answer": answerer_folder}
    for name, path in named.items():
        shutil.copytree(path, place / "models" / "course" / name)
    return place


@pytest.fixture(scope="module")
def page(place):
    path = write_course(place / "course", course_models.find_models(place / "models" / "course"))
    with opened_browser() as browser:
        opened = browser.new_page(viewport={"width": 1100, "height": 900})
        opened.set_default_timeout(240_000)
        opened.trouble, opened.asked, opened.path = [], [], path.as_uri()
        opened.on("pageerror", lambda problem: opened.trouble.append(str(problem)))
        opened.on("console", lambda message: opened.trouble.append(message.text))
        opened.on("request", lambda request: opened.asked.append(request.url))
        opened.goto(opened.path)
        yield opened
        assert [url for url in opened.asked if not url.startswith(("file:", "data:"))] == []


def begin(page, name):
    """A lesson on the screen, its model opened."""
    page.goto(f"{page.path}#{name}")
    page.wait_for_selector(f"article#{name}[data-state]:not([data-state='opening'])")
    return page.locator(f"article#{name}")


@pytest.mark.parametrize("lesson", LESSONS, ids=NAMES)
def test_every_experiment_comes_out_as_its_lesson_says(page, lesson):
    article = begin(page, lesson.name)
    assert article.get_attribute("data-state") == "ready"
    assert article.locator("[data-act='measure']").is_disabled(), "the pupil predicts first"
    article.locator(".predict input").last.check()
    article.locator("[data-act='measure']").click()
    page.wait_for_selector(f"article#{lesson.name}[data-state='measured'], article#{lesson.name}[data-state='failed']")
    measured = article.locator(".measured")
    assert article.get_attribute("data-state") == "measured", measured.inner_text()
    assert measured.get_attribute("data-choice") == str(lesson.predict.right), measured.inner_text()
    is_right = lesson.predict.right == len(lesson.predict.choices) - 1
    assert ("As you predicted" in measured.inner_text()) == is_right
    assert article.locator(".experiment").is_visible() and article.locator(".found").is_visible()
    page.wait_for_timeout(200)  # the sandbox draws itself
    assert article.locator(".box .trouble").count() == 0, article.locator(".box").inner_text()
    assert page.trouble == []


@pytest.mark.parametrize("lesson", LESSONS, ids=NAMES)
def test_every_question_is_checked(page, lesson):
    article = begin(page, lesson.name)
    for number in [*(n for n in range(len(lesson.check.choices)) if n != lesson.check.right), lesson.check.right]:
        article.locator(".check input").nth(number).check()
        is_right = number == lesson.check.right
        assert article.locator(".verdict").inner_text() == ("Right." if is_right else "Not so.")
        assert article.locator(".why").is_visible() == is_right


@pytest.mark.parametrize("lesson", LESSONS, ids=NAMES)
def test_every_lessons_python_runs(place, lesson, monkeypatch, capsys):
    monkeypatch.chdir(place)
    exec(compile(lesson.python, lesson.name, "exec"), {})
    printed = capsys.readouterr().out.strip()
    assert printed
    lines = [line for line in lesson.python.splitlines() if line]
    assert len(lines) <= 10 and max(map(len, lines)) <= 88, "short enough to be read, and to fit on the page"
    numbers = [float(one) for one in NUMBERS.findall(printed)]
    if lesson.name in ROUNDING:
        assert abs(numbers[0]) < 1e-5, printed
    if lesson.name == "softmax":
        assert numbers[:3] == pytest.approx([0.3333] * 3) and numbers[-3:] == [0, 0, 1]
    if lesson.name == "heads":
        eight, one, narrow, *_ = numbers
        assert eight == one > narrow
    if lesson.name == "logits":
        assert numbers[:3] == [1, 7, 30522] and abs(numbers[3]) > 0.01 and numbers[4] == pytest.approx(1, abs=1e-3)
    if lesson.name == "distance":
        lstm, gru, block, slope = (number for number in numbers if number not in (512, 2048))
        assert block > lstm > gru and 0 < slope < 0.25


def test_a_pupil_on_a_telephone_goes_from_lesson_to_lesson(page):
    """All fits, the list of lessons folds up, and what is done is marked."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(page.path.replace("index.html", "index.html?telephone#softmax"))
    assert not page.locator("nav li").first.is_visible()
    for before, after in pairwise(NAMES):
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, before
        page.locator(f"article#{before} .turn a").last.click()
        page.wait_for_selector(f"article#{after}:not([hidden])")
    page.locator("article#glimpses[data-state='ready'] .predict input").first.check()
    page.locator("article#glimpses [data-act='measure']").click()
    page.wait_for_selector("article#glimpses[data-state='measured']")
    page.locator("article#glimpses").get_by_role("button", name="best glimpse").click()
    page.locator("article#glimpses .note").filter(has_text="1 glimpse.").wait_for()
    page.locator("article#glimpses .check [data-right]").check()
    assert page.locator("nav a.done").all_text_contents() == [LESSONS[-1].title]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1100, "height": 900})


def test_a_network_of_one_size_holds_more_the_longer_the_row_is_only_if_it_attends(page):
    held = page.evaluate("""() => Object.fromEntries(Object.entries(course.networks).map(([name, make]) => {
        const network = make(engine.makeRandom(1), 20);
        return [name, [network.held(5), network.held(50)]];
    }))""")
    assert held["attention"][1] == 10 * held["attention"][0]
    assert held["LSTM"][0] == held["LSTM"][1] and held["GRU"][0] == held["GRU"][1]


def test_who_may_see_the_future_has_a_lower_loss_and_writes_nonsense(page):
    article = begin(page, "masks")
    article.locator(".predict input").first.check()
    article.locator("[data-act='measure']").click()
    article.get_by_role("button", name="train both").click()
    article.locator(".bars").wait_for()
    fair, cheating = (float(cell) for cell in article.locator(".bars .number").all_inner_texts())
    assert cheating < fair - 0.5
    assert re.search("with mask: .*the .*\nwithout mask: ", article.locator(".box pre").inner_text())


def test_what_a_pupil_types_is_text(page):
    article = begin(page, "hops")
    article.locator(".predict input").first.check()
    article.locator("[data-act='measure']").click()
    article.locator(".measured[data-choice]").wait_for()
    article.locator("textarea").fill(f"Brian is a frog.\n{HOSTILE}\n\u2028</textarea>")
    article.locator(".heat").filter(has_text="<script>").wait_for()
    article.locator("input[type='text']").fill(HOSTILE)
    article.locator("textarea").fill("")
    article.get_by_role("alert").filter(has_text="the story has no sentence").wait_for()
    assert page.evaluate("window.bad") is None and page.trouble == []


def test_hostile_names_and_texts_are_inert(place, tmp_path):
    model = Path(shutil.copytree(place / "models" / "course" / "answer", tmp_path / "<img src=x onerror=bad()>"))
    text = "# A <b>title</b> & more\n\nText <script>bad()</script> `<i>` *so*.\n\n"
    text += "## Predict\nA < b?\n- [ ] <u>\n- [x] b\n\n"
    text += "## Found\nf\n\n## Check\nq?\n- [x] a\n- [ ] </label>\n\n<why>\n\n## Python\n```python\nprint(1 < 2)\n```\n"
    lesson = parse_lesson("odd", text, "")
    for written in (make_course([model], [lesson]), to_html(lesson, 1)):
        assert not re.search(r"<(b|i|u|why)>|<img|<script>bad", written)
        assert "&lt;script&gt;bad()&lt;/script&gt;" in written and "<em>so</em>" in written and "1 &lt; 2" in written


def test_without_a_model_a_lesson_says_how_to_get_one(page, tmp_path):
    path = write_course(tmp_path / "course", [])
    page.goto(f"{path.as_uri()}#hops")
    page.wait_for_selector("article#hops[data-state='missing']")
    assert "regard learn --prepare" in page.inner_text("article#hops .missing")
    page.goto(f"{path.as_uri()}#softmax")
    page.wait_for_selector("article#softmax[data-state='ready']")
    assert page.trouble == []


def test_every_lesson_names_parts_and_settings_that_there_are():
    text = (Path(__file__).parents[2] / "docs" / "course.md").read_text(encoding="utf-8")
    table = text.partition("| lesson |")[2].partition("\n\n")[0]
    assert {int(number) for number in re.findall(r"\d+(?= [a-z])", table)} >= {*range(1, len(LESSONS) + 1)}
    for room, name in re.findall(r"`([a-z_]+)\.(\w+)", table):
        if room in ("model", "train", "text"):
            assert name in type(getattr(RunConfig(), room)).model_fields, name
        elif room == "regard":
            assert hasattr(regard, name), name
        elif find_spec(f"regard.model.{room}") is not None:
            assert hasattr(import_module(f"regard.model.{room}"), name), name
        else:
            assert room in ("answerer", "translator", "filler"), room


def test_only_folders_of_our_own_are_written_into(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = lambda *words: CliRunner().invoke(app, ["learn", *words])  # noqa: E731
    done = run("--to", "new/course")
    assert done.exit_code == 0 and done.stdout.strip() == str(Path("new/course/index.html"))
    assert run("--to", "new/course").exit_code == 0, "its own folder is written anew"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "new" / "course")
    (tmp_path / "file").write_text("mine")
    for name in ("mine", "link", "file"):
        done = run("--to", name)
        assert done.exit_code == 1 and "Error: " in done.output and "choose another folder with --to" in done.output
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]
    (tmp_path / "new" / "course" / "index.html").write_text("my own page")
    assert "was not made by regard" in run("--to", "new/course").output
    assert (tmp_path / "new" / "course" / "index.html").read_text() == "my own page"
    assert "no-such" in run("no-such", "--to", "other").output and not (tmp_path / "other").exists()


def test_models_of_the_course_are_trained_once_and_in_less_than_ten_minutes(tmp_path, monkeypatch):
    monkeypatch.setattr(course_models, "PAIRS", 50)
    jobs = list(course_models.missing_models(tmp_path))
    assert {family for family, *_ in jobs} == {lesson.needs for lesson in LESSONS if lesson.needs}
    assert sum(settings.get("stop", {}).get("minutes", 1.5) for *_, settings in jobs) < 8
    assert all("steps" in settings["stop"] for family, *_, settings in jobs if family != "answer")
    assert {"source_language": "en", "target_language": "fr"}.items() <= jobs[-1][-1].items(), "its files do not say it"
    family, folder, files, settings = jobs[0]
    short = settings | {
        "stop": {"steps": 5},
        "train": {"decay_steps": 150},
        "model": {"kind": "memory", "restarts": 1},
        "threads": 1,
    }
    regard.train(family, to=folder, settings=short, **files)
    assert family not in {family for family, *_ in course_models.missing_models(tmp_path)}
    assert course_models.find_models(tmp_path) == [folder]
