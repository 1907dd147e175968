"""CTranslate2 computes with our weights what torch does: translators and writers of every shape it has."""

import numpy
import pytest
import torch

ctranslate2 = pytest.importorskip("ctranslate2")

from regard.config import ModelConfig  # noqa: E402
from regard.engine.ctranslate2 import FastTranslator  # noqa: E402
from regard.engine.native import NativeTranslator  # noqa: E402
from regard.generate.settings import Search  # noqa: E402
from regard.interop.ctranslate2 import can_write, describe_translator, describe_writer, save  # noqa: E402
from regard.interop.generation import Generation  # noqa: E402
from regard.interop.gpt2 import SHAPE as CLASSIC  # noqa: E402
from regard.interop.llama import SHAPE as MODERN  # noqa: E402
from regard.model.transformer import CausalLM  # noqa: E402

TOLD = Generation(ends=(0,), start=49, never=(49,))
PIECES = ["</s>", "<unk>", *(f"p{number}" for number in range(2, 49)), "<pad>"]


@pytest.fixture
def both(network, tmp_path):
    """The same random translator in both engines, its alignment read from two heads that are not the first."""
    alignment = {"layer": 0, "heads": [2, 1]}
    save(describe_translator(network.config, network.state_dict(), PIECES, TOLD, 49, 64, alignment), tmp_path)
    return FastTranslator(tmp_path, PIECES, [0], "float32", 64), NativeTranslator(network, [0], alignment)


@pytest.mark.parametrize(("beams", "penalty"), [(1, 1.0), (2, 1.0), (4, 1.0), (4, 0.0), (5, 0.6)])
@pytest.mark.parametrize("prefix", [[], [7, 8]])
def test_both_engines_find_the_same_with_the_same_scores_and_looks(both, beams, penalty, prefix):
    generator = torch.Generator().manual_seed(1)
    sources = [
        [*torch.randint(2, 49, (length,), generator=generator).tolist(), 0] for length in (1, 2, 5, 9, 9, 14, 20)
    ]
    search = Search(beams, penalty, beams, with_looks=True)
    limits = [12 + len(source) % 3 for source in sources]
    mine, theirs = (dict(engine.begin(sources, limits, search, [prefix] * len(sources))()) for engine in reversed(both))
    assert set(mine) == set(theirs) == set(range(len(sources)))
    for ours, fast in ((mine[row], theirs[row]) for row in mine):
        assert [one.ids for one in ours] == [one.ids for one in fast]
        for one, other in zip(ours, fast, strict=True):
            assert one.ids[: len(prefix)] == prefix and one.is_finished == other.is_finished
            assert one.score == pytest.approx(other.score, rel=1e-3, abs=1e-2)  # its exp is an approximation
            assert torch.allclose(torch.tensor(one.looks), torch.tensor(other.looks), atol=1e-4)


def test_a_row_ends_at_its_own_limit_whatever_its_batch_may(both):
    fast, native = both
    sources, limits = [[5, 6, 7, 0]] * 6, [1, 2, 3, 5, 8, 13]
    found, other = (dict(engine.begin(sources, limits, Search())()) for engine in (fast, native))
    assert {row: one[0].ids for row, one in found.items()} == {row: one[0].ids for row, one in other.items()}
    assert all(len(one[0].ids) + one[0].is_finished <= limits[row] for row, one in found.items())


@pytest.mark.parametrize(("shape", "activation"), [(CLASSIC, "gelu"), (CLASSIC, "relu"), (MODERN, "silu")])
def test_a_writer_has_the_same_logits_in_both_engines(shape, activation, tmp_path):
    torch.manual_seed(5)
    config = ModelConfig(vocab_size=50, layers=2, width=32, heads=4, inner=48, max_positions=24, activation=activation,
                         dropout=0.0, **shape)  # fmt: skip
    model = CausalLM(config).eval()
    for parameter in model.parameters():  # norms and biases too: fresh ones hide what is left out
        torch.nn.init.normal_(parameter, std=0.2)
    assert can_write(config)
    save(describe_writer(config, model.state_dict(), PIECES, Generation(ends=(0,))), tmp_path)
    ids = torch.randint(2, 49, (3, 24))
    engine = ctranslate2.Generator(str(tmp_path), intra_threads=1)
    theirs = engine.forward_batch([[PIECES[i] for i in row] for row in ids.tolist()])
    with torch.no_grad():
        ours = model.logits(model(ids))
    assert torch.allclose(ours, torch.tensor(numpy.array(theirs)), atol=2e-4)
