"""Models go to other threads and processes: pickled, copied, forked. In a process of its own, because it forks."""

import copy
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from safetensors.torch import save

import regard
from regard.engines import opened as opened_engines
from regard.engines.layout import Layout
from regard.folder import ModelFolder, write_model

LINE = "The dog sees the cat."
STORY, QUESTION = ["Brian is a frog.", "Brian is yellow.", "Greg is a frog."], "What color is Greg?"


@pytest.fixture(params=["translate", "translate, torch", "write", "write, torch", "fill", "answer"])
def opened(request, folder, writer_folder, filler_folder, answerer_folder):
    task, *engine = request.param.split(", ")
    folders = {"translate": folder, "write": writer_folder, "fill": filler_folder, "answer": answerer_folder}
    return regard.load(folders[task], engine=engine[0] if engine else None)


def use(model):
    """What a model of any family says."""
    match model.info.task:
        case "translate":
            return model([LINE] * 3), model(LINE, beam=1)
        case "write":
            return model("The", tokens=30, seed=3), model("The", tokens=30, temperature=0)
        case "fill":
            return [candidate.text for candidate in model.fill("The [MASK] sleeps.").gaps[0]]
        case "answer":
            return model.answer(STORY, QUESTION).text


def unpack(packed):
    return pickle.loads(packed)  # noqa: S301


def test_models_are_pickled_as_their_folders_and_copied(opened):
    expected = use(opened)
    packed = pickle.dumps(opened)
    assert len(packed) < 2000
    for other in (unpack(packed), copy.deepcopy(opened), copy.copy(opened)):
        assert type(other) is type(opened) and use(other) == expected
        assert getattr(other, "engine", None) == getattr(opened, "engine", None)


@pytest.mark.parametrize("part", [None, "encoder", "decoder"])
def test_encoders_and_decoders_are_pickled_and_copied_with_their_part(encoder_folder, part):
    opened = regard.load(encoder_folder, part=part)
    ids, memory = torch.tensor([[2, 5, 6]]), torch.randn(1, 4, 16)

    def run(model):
        return model.logits(ids, memory) if part == "decoder" else model.encode(["a text", "dogs"])

    expected = run(opened)
    for other in (unpack(pickle.dumps(opened)), copy.deepcopy(opened), copy.copy(opened)):
        assert type(other) is type(opened) and other.info.part == part
        assert torch.equal(run(other), expected)
        assert (other.new, other.dropped) == (opened.new, opened.dropped)
    state = torch.random.get_rng_state()
    assert torch.equal(run(regard.load(encoder_folder, part=part)), expected)  # what is fresh is the same every time
    assert torch.equal(torch.random.get_rng_state(), state)
    own = copy.deepcopy(opened)
    with torch.no_grad():
        next(own.model.parameters()).add_(0.5)
    assert torch.equal(run(opened), expected)
    with pytest.raises(regard.ConfigError, match=r"network was changed after .* was opened"):
        pickle.dumps(own)


def test_a_deep_copy_has_the_network_as_it_is_now_and_weights_of_its_own(folder):
    model = regard.load(folder, engine="torch")
    with torch.no_grad():
        model.model.embedding.table.weight.mul_(0.5)
    other = copy.deepcopy(model)
    assert torch.equal(other.model.embedding.table.weight, model.model.embedding.table.weight)
    assert other.model is not model.model and other.native._model is other.model
    with pytest.raises(regard.ConfigError, match=r"network was changed after .* was opened"):
        pickle.dumps(model)  # what is in the folder is another model


def test_a_folder_that_holds_another_model_by_now_is_refused(filler_folder, answerer_folder, tmp_path):
    to = tmp_path / "m"
    shutil.copytree(answerer_folder, to)
    packed = pickle.dumps(regard.load(to))
    about = (to / "regard.json").read_bytes()
    other = regard.load(to).model.state_dict()

    contents = {path.name: path.read_bytes() for path in to.iterdir() if path.is_file() and path.name != "regard.json"}
    contents["model.safetensors"] = save({name: (t * 2 if t.is_floating_point() else t) for name, t in other.items()})
    write_model(to, ModelFolder(to).info.to_dict(), contents)
    assert (to / "regard.json").read_bytes() != about
    with pytest.raises(regard.FolderError, match="holds another model than the one that was pickled"):
        unpack(packed)


