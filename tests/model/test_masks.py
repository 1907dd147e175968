"""Masks: which positions may attend to which."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.model.attention import attend, attend_with_weights
from regard.model.masks import causal_mask, graph_mask, padding_mask


def test_a_row_of_nothing_but_padding_stays_finite():
    mask = padding_mask(torch.tensor([[True, True], [False, True]]))
    assert mask.squeeze().tolist() == [[True, False], [True, False]]
    x = torch.randn(2, 1, 2, 4)
    assert attend(x, x, x, mask).isfinite().all()


@given(st.integers(1, 7), st.integers(0, 5))
def test_causal_is_a_staircase_that_ends_at_the_last_key(queries, before):
    mask = causal_mask(queries, queries + before)[0, 0]
    for t in range(queries):
        assert mask[t].tolist() == [s <= t + before for s in range(queries + before)]


def test_without_keys_given_the_queries_are_the_keys():
    assert torch.equal(causal_mask(4), causal_mask(4, 4))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8))
def test_attention_on_a_graph_flows_along_edges_only(edges):
    x = torch.randn(1, 1, 5, 4)
    _, weights = attend_with_weights(x, x, x, graph_mask(edges, 5))
    linked = {(a, b) for a, b in edges} | {(b, a) for a, b in edges} | {(i, i) for i in range(5)}
    assert {(i, j) for i in range(5) for j in range(5) if weights[0, 0, i, j] > 0} == linked


def test_a_graph_can_be_one_way():
    assert graph_mask([(0, 1)], 2, both_ways=False)[0, 0].tolist() == [[True, True], [False, True]]
