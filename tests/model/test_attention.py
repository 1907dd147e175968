"""Attention is what it says it is, whichever way it is computed."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import regard
from regard.model.attention import (
    MultiHeadAttention,
    attend,
    attend_with_weights,
    hard_attention,
    linear_attention,
    soft_attention,
)
from regard.model.masks import causal_mask, padding_mask

sizes = st.integers(1, 6)


@given(n=sizes, width=sizes, seed=st.integers(0, 999))
@settings(max_examples=30)
def test_soft_weights_are_a_distribution(n, width, seed):
    torch.manual_seed(seed)
    _, weights = soft_attention(torch.randn(3, width), torch.randn(3, n, width))
    assert (weights >= 0).all()
    assert torch.allclose(weights.sum(-1), torch.ones(3), atol=1e-6)


@given(n=sizes, seed=st.integers(0, 999))
@settings(max_examples=30)
def test_a_set_has_no_order(n, seed):
    """Permuting the set permutes the weights and leaves the mixture as it was."""
    torch.manual_seed(seed)
    query, keys, values, order = torch.randn(4), torch.randn(n, 4), torch.randn(n, 5), torch.randperm(n)
    mixture, weights = soft_attention(query, keys, values)
    other_mixture, other_weights = soft_attention(query, keys[order], values[order])
    assert torch.allclose(other_weights, weights[order], atol=1e-6)
    assert torch.allclose(other_mixture, mixture, atol=1e-5)


@pytest.mark.parametrize("count", [1, 3, 50])
def test_the_same_weights_attend_to_any_number_of_inputs(count):
    attention, x = MultiHeadAttention(8, heads=2), torch.randn(1, count, 8)
    with regard.record_attention(attention) as recorded:
        assert attention(x[:, :1], *attention.read(x)).shape == (1, 1, 8)
    ((weights,),) = recorded.values()
    assert weights.shape == (1, 2, 1, count)
    assert torch.allclose(weights.sum(dim=-1), torch.ones(1, 2, 1))


def test_temperature_goes_from_the_best_to_the_average():
    query, keys, values = torch.randn(4), torch.randn(6, 4), torch.randn(6, 3)
    best = (keys @ query).argmax()
    cold, _ = soft_attention(query, keys, values, temperature=0.0)
    cool, _ = soft_attention(query, keys, values, temperature=1e-4)
    hot, weights = soft_attention(query, keys, values, temperature=math.inf)
    assert torch.equal(cold, values[best])
    assert torch.allclose(cool, values[best], atol=1e-5)
    assert torch.allclose(hot, values.mean(0), atol=1e-6)
    assert torch.allclose(weights, torch.full((6,), 1 / 6))
    with pytest.raises(ValueError, match="below zero"):
        soft_attention(query, keys, temperature=-1)


@pytest.mark.parametrize("temperature", [0.0, 1.0, math.inf])
def test_what_may_not_be_seen_has_no_weight(temperature):
    may_attend = torch.tensor([True, False, True])
    _, weights = soft_attention(torch.randn(4), torch.randn(3, 4), temperature=temperature, may_attend=may_attend)
    assert weights[1] == 0
    assert weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("temperature", [0.0, 1.0, math.inf])
def test_who_may_look_at_nothing_finds_nothing(temperature):
    queries, keys, mask = torch.randn(2, 4, requires_grad=True), torch.randn(3, 4), torch.tensor([[True], [False]])
    found, weights = soft_attention(queries, keys, temperature=temperature, may_attend=mask.expand(2, 3))
    assert weights[0].sum().item() == pytest.approx(1) and (weights[1] == 0).all() and (found[1] == 0).all()
    (slope,) = torch.autograd.grad(found.sum() + (queries * 0).sum(), queries)
    assert not slope.isnan().any()
    assert (hard_attention(queries, keys, may_attend=mask.expand(2, 3))[1][1] == 0).all()


def test_a_mask_of_floats_is_added_to_the_scores():
    query, keys, bias = torch.randn(2, 4), torch.randn(3, 4), torch.tensor([0.5, -1.0, -math.inf])
    _, weights = soft_attention(query, keys, may_attend=bias)
    assert torch.allclose(weights, (query @ keys.T + bias).softmax(-1))
    with pytest.raises(regard.ConfigError, match="linear attention has no softmax to add a mask to"):
        linear_attention(query, keys, may_attend=bias)


def test_hard_attention_takes_one_and_straight_through_lets_gradients_pass():
    query, keys, values = torch.randn(4, requires_grad=True), torch.randn(6, 4), torch.randn(6, 3)
    taken, weights = hard_attention(query, keys, values)
    assert weights.sum() == 1 and weights.max() == 1
    assert torch.equal(taken, values[(keys @ query).argmax()])
    assert not taken.requires_grad
    passed, _ = hard_attention(query, keys, values, differentiable=True)
    assert torch.allclose(passed, taken, atol=1e-6)
    passed.sum().backward()
    soft_query = query.detach().clone().requires_grad_()
    soft_attention(soft_query, keys, values)[0].sum().backward()
    assert torch.allclose(query.grad, soft_query.grad, atol=1e-6)


@given(n=sizes, best=sizes, seed=st.integers(0, 999))
@settings(max_examples=40)
def test_the_best_ones_share_by_softmax_and_all_others_get_nothing(n, best, seed):
    torch.manual_seed(seed)
    queries, keys, values = torch.randn(2, 4), torch.randn(2, n, 4), torch.randn(2, n, 3)
    taken, weights = hard_attention(queries, keys, values, best=best)
    scores = torch.einsum("bk,bnk->bn", queries, keys)
    for row in range(2):
        order = scores[row].argsort(descending=True)
        assert torch.allclose(weights[row, order[:best]], scores[row, order[:best]].softmax(-1), atol=1e-6)
        assert (weights[row, order[best:]] == 0).all()
        assert torch.allclose(taken[row], weights[row] @ values[row], atol=1e-6)
    if best >= n:
        assert torch.allclose(weights, soft_attention(queries, keys)[1], atol=1e-6)


def test_the_k_best_keep_to_their_number_mask_and_gradient():
    query, keys, values = torch.randn(4, requires_grad=True), torch.ones(6, 4), torch.randn(6, 3)
    _, ties = hard_attention(query, keys, best=2)
    assert (ties > 0).sum() == 2 and ties.sum().item() == pytest.approx(1), "equal matches are not all chosen"
    may_attend = torch.tensor([False, True, False, False, False, False])
    _, one = hard_attention(query, keys, best=3, may_attend=may_attend)
    assert one.tolist() == [0, 1, 0, 0, 0, 0]
    keys = torch.randn(6, 4)
    passed, _ = hard_attention(query, keys, values, best=2, differentiable=True)
    assert torch.allclose(passed, hard_attention(query, keys, values, best=2)[0], atol=1e-6)
    (slope,) = torch.autograd.grad(passed.sum(), query)
    (soft,) = torch.autograd.grad(soft_attention(query, keys, values)[0].sum(), query)
    assert torch.allclose(slope, soft, atol=1e-6)
    with pytest.raises(regard.ConfigError, match=r"best=0: .* at least 1 key"):
        hard_attention(query, keys, best=0)


def test_cosine_leaves_lengths_out_of_account():
    query, keys = torch.randn(4), torch.randn(6, 4)
    _, weights = soft_attention(query, keys, similarity="cosine", temperature=0.1)
    assert torch.allclose(weights, (F.cosine_similarity(query[None], keys) / 0.1).softmax(-1), atol=1e-6)
    _, longer = soft_attention(7 * query, keys * torch.rand(6, 1), similarity="cosine", temperature=0.1)
    assert torch.allclose(longer, weights, atol=1e-5)
    _, nothing = soft_attention(torch.zeros(4), keys, similarity="cosine")
    assert torch.allclose(nothing, torch.full((6,), 1 / 6))
    nearest = F.cosine_similarity(query[None], keys).argmax()
    assert hard_attention(query, keys, similarity="cosine")[1].argmax() == nearest
    with pytest.raises(regard.ConfigError, match="'euclid' is not one of dot, cosine"):
        soft_attention(query, keys, similarity="euclid")


@pytest.mark.parametrize("is_causal", [True, False])
def test_explicit_weights_give_the_same_as_the_fused_kernel(is_causal):
    query, key, value = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 5, 8), torch.randn(2, 3, 5, 8)
    may_attend = None if is_causal else torch.rand(2, 1, 5, 5) > 0.4
    if may_attend is not None:
        may_attend |= torch.eye(5, dtype=torch.bool)
    fused = attend(query, key, value, may_attend, is_causal=is_causal)
    explicit, weights = attend_with_weights(query, key, value, may_attend, is_causal=is_causal)
    assert torch.allclose(fused, explicit, atol=1e-6)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 3, 5), atol=1e-6)


def test_self_attention_is_soft_attention_once_per_query():
    x = torch.randn(1, 1, 6, 4)
    whole = attend(x, x, x, None)[0, 0]
    one_by_one = [soft_attention(row, x[0, 0], temperature=math.sqrt(4))[0] for row in x[0, 0]]
    assert torch.allclose(whole, torch.stack(one_by_one), atol=1e-6)


def test_multi_head_is_a_loop_over_heads_even_when_keys_and_values_differ_in_width():
    layer = MultiHeadAttention(12, 3, memory_width=10, key_width=5, value_width=7)
    x, memory = torch.randn(2, 4, 12), torch.randn(2, 6, 10)
    whole = layer(x, *layer.read(memory))
    heads = []
    for h in range(3):
        k, v = slice(5 * h, 5 * h + 5), slice(7 * h, 7 * h + 7)
        query = F.linear(x, layer.query.weight[k], layer.query.bias[k])
        key = F.linear(memory, layer.key.weight[k], layer.key.bias[k])
        value = F.linear(memory, layer.value.weight[v], layer.value.bias[v])
        heads.append((query @ key.transpose(1, 2) / math.sqrt(5)).softmax(-1) @ value)
    assert torch.allclose(whole, layer.output(torch.cat(heads, -1)), atol=1e-6)


def test_multi_head_agrees_with_torch():
    ours, theirs = MultiHeadAttention(16, 4), nn.MultiheadAttention(16, 4, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
        theirs.out_proj.load_state_dict(ours.output.state_dict())
    x, is_pad = torch.randn(2, 5, 16), torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    may_attend = padding_mask(is_pad) & causal_mask(5)
    mine = ours(x, *ours.read(x), may_attend)
    other, _ = theirs(x, x, x, key_padding_mask=is_pad, attn_mask=~causal_mask(5)[0, 0], need_weights=False)
    assert torch.allclose(mine, other, atol=1e-6)
