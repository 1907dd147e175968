"""One model in many threads: every way to use it, mixed, gives what it gives alone."""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from threading import Barrier, Thread

import pytest
import torch

import regard
from regard.engines.torch import few_threads
from regard.look.export import describe

THREADS, ROUNDS = 8, 2
STORIES = [["Brian is a frog.", "Brian is yellow."], ["Lily is a frog.", "Greg is a frog.", "Greg is gray."]]
LINES = ["The dog sees the cat.", "A dog sleeps.", "The cat sees a dog and a cat."]


def leaves(value, path=""):
    """Every number and every word of a result, by its place."""
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    if isinstance(value, dict):
        return {place: leaf for key in value for place, leaf in leaves(value[key], f"{path}.{key}").items()}
    if isinstance(value, list | tuple):
        return {place: leaf for key, one in enumerate(value) for place, leaf in leaves(one, f"{path}.{key}").items()}
    return {path: value}


def is_alike(found, expected):
    found, expected = leaves(found), leaves(expected)
    return found.keys() == expected.keys() and all(
        found[place] == (pytest.approx(leaf, rel=1e-4, abs=1e-5) if isinstance(leaf, float) else leaf)
        for place, leaf in expected.items()
    )


def translating(model, files):
    yield lambda: model.evaluate(*files)
    for line in LINES:
        yield lambda line=line: asdict(model.translate(line, alignments=True))
        yield lambda line=line: model([line, *LINES], beam=1)
        yield lambda line=line: describe(model.look(line))
    yield lambda: describe(model.look(LINES[1], why=True))


def writing(model, files):
    yield lambda: model.evaluate(files[0])
    for seed, line in enumerate(LINES):
        yield lambda line=line, seed=seed: model(line, tokens=12, seed=seed)
        yield lambda line=line: asdict(model.sample(line, tokens=6, temperature=0, top_probabilities=2))
        yield lambda line=line: describe(model.look(line))
    yield lambda: describe(model.look(LINES[1], why=True))


def filling(model, files):
    yield lambda: model.evaluate(files[0])
    for line in ("The [MASK] sees the cat.", "A [MASK] and a [MASK].", "The dog [MASK]."):
        yield lambda line=line: asdict(model.fill(line))
        yield lambda line=line: describe(model.look(line, why=True))


def answering(model, files):
    yield lambda: model.evaluate(files[0])
    for story in STORIES:
        for question in ("What color is Brian?", "What color is Greg?"):
            yield lambda story=story, question=question: asdict(model.answer(story, question))
            yield lambda story=story, question=question: describe(model.look(question, story, why=True))


def encoding(model, _files):
    for texts in ("a text", ["dogs", "a dog", "a text"], "a dog"):
        yield lambda texts=texts: model.encode(texts)
    yield lambda: describe(model.look("a text dogs"))


WAYS = {"translate": translating, "write": writing, "fill": filling, "answer": answering, "encode": encoding}


@pytest.mark.parametrize("kind", ["translate", "translate, torch", "write", "write, torch", "fill", "answer", "encode"])
def test_every_use_of_one_model_mixed_in_threads_gives_what_it_gives_alone(kind, request, family_files, tmp_path):
    task, *engine = kind.split(", ")
    name = {"translate": "folder", "write": "writer_folder", "fill": "filler_folder", "answer": "answerer_folder",
            "encode": "encoder_folder"}[task]  # fmt: skip
    opened = regard.load(request.getfixturevalue(name), engine=engine[0] if engine else None)
    files = []
    for file in family_files.get(task, {}).values():
        files.append(tmp_path / file.name)
        files[-1].write_text("".join(file.read_text().splitlines(keepends=True)[:40]))
    calls = list(WAYS[task](opened, files))
    expected = [call() for call in calls]
    order = list(range(len(calls))) * ROUNDS
    random.Random(1).shuffle(order)
    with ThreadPoolExecutor(THREADS) as pool:
        for number, found in zip(order, pool.map(lambda number: calls[number](), order), strict=True):
            assert is_alike(found, expected[number]), (kind, number)


def test_threads_that_overlap_leave_torch_the_threads_it_had():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    found = []
    steps = Barrier(2, timeout=30)

    def first():
        with few_threads(32):
            steps.wait()  # the second comes while this one is inside
            steps.wait()
        steps.wait()  # and leaves after it

    def second():
        steps.wait()
        with few_threads(32) as wide:
            found.append(wide)
            steps.wait()
            steps.wait()
        found.append(torch.get_num_threads())

    def later():
        found.append(torch.get_num_threads())

    try:
        for together in ([first, second], [later]):
            threads = [Thread(target=one) for one in together]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
        assert found == [2, 3, 3] and torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
