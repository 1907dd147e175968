"""CTranslate2 computes with our weights what torch does: translators and writers of every shape it has."""

import tracemalloc

import numpy
import pytest
import torch

ctranslate2 = pytest.importorskip("ctranslate2")

import theirs  # noqa: E402

from regard.config import ModelConfig  # noqa: E402
from regard.decoding.settings import Search  # noqa: E402
from regard.engines.ctranslate2 import FastTranslator  # noqa: E402
from regard.engines.torch import NativeTranslator  # noqa: E402
from regard.files import hash_file  # noqa: E402
from regard.formats.ctranslate2 import (  # noqa: E402
    can_write,
    describe_translator,
    describe_writer,
    translator_shapes,
    writer_shapes,
)
from regard.formats.generation import Generation  # noqa: E402
from regard.formats.gpt2 import SHAPE as CLASSIC  # noqa: E402
from regard.formats.llama import SHAPE as MODERN  # noqa: E402
from regard.model.transformer import CausalLM, EncoderDecoder  # noqa: E402

TOLD = Generation(ends=(0,), start=49, suppressed=(49,))
PIECES = ["</s>", "<unk>", *(f"p{number}" for number in range(2, 49)), "<pad>"]


def arrays(network):
    return {name: tensor.numpy() for name, tensor in network.state_dict().items()}


@pytest.fixture
def both(network, tmp_path):
    """The same random translator in both engines, its alignment read from two heads that are not the first."""
    alignment = {"layer": 0, "heads": [2, 1]}
    describe_translator(network.config, arrays(network), PIECES, TOLD, 49, 64, alignment).save(tmp_path)
    return FastTranslator(tmp_path, PIECES, [0], "float32", 64), NativeTranslator(network, [0], alignment)


@pytest.mark.parametrize(("beams", "penalty"), [(1, 1.0), (2, 1.0), (4, 1.0), (4, 0.0), (5, 0.6)])
@pytest.mark.parametrize("prefix", [[], [7, 8]])
def test_both_engines_find_the_same_with_the_same_scores_and_looks(both, beams, penalty, prefix):
    generator = torch.Generator().manual_seed(1)
    sources = [
        [*torch.randint(2, 49, (length,), generator=generator).tolist(), 0] for length in (1, 2, 5, 9, 9, 14, 20)
    ]
    search = Search(beams, penalty, beams, return_attention=True)
    limits = [12 + len(source) % 3 for source in sources]
    mine, theirs = (dict(engine.begin(sources, limits, search, [prefix] * len(sources))()) for engine in reversed(both))
    assert set(mine) == set(theirs) == set(range(len(sources)))
    for ours, fast in ((mine[row], theirs[row]) for row in mine):
        assert [one.ids for one in ours] == [one.ids for one in fast]
        for one, other in zip(ours, fast, strict=True):
            assert one.ids[: len(prefix)] == prefix and one.is_finished == other.is_finished
            assert one.score == pytest.approx(other.score, rel=1e-3, abs=1e-2)  # its exp is an approximation
            assert torch.allclose(torch.tensor(one.attention), torch.tensor(other.attention), atol=1e-4)


def test_a_row_ends_at_its_own_limit_whatever_its_batch_may(both):
    fast, native = both
    sources, limits = [[5, 6, 7, 0]] * 6, [1, 2, 3, 5, 8, 13]
    found, other = (dict(engine.begin(sources, limits, Search())()) for engine in (fast, native))
    assert {row: one[0].ids for row, one in found.items()} == {row: one[0].ids for row, one in other.items()}
    assert all(len(one[0].ids) + one[0].is_finished <= limits[row] for row, one in found.items())


