"""The flat decoder says what the modules say, is found once for a model, and is always the model as it is now."""

import pytest
import torch

from regard.config import ModelConfig
from regard.engines.flat import FlatDecoder
from regard.engines.torch import DecoderStep
from regard.model.capture import record_attention, record_hidden
from regard.model.transformer import EncoderDecoder


def network(**shape):
    torch.manual_seed(0)
    return EncoderDecoder(
        ModelConfig(vocab_size=40, layers=2, width=32, heads=4, ffn_width=48, **shape), pad_id=39
    ).eval()


SOURCES = torch.tensor([[5, 6, 7, 8], [9, 10, 39, 39], [11, 12, 13, 39]])  # (3, 4)


def steps(model, source, *, is_flat, prefix=()):
    """Logits of four steps, with rows repeated, reordered and dropped in between."""
    with torch.inference_mode():
        step = DecoderStep(model, source, 12, 1, prefix)
        if not is_flat:
            step._flat = None
        assert (step._flat is not None) == is_flat
        found = [step(torch.full((len(source),), model.start_id))]
        step.keep(torch.arange(len(source)).repeat_interleave(2))  # two beams a source
        found.append(step(torch.arange(2 * len(source)) + 3))
        step.keep(torch.tensor([1, 0, *range(2, 2 * len(source))]))
        found.append(step(torch.arange(2 * len(source)) + 9))
        step.keep(torch.tensor([1]))
        return [*found, step(torch.tensor([4]))]


@pytest.mark.parametrize(
    "shape", [{}, {"norm": "pre"}, {"has_bias": False, "activation": "silu"}, {"positions": "learned"}]
)
@pytest.mark.parametrize("prefix", [(), (7, 8)])
@pytest.mark.parametrize("source", [SOURCES, SOURCES[:1]], ids=["padded", "one"])
def test_a_flat_step_says_what_the_modules_say(shape, prefix, source):
    model = network(**shape)
    flat, modules = (steps(model, source, is_flat=is_flat, prefix=prefix) for is_flat in (True, False))
    for mine, theirs in zip(flat, modules, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [{"positions": "rotary"}, {"norm_kind": "rms"}, {"is_gated": True}, {"kv_heads": 2}])
def test_other_kinds_of_decoders_are_left_to_their_modules(shape):
    assert FlatDecoder.of(network(**shape)) is None


def test_a_model_that_is_watched_is_run_by_its_modules():
    model = network()
    assert FlatDecoder.of(model) is not None
    for watch in (record_attention, record_hidden):
        with watch(model) as seen:
            steps(model, SOURCES, is_flat=False)
            assert all(len(found) for name, found in seen.items() if name.startswith("decoder"))
            assert FlatDecoder.of(model) is None
    handle = model.decoder.blocks[0].register_forward_hook(lambda *_: None)
    assert FlatDecoder.of(model) is None
    handle.remove()
    assert FlatDecoder.of(model) is not None
    assert FlatDecoder.of(model.train()) is None


def test_a_flat_step_follows_weights_that_change():
    model = network()
    before, found = steps(model, SOURCES, is_flat=True), FlatDecoder.of(model)
    with torch.no_grad():
        model.load_state_dict({name: tensor * 0.5 for name, tensor in model.state_dict().items()})
    assert FlatDecoder.of(model) is found
    after, modules = (steps(model, SOURCES, is_flat=is_flat) for is_flat in (True, False))
    assert not torch.allclose(before[0], after[0])
    torch.testing.assert_close(after, modules, rtol=1e-5, atol=1e-5)
