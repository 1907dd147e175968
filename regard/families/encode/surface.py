"""encode from outside: POST /api/encode, and what embeddings are made of. Neither part has a command of its own."""

from collections.abc import Callable, Sequence
from typing import Any

from regard.families.surface import Served, Surface, TextBody


async def embed(served: Served, texts: Sequence[str]) -> list[list[float]]:
    """The vector of each text."""
    served.limits.check_texts(texts)
    sizes = await served.sizes(texts)
    for number, size in enumerate(sizes, start=1):
        served.limits.check_count(f"text {number}, with its marks", size + 1, served.opened.longest)
    return await served.ask(compute, list(texts), sizes, {})


async def notes(served: Served, texts: Sequence[str]) -> list[str]:
    """What of these texts does not count in their vectors."""
    found: list[str] = await served.aside(lambda: served.opened.notes(texts), sum(map(len, texts)))
    return found


async def answer(served: Served, asked: TextBody) -> dict[str, Any]:
    """The vector of each text, and what of the texts does not count in them."""
    vectors = await embed(served, asked.texts)
    return {"model": served.name, "vectors": vectors, "notes": await notes(served, asked.texts)}


def compute(opened: Any, texts: list[str], is_wanted: Callable[[int], bool]) -> list[list[float]]:
    """A batch of texts."""
    found: list[list[float]] = opened.vectors(texts).tolist()
    return found


ENCODE = Surface(
    None, None, TextBody, answer, offers={"embedding": embed}, look=None, shares_batches=True,
    page="regard.families.encode:encode.js",
)  # fmt: skip
DECODE = Surface(look=None)
