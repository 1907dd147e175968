"""The fused loss is cross-entropy, without the logits."""

import pytest
import torch
import torch.nn.functional as F

from regard.config import ModelConfig, resolve
from regard.data.batch import PairBatch
from regard.errors import ConfigError
from regard.model import loss as loss_module
from regard.model import r_drop as agree
from regard.model.loss import token_loss
from regard.model.transformer import EncoderDecoder

V = 20


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("has_bias", [False, True])
def test_loss_and_gradients_are_those_of_plain_cross_entropy(smoothing, has_bias, monkeypatch):
    monkeypatch.setattr(loss_module, "ROWS", 4)  # several chunks, the last one shorter
    rows = torch.randn(13, 8, dtype=torch.float64, requires_grad=True)
    table = torch.randn(V, 8, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(V, dtype=torch.float64, requires_grad=True) if has_bias else None
    labels = torch.randint(0, V, (13,))
    inputs = [tensor for tensor in (rows, table, bias) if tensor is not None]
    total, count = token_loss(rows, labels, table, bias=bias, smoothing=smoothing)
    got = torch.autograd.grad(3 * total, inputs)
    plain = F.cross_entropy(F.linear(rows, table, bias), labels, reduction="sum", label_smoothing=smoothing)
    wanted = torch.autograd.grad(3 * plain, inputs)
    assert count == 13
    assert torch.allclose(total, plain)
    for one, other in zip(got, wanted, strict=True):
        assert torch.allclose(one, other)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("has_bias", [False, True])
def test_the_loss_of_two_passes_is_both_cross_entropies_and_their_divergence(smoothing, has_bias, monkeypatch):
    monkeypatch.setattr(agree, "ROWS", 4)
    rows = torch.randn(2, 13, 8, dtype=torch.float64, requires_grad=True)
    table = torch.randn(V, 8, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(V, dtype=torch.float64, requires_grad=True) if has_bias else None
    labels = torch.randint(0, V, (13,))
    inputs = [tensor for tensor in (rows, table, bias) if tensor is not None]
    total, count = agree.r_drop_loss(*rows, labels, table, bias=bias, smoothing=smoothing, weight=5.0)
    got = torch.autograd.grad(3 * total, inputs)

    said = [F.linear(one, table, bias).log_softmax(-1) for one in rows]
    told = sum(F.cross_entropy(one, labels, reduction="sum", label_smoothing=smoothing) for one in said)
    apart = sum(F.kl_div(a, b, reduction="sum", log_target=True) for a, b in (said, said[::-1]))
    plain = told / 2 + 5.0 * apart / 4
    assert count == 13
    assert torch.allclose(total, plain)
    for one, other in zip(got, torch.autograd.grad(3 * plain, inputs), strict=True):
        assert torch.allclose(one, other)


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("passes", [1, 2])
def test_without_labels_the_loss_and_all_gradients_are_zero(passes, has_bias):
    """As of a micro-batch in which no token was masked; memory that is not written to holds what was there before."""
    for _ in range(20):
        torch.full((V, 8), float("nan"))  # what a new tensor of this size is then made from
        rows = torch.zeros(passes, 0, 8, requires_grad=True)
        table = torch.randn(V, 8, requires_grad=True)
        bias = torch.randn(V, requires_grad=True) if has_bias else None
        labels = torch.zeros(0, dtype=torch.long)
        if passes == 1:
            total, count = token_loss(rows[0], labels, table, bias=bias, smoothing=0.1)
        else:
            total, count = agree.r_drop_loss(*rows, labels, table, bias=bias, smoothing=0.1, weight=5.0)
        total.backward()
        assert (total.item(), count) == (0.0, 0)
        assert not table.grad.any() and (bias is None or not bias.grad.any())


def test_two_passes_that_agree_cost_what_one_costs():
    rows, table, labels = torch.randn(8, 8), torch.randn(V, 8), torch.randint(0, V, (8,))
    twice, _ = agree.r_drop_loss(rows, rows, labels, table, smoothing=0.1, weight=5.0)
    once, _ = token_loss(rows, labels, table, smoothing=0.1)
    assert twice.item() == pytest.approx(once.item(), rel=1e-5)


def test_scoring_needs_no_gradient_and_gives_the_same_sum():
    rows, table, labels = torch.randn(8, 8), torch.randn(V, 8), torch.randint(0, V, (8,))
    with torch.inference_mode():
        scored, _ = token_loss(rows, labels, table)
    trained, _ = token_loss(rows.requires_grad_(), labels, table)
    assert scored == pytest.approx(trained.item(), rel=1e-6)


def test_a_translator_never_learns_to_say_padding(network):
    from regard.families.held_out import real_loss

    pad = network.pad_id
    hidden, labels = torch.randn(2, 4, 32), torch.randint(0, pad, (2, 4))
    labels[1, 2:] = pad
    total, count = real_loss(network, hidden, labels, 0.1)
    total.backward()
    assert count == 6 and (network.embedding.table.weight.grad[pad] == 0).all()


def test_passes_that_agree_need_dropout_to_differ():
    with pytest.raises(ConfigError, match=r"model.dropout is 0; set it to 0.2"):
        resolve({"train": {"r_drop": 5.0}, "model": {"dropout": 0.0}})


def test_without_dropout_two_passes_learn_what_one_learns(network):
    from regard.families.translate.recipe import TRANSLATE

    source, target, labels = (torch.randint(0, network.pad_id, (3, 6)) for _ in range(3))
    labels[1, 4:] = source[2, 3:] = network.pad_id
    batch = PairBatch(36, source, target, labels)
    found = {}
    for agreement in (0.0, 5.0):
        network.zero_grad()
        total, count = TRANSLATE.loss(resolve({"train": {"r_drop": agreement}}))(network, batch)
        total.backward()
        found[agreement] = (total.item(), count, [p.grad.clone() for p in network.parameters()])
    assert found[0.0][:2] == pytest.approx(found[5.0][:2], rel=1e-5)
    for one, other in zip(found[0.0][2], found[5.0][2], strict=True):
        assert torch.allclose(one, other, atol=1e-4)


def test_with_dropout_passes_that_say_different_things_cost_more():
    from regard.families.translate.recipe import TRANSLATE

    torch.manual_seed(1)
    model = EncoderDecoder(
        ModelConfig(vocab_size=50, layers=2, width=32, heads=4, ffn_width=48, dropout=0.3), pad_id=49
    )
    source, target, labels = (torch.randint(0, 49, (3, 6)) for _ in range(3))
    batch = PairBatch(36, source, target, labels)
    weak, strong = (
        TRANSLATE.loss(resolve({"train": {"r_drop": weight}}))(_seeded(model), batch)[0].item()
        for weight in (1e-6, 5.0)
    )
    assert strong > weak


def _seeded(model):
    torch.manual_seed(2)
    return model.train()