def forked(work):
    """What a forked process finds; a process that hangs is a failure."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        signal.alarm(30)
        try:
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(work(), pipe)
        except BaseException as problem:
            os.write(2, repr(problem).encode())
            os._exit(1)
        sys.stdout.flush()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return unpack(told)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_says_the_same_and_the_first_goes_on(opened):
    expected = use(opened)
    torch.set_num_threads(2)
    torch.randn(300, 300) @ torch.randn(300, 300)  # threads that a forked process does not have
    for _ in range(2):
        assert forked(lambda: use(opened)) == expected
        assert forked(lambda: forked(lambda: use(opened))) == expected
        assert use(opened) == expected
    assert forked(lambda: torch.randn(600, 600).matmul(torch.randn(600, 600)).shape) == (600, 600)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_engines_of_several_threads_are_opened_again_after_a_fork(folder, writer_folder):
    """The thread that forks has threads of OpenMP's by then, from torch and from what it opened itself."""
    torch.set_num_threads(2)
    torch.randn(600, 600) @ torch.randn(600, 600)
    for model in (regard.load(folder), regard.load(writer_folder)):
        model._fast.layouts = dict.fromkeys(model._fast.layouts, Layout(1, 2))
        expected = use(model)
        assert forked(lambda model=model: use(model)) == expected
        assert forked(lambda model=model: forked(lambda: use(model))) == expected


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_while_other_threads_translate_and_write_is_waited_for(folder, writer_folder):
    models = [regard.load(folder), regard.load(writer_folder)]
    expected = [use(model) for model in models]
    is_over = threading.Event()

    def work(model):
        while not is_over.is_set():
            use(model)

    with ThreadPoolExecutor(2) as pool:
        busy = [pool.submit(work, model) for model in models]
        try:
            for _ in range(8):
                assert forked(lambda: [use(model) for model in models]) == expected
        finally:
            is_over.set()
        assert [one.result() for one in busy] == [None, None]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_that_cannot_wait_is_refused_where_the_engine_is_needed(folder, monkeypatch):
    monkeypatch.setattr(opened_engines, "FORK_SECONDS", 0.0)
    model = regard.load(folder)
    lines = [f"{LINE} {number}" for number in range(300)]
    busy = threading.Thread(target=lambda: model(lines, beam=8))
    busy.start()
    while not opened_engines.Here.is_at_work():
        time.sleep(0.001)

    def go_on():
        with pytest.raises(regard.RunError, match="forked while CTranslate2 was at work"):
            model(LINE)
        return regard.load(folder, engine="torch")(LINE)

    assert forked(go_on) == regard.load(folder, engine="torch")(LINE)
    busy.join()


def test_opening_a_model_leaves_torch_the_threads_it_had(folder, writer_folder):
    torch.set_num_threads(2)
    for model in (regard.load(folder), regard.load(writer_folder)):
        model._fast.layouts = dict.fromkeys(model._fast.layouts, Layout(1, 1))
        use(model)
        assert torch.get_num_threads() == 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_was_begun_before_a_fork_ends_or_is_refused(folder, writer_folder):
    model = regard.load(folder)
    begun = model.translate_all([LINE] * 9, window=3)
    first = next(begun)
    assert forked(lambda: [one.text for one in begun]) == [first.text] * 8
    assert [one.text for one in begun] == [first.text] * 8
    text = regard.load(writer_folder).stream("The", tokens=40, seed=1)
    next(text)

    def go_on():
        with pytest.raises(regard.RunError, match="begun before a fork"):
            list(text)
        return True

    assert forked(go_on) and "".join(text)


def test_a_pool_of_processes_that_forks_and_exits_does_not_hang(folder):
    """multiprocessing as most people call it, and an interpreter that ends in the child as usual."""
    code = """if True:
        import multiprocessing, os, sys, warnings, regard
        warnings.simplefilter("ignore")
        model = regard.load(sys.argv[1])
        expected = model("The dog sees the cat.")
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(model, ["The dog sees the cat."] * 6) == [expected] * 6
        if os.fork() == 0:
            assert model("The dog sees the cat.") == expected
            sys.exit(0)
        assert os.wait()[1] == 0
        if os.fork() == 0:
            sys.exit(0)  # without ever having used it
        assert os.wait()[1] == 0
        print("done")
    """
    words = [sys.executable, "-c", code, str(folder)]
    run = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert run.stdout == "done\n", run.stderr


def test_spawned_processes_get_models_by_pickling(folder):
    model = regard.load(folder)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(model, (LINE,)) == model(LINE)


@pytest.mark.parametrize("engine", ["ctranslate2", "torch"])
def test_writers_in_threads_keep_their_seeds(writer_folder, engine):
    model = regard.load(writer_folder, engine=engine)

    def write(seed):
        return model("The", tokens=12, seed=seed)

    expected = [write(seed) for seed in range(8)]
    assert len(set(expected)) > 4
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(write, list(range(8)) * 4)) == expected * 4
