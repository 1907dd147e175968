"""A narrow network is run by one thread, but for its one wide product; the number of threads is restored after it."""

from types import SimpleNamespace

import pytest
import torch

from regard.config import ModelConfig
from regard.decoding.settings import Search
from regard.engines.torch import translate_ids
from regard.model.transformer import EncoderDecoder

END, PAD = 0, 49


class Watched(EncoderDecoder):
    """Records how many threads there are where it computes."""

    def encode(self, source):
        self.seen.narrow = torch.get_num_threads()
        return super().encode(source)

    def logits(self, hidden):
        self.seen.wide = torch.get_num_threads()
        if self.seen.fails:
            raise MemoryError
        return super().logits(hidden)


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def translate(model):
    with torch.inference_mode():
        return translate_ids(model, [[5, 6, 7, END], [8, END]], [6, 6], [END], Search(beams=2))


def make_model(width):
    torch.manual_seed(1)
    config = ModelConfig(vocab_size=50, layers=1, width=width, heads=4, ffn_width=8, dropout=0.0)
    model = Watched(config, PAD).eval()
    model.seen = SimpleNamespace(fails=False)
    return model


def test_a_narrow_network_takes_one_thread_and_two_at_most_for_the_vocabulary(threads):
    model = make_model(32)
    translate(model)
    assert (model.seen.narrow, model.seen.wide) == (1, min(threads, 2))


def test_a_wide_network_takes_all_threads_for_everything(threads):
    model = make_model(512)
    translate(model)
    assert (model.seen.narrow, model.seen.wide) == (threads, threads)


def test_the_threads_are_as_before_also_after_an_error(threads):
    model = make_model(32)
    translate(model)
    assert torch.get_num_threads() == threads
    model.seen.fails = True
    with pytest.raises(MemoryError):
        translate(model)
    assert torch.get_num_threads() == threads
