"""Which library multiplies does not change what is computed."""

import torch

from regard.config import ModelConfig, resolve
from regard.data.batch import PairBatch
from regard.families.translate.recipe import TRANSLATE, loss
from regard.machine import name_processor
from regard.model import products
from regard.model.attention import attend
from regard.model.transformer import EncoderDecoder
from regard.training import workers
from regard.training.distributed import World


def setting() -> str:
    return torch.backends.mkldnn.matmul.fp32_precision


def gradients(by_onednn: bool, monkeypatch) -> list[torch.Tensor]:
    """Of a small translator with padding; fp32_precision stays as it is, so that only what surrounds it is compared."""
    monkeypatch.setattr(products, "_matmul", type("Library", (), {"fp32_precision": "none"}))
    torch.manual_seed(0)
    shape = ModelConfig(vocab_size=300, layers=2, width=32, heads=4, ffn_width=64, kv_heads=2, dropout=0.1)
    model = EncoderDecoder(shape, pad_id=0)
    source, target = torch.randint(1, 300, (24, 11)), torch.randint(1, 300, (24, 9))
    source[3:9, 7:] = 0
    config = resolve({"train": {"learning_rate": 1e-3}})
    with products.products_by_onednn(by_onednn):
        loss(config)(model, PairBatch(tokens=400, source=source, target=target, labels=target))[0].backward()
    return [parameter.grad for parameter in model.parameters() if parameter.grad is not None]


def test_attention_that_is_kept_apart_has_the_same_gradients_bit_for_bit(monkeypatch):
    plain, apart = gradients(False, monkeypatch), gradients(True, monkeypatch)
    assert len(plain) == len(apart) > 20
    assert all(map(torch.equal, plain, apart))


def test_the_setting_is_put_back_also_after_an_error():
    torch.backends.mkldnn.matmul.fp32_precision = before = "ieee"  # as a user has set it
    try:
        with products.products_by_onednn(True):
            with products.products_by_onednn(False):
                assert setting() == before
            raise ValueError
    except ValueError:
        pass
    after, torch.backends.mkldnn.matmul.fp32_precision = setting(), "none"
    assert after == before


def test_onednn_is_used_only_where_it_loses_nothing():
    a, b = torch.randn(300, 128), torch.randn(128, 257)
    true = a.double() @ b.double()
    with products.products_by_onednn(products.onednn_is_better()):
        found = (a @ b).double()
    assert (found - true).norm() < 1e-6 * true.norm()
    assert not products.onednn_is_better() or "AMD" in name_processor()


def test_a_mask_that_is_learned_gets_its_gradient():
    query, mask = torch.randn(2, 4, 5, 8), torch.zeros(5, 5, requires_grad=True)
    with products.products_by_onednn(True):
        attend(query, query, query, mask).sum().backward()
    assert mask.grad is not None and mask.grad.abs().sum() > 0


def test_small_parts_of_a_batch_are_multiplied_as_ever(monkeypatch):
    monkeypatch.setattr(workers, "onednn_is_better", lambda: True)
    batch = {"train": {"tokens_per_batch": 4096, "grad_accumulation": 2}}
    assert workers.wants_onednn(TRANSLATE, resolve(batch), World())
    assert not workers.wants_onednn(TRANSLATE, resolve({"train": {"tokens_per_batch": 512}}), World())
