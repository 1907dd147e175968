"""The course as one page: lessons, their scripts, the engine, and models as the page of a model holds them."""

from __future__ import annotations

from importlib.resources import files
from itertools import count
from pathlib import Path

from regard.convert import page_parts
from regard.course.lessons import Lesson, read_lessons, to_html, to_inline
from regard.errors import ConfigError
from regard.files import make_own, write_whole
from regard.load import load
from regard.look.export import make_data, make_head, read_part
from regard.look.live import ENGINE, pack_model, read_engine_part
from regard.look.marks import refuse_file_of_others

PAGE = "index.html"
SCRIPTS = ("course", "controls", "charts", "grad", "networks", "transformer")


def write_course(to: Path, models: list[Path], lessons: list[Lesson] | None = None) -> Path:
    """Writes the course into a folder of ours; models: each is used by the lessons of its family.

    lessons: all, if not given. A folder with other things in it is refused.
    """
    lessons = read_lessons() if lessons is None else lessons
    page = make_course(models, lessons)
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        make_own(to)
    except OSError as problem:
        raise ConfigError(f"{to}: {problem.strerror}, or choose another folder with --to") from None
    refuse_file_of_others(to / PAGE)
    write_whole(to / PAGE, page)
    return to / PAGE


def make_course(models: list[Path], lessons: list[Lesson]) -> str:
    """The page."""
    data, engines = _pack(models)
    scripts = [read_part("data.js"), read_part("colors.js")]
    scripts += [read_engine_part(name) for name in (*ENGINE, "worker")] + engines
    scripts += [_read(f"{name}.js") for name in SCRIPTS] + [lesson.script for lesson in lessons]
    links = "".join(f'<li><a href="#{one.name}">{to_inline(one.title)}</a></li>' for one in lessons)
    return "".join([
        make_head("The course", read_part("look.css") + read_part("app.css") + _read("course.css")),
        "<header><h1>regard · a course on attention</h1></header>\n",
        '<div class="course"><nav aria-label="Lessons"><details><summary>All lessons</summary>',
        f'<ol>{links}</ol></details></nav>\n<div class="lessons">\n',
        *(to_html(*one) for one in zip(lessons, count(1), [None, *lessons], [*lessons[1:], None], strict=False)),
        "</div></div>\n",
        *data, "<script>\n", "\n".join(scripts), "\ncourse.start();\n</script>\n</body>\n</html>\n",
    ])  # fmt: skip


def _pack(models: list[Path]) -> tuple[list[str], list[str]]:
    """What the page holds of each model, and the scripts that run them; of two of one family, the first."""
    data: list[str] = []
    engines: dict[str, str] = {}
    for folder in models:
        opened = load(folder, engine="torch")
        if (task := opened.info.task) in engines:
            continue
        about, tokenizer, weights, precision, (_, engine) = page_parts(opened, folder.resolve().name)
        packed = pack_model(about, tokenizer, weights, precision)
        data += [make_data(f"{name}-{task}", content) for name, content in packed.items()]
        engines[task] = engine
    return data, list(engines.values())


def _read(name: str) -> str:
    return files("regard.course").joinpath("page", name).read_text(encoding="utf-8")
