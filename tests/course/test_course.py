"""The course: experiments come out as their lessons say, every line of Python runs, and what is text stays text."""

import re
import shutil
from pathlib import Path

import pytest
from browser import opened_browser
from typer.testing import CliRunner

import regard
from regard.cli.commands import app
from regard.course import models as course_models
from regard.course.lessons import parse_lesson, read_lessons, to_html
from regard.course.page import make_course, write_course

LESSONS = read_lessons()
NAMES = [lesson.name for lesson in LESSONS]
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
    assert capsys.readouterr().out.strip()
    assert len(lesson.python.strip().splitlines()) <= 10


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
    family, folder, files, settings = jobs[0]
    short = settings | {"stop": {"steps": 5}, "train": {"decay_steps": 150}, "model": {"restarts": 1}, "threads": 1}
    regard.train(family, to=folder, settings=short, **files)
    assert family not in {family for family, *_ in course_models.missing_models(tmp_path)}
    assert course_models.find_models(tmp_path) == [folder]
