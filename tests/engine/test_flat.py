"""The flat decoder is found once for a model, and is always the model as it is now."""

import torch

from regard.config import ModelConfig
from regard.engine.flat import FlatDecoder
from regard.look.record import record_attention
from regard.model.transformer import EncoderDecoder

PAD = 49


def make_model(**shape):
    torch.manual_seed(1)
    config = ModelConfig(vocab_size=50, layers=2, width=32, heads=4, inner=48, dropout=0.0, **shape)
    return EncoderDecoder(config, PAD).eval()


def step(model):
    """What comes out of one step with modules, and of one without."""
    source, last = torch.tensor([[5, 6, 7], [8, 9, PAD]]), torch.tensor([3, 4])
    with torch.inference_mode():
        memory, may_attend = model.encode(source)
        by_modules = model.advance(last[:, None], model.open_cache(memory, may_attend, 4))[:, 0]
        return by_modules, FlatDecoder.of(model).advance(last, model.open_cache(memory, may_attend, 4))


def test_it_is_found_once_and_follows_weights_that_are_replaced():
    model = make_model()
    first, other = FlatDecoder.of(model), step(model)[1]
    with torch.no_grad():
        model.load_state_dict({name: tensor * 1.5 for name, tensor in model.state_dict().items()})
    by_modules, flat = step(model)
    assert FlatDecoder.of(model) is first
    assert torch.allclose(by_modules, flat, atol=1e-5) and not torch.allclose(flat, other, atol=1e-2)


def test_whoever_watches_the_modules_sees_them_work():
    model = make_model()
    assert FlatDecoder.of(model) is not None
    with record_attention(model):
        assert FlatDecoder.of(model) is None
    handle = model.decoder.blocks[0].register_forward_hook(lambda *_: None)
    assert FlatDecoder.of(model) is None
    handle.remove()
    assert FlatDecoder.of(model) is not None


def test_a_shape_it_does_not_know_is_left_to_the_modules():
    assert FlatDecoder.of(make_model(norm_kind="rms")) is None
    assert FlatDecoder.of(make_model().train()) is None