@pytest.mark.parametrize(("shape", "activation"), [(CLASSIC, "gelu"), (CLASSIC, "relu"), (MODERN, "silu")])
def test_a_writer_has_the_same_logits_in_both_engines(shape, activation, tmp_path):
    torch.manual_seed(5)
    config = ModelConfig(
        vocab_size=50,
        layers=2,
        width=32,
        heads=4,
        ffn_width=48,
        max_positions=24,
        activation=activation,
        dropout=0.0,
        **shape,
    )
    model = CausalLM(config).eval()
    for parameter in model.parameters():  # norms and biases too: fresh ones hide what is left out
        torch.nn.init.normal_(parameter, std=0.2)
    assert can_write(config)
    describe_writer(config, arrays(model), PIECES, Generation(ends=(0,))).save(tmp_path)
    ids = torch.randint(2, 49, (3, 24))
    engine = ctranslate2.Generator(str(tmp_path), intra_threads=1)
    theirs = engine.forward_batch([[PIECES[i] for i in row] for row in ids.tolist()])
    with torch.no_grad():
        ours = model.logits(model(ids))
    assert torch.allclose(ours, torch.tensor(numpy.array(theirs)), atol=2e-4)


def randomised(network):
    for parameter in network.parameters():  # norms and biases too: fresh ones hide what is left out
        torch.nn.init.normal_(parameter, std=0.2)
    return network.eval()


SHAPES = [
    {},
    {"norm": "pre", "decoder_layers": 3, "activation": "gelu_new"},
    {"has_output_bias": True, "tie_embeddings": False, "activation": "silu"},
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("told", [TOLD, Generation(ends=(0, 3), start=7, suppressed=(1, 49))])
def test_a_translator_is_written_byte_for_byte_as_their_own_description_writes_it(shape, told, tmp_path):
    config = ModelConfig(vocab_size=50, layers=2, width=32, heads=4, ffn_width=48, **shape)
    model, alignment = randomised(EncoderDecoder(config, 49)), {"layer": 1, "heads": [2, 1]}
    with torch.no_grad():
        model.embedding.table.weight[49] = 0
    made = describe_translator(config, arrays(model), PIECES, told, 49, 64, alignment)
    same_bytes(made, theirs.empty_translator(config, alignment), tmp_path)
    assert translator_shapes(config) == {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


WRITERS = [
    CLASSIC | {"activation": "gelu"},
    CLASSIC | {"tie_embeddings": False, "activation": "relu", "positions": "sinusoidal"},
    MODERN | {"activation": "silu"},
    MODERN | {"activation": "gelu", "kv_heads": 2, "tie_embeddings": False, "rotary_base": 5e5},
]


@pytest.mark.parametrize("shape", WRITERS)
@pytest.mark.parametrize("suppressed", [(), (3, 4)])
def test_a_writer_is_written_byte_for_byte_as_their_own_description_writes_it(shape, suppressed, tmp_path):
    config = ModelConfig(vocab_size=50, layers=2, width=32, heads=4, ffn_width=48, max_positions=24, **shape)
    model = randomised(CausalLM(config))
    made = describe_writer(config, arrays(model), PIECES, Generation(ends=(0,), suppressed=suppressed))
    same_bytes(made, theirs.empty_writer(config), tmp_path)
    assert writer_shapes(config) == {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


def same_bytes(made, spec, place):
    (place / "ours").mkdir()
    (place / "theirs").mkdir()
    made.save(place / "ours")
    theirs.write(spec, made, place / "theirs")
    assert {path.name for path in (place / "ours").iterdir()} == {path.name for path in (place / "theirs").iterdir()}
    for path in (place / "ours").iterdir():
        assert path.read_bytes() == (place / "theirs" / path.name).read_bytes(), path.name
        assert made.hashes()[path.name] == hash_file(path)


def test_a_model_is_described_and_hashed_with_its_weights_in_memory_once():
    config = ModelConfig(vocab_size=50, layers=4, width=128, heads=4, ffn_width=512)
    tracemalloc.start()
    weights = {name: numpy.ones(shape, numpy.float32) for name, shape in translator_shapes(config).items()}
    size = sum(array.nbytes for array in weights.values())
    describe_translator(config, weights, PIECES, TOLD, 49, 64, {"layer": 0, "heads": [2, 1]}).hashes()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size < peak < 1.15 * size
