"""Positions: sinusoidal, learned and rotary."""

import math

import pytest
import torch

import regard
from regard.model.positions import Learned, Rotary, Sinusoidal, grid_points, point_sinusoids, sinusoids


def test_waves_are_the_papers_formula_in_two_halves():
    table = sinusoids(torch.arange(50), 8)
    for place in (0, 1, 7, 49):
        for i in range(4):
            angle = place / 10_000 ** (2 * i / 8)
            assert table[place, i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[place, 4 + i].item() == pytest.approx(math.cos(angle), abs=1e-6)


@pytest.mark.parametrize("make", [Sinusoidal, Learned])
def test_a_part_of_a_text_gets_the_positions_it_has_in_the_whole(make):
    positions = make(8, 16)
    x = torch.randn(1, 10, 8)
    assert torch.equal(positions(x)[:, 6:], positions(x[:, 6:], start=6))


def test_waves_go_on_beyond_their_table_and_learned_places_do_not():
    x = torch.zeros(1, 30, 8)
    assert torch.equal(Sinusoidal(8, 4)(x)[0], sinusoids(torch.arange(30), 8))
    with pytest.raises(regard.ConfigError, match="position 30 was asked for, but only 4"):
        Learned(8, 4)(x)


def test_places_in_a_plane_match_by_their_distance_in_each_direction():
    grid = point_sinusoids(grid_points(4, 6), 16)  # (24, 16)
    assert torch.equal(grid[:6, 8:], sinusoids(torch.arange(6), 8)), "the second half counts columns"
    products = (grid @ grid.T).view(4, 6, 4, 6)
    assert torch.allclose(products[0, 1, 2, 4], products[1, 0, 3, 3], atol=1e-5)
    assert not torch.allclose(products[0, 1, 2, 4], products[0, 1, 2, 3], atol=1e-2)
    assert len({tuple(row) for row in grid.tolist()}) == 24
    line = point_sinusoids(torch.arange(5)[:, None], 8)
    assert torch.equal(line, sinusoids(torch.arange(5), 8)), "one coordinate is a text"
    points = torch.tensor([[0.5, 2.25, 1.0]])
    assert torch.allclose(point_sinusoids(points, 12)[0, 4:8], sinusoids(torch.tensor([2.25]), 4)[0])
    with pytest.raises(regard.ConfigError, match=r"width=10 cannot be shared .* multiple of 4"):
        point_sinusoids(grid_points(2, 2), 10)


def test_turning_keeps_lengths_and_makes_products_depend_on_distance_alone():
    rotary = Rotary(8, 4)
    query, key = torch.randn(1, 1, 1, 8), torch.randn(1, 1, 1, 8)
    assert rotary.rotate(query, 5).norm() == pytest.approx(query.norm().item(), rel=1e-5)
    near = (rotary.rotate(query, 3) * rotary.rotate(key, 1)).sum()
    far = (rotary.rotate(query, 13) * rotary.rotate(key, 11)).sum()
    assert near.item() == pytest.approx(far.item(), abs=1e-5)
    assert torch.equal(rotary.rotate(query, 0), query)
