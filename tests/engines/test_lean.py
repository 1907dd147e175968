"""A lean network computes what its modules compute, is made once, and always has the weights of now."""

import gc
import weakref

import pytest
import torch

from regard.config import ModelConfig
from regard.engines.lean import make_lean
from regard.engines.torch import DecoderStep, TextStep
from regard.model.capture import record_attention, record_hidden
from regard.model.transformer import CausalLM, EncoderDecoder

SHAPES = [
    {}, {"norm": "pre"}, {"has_bias": False, "activation": "silu"}, {"positions": "learned"}, {"positions": "rotary"},
    {"norm_kind": "rms", "is_gated": True}, {"kv_heads": 2}, {"tie_embeddings": False, "has_output_bias": True},
]  # fmt: skip
SOURCES = torch.tensor([[5, 6, 7, 8], [9, 10, 39, 39], [11, 12, 13, 39]])  # (3, 4)


def network(kind=EncoderDecoder, **shape):
    torch.manual_seed(0)
    config = ModelConfig(vocab_size=40, layers=2, width=32, heads=4, ffn_width=48, **shape)
    return (kind(config, pad_id=39) if kind is EncoderDecoder else kind(config)).eval()


def steps(model, source, prefix=()):
    """Logits of four steps, with rows repeated, reordered and dropped in between."""
    with torch.inference_mode():
        step = DecoderStep(model, source, 12, 1, prefix)
        found = [step(torch.full((len(source),), model.start_id))]
        step.keep(torch.arange(len(source)).repeat_interleave(2))  # two beams a source
        found.append(step(torch.arange(2 * len(source)) + 3))
        step.keep(torch.tensor([1, 0, *range(2, 2 * len(source))]))
        found.append(step(torch.arange(2 * len(source)) + 9))
        step.keep(torch.tensor([1]))
        return [*found, step(torch.tensor([4]))]


def by_modules(model, run):
    """The same, while a hook makes the modules themselves run."""
    handle = model.register_forward_hook(lambda *_: None)
    assert make_lean(model) is model
    found = run()
    handle.remove()
    assert make_lean(model) is not model
    return found


def equal(mine, theirs):
    return all(torch.equal(a, b) for a, b in zip(mine, theirs, strict=True))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_lean_step_is_the_step_of_the_modules_bit_for_bit(shape):
    model = network(**shape)
    for source, prefix in ((SOURCES, ()), (SOURCES[:1], ()), (SOURCES, (7, 8))):
        assert equal(steps(model, source, prefix), by_modules(model, lambda: steps(model, source, prefix)))  # noqa: B023
    writer = network(CausalLM, **shape)

    def texts():
        step = TextStep(writer, SOURCES)
        return [step.logits, step(torch.tensor([1, 2, 3])), step(torch.tensor([4, 5, 6]))]

    assert equal(texts(), by_modules(writer, texts))


def test_a_table_of_positions_grows_in_the_lean_network_too():
    model = network(CausalLM, max_positions=8)
    ids = torch.arange(30)[None]
    assert torch.equal(make_lean(model)(ids), model(ids))


def test_a_model_that_is_recorded_or_trained_is_run_by_its_modules():
    model = network()
    for record in (record_attention, record_hidden):
        with record(model) as seen:
            steps(model, SOURCES)
            assert all(len(found) for name, found in seen.items() if name.startswith("decoder"))
    handle = model.decoder.blocks[0].register_forward_hook(lambda *_: None)
    assert make_lean(model) is model
    handle.remove()
    assert make_lean(model) is make_lean(model) is not model
    assert make_lean(model.train()) is model


def test_a_lean_network_keeps_no_model_alive():
    model = network()
    make_lean(model)
    kept = weakref.ref(model)
    del model
    gc.collect()
    assert kept() is None


def test_a_lean_network_follows_weights_that_change():
    model = network()
    before, lean = steps(model, SOURCES), make_lean(model)
    with torch.no_grad():
        model.load_state_dict({name: tensor * 0.5 for name, tensor in model.state_dict().items()})
    assert make_lean(model) is lean
    after = steps(model, SOURCES)
    assert not torch.allclose(before[0], after[0])
    assert equal(after, by_modules(model, lambda: steps(model, SOURCES)))
