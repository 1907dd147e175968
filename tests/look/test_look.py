"""What was looked at, in numbers and in pictures."""

import re

import pytest
import torch

import regard
from regard.look.draw import draw_svg, draw_terminal


def test_looking_gives_all_layers_and_heads_and_does_not_change_the_translation(translator):
    text = "The old dog sleeps."
    before = translator(text)
    seen = translator.look(text)
    assert translator(text) == before
    layers, heads = 2, 4
    said, read, cross = seen.kinds["cross"]
    assert seen.kinds["encoder"].weights.shape == (layers, heads, len(read), len(read))
    assert seen.kinds["decoder"].weights.shape == (layers, heads, len(said), len(said))
    assert cross.shape == (layers, heads, len(said), len(read))
    assert "".join(said[:-1]).strip() == before
    for kind in seen.kinds.values():
        assert torch.allclose(kind.weights.sum(-1), torch.ones(kind.weights.shape[:-1]), atol=1e-5)


def test_a_forced_target_is_what_is_looked_at(translator):
    seen = translator.look("The dog sleeps.", target="Le chat mange.")
    assert "".join(seen.kinds["cross"].rows[:-1]).strip() == "Le chat mange."


def test_a_map_is_a_layer_and_a_head_or_their_mean(translator):
    seen = translator.look("The dog sleeps.")
    weights = seen.kinds["cross"].weights
    assert seen.map("cross", 2, 3) == weights[1, 2].tolist()
    assert torch.allclose(torch.tensor(seen.map("cross")), weights.mean((0, 1)), atol=1e-6)
    with pytest.raises(regard.ConfigError, match="layer=9, but the model has 2"):
        seen.map("cross", layer=9)
    with pytest.raises(regard.ConfigError, match="no attention called memory"):
        seen.map("memory")


def test_a_terminal_map_is_darkest_where_most_was_looked_at():
    lines = draw_terminal([[0.1, 0.8, 0.1], [0.9, 0.05, 0.05]], ["ein", "Haus"], ["a", "big", "house"]).splitlines()
    assert lines[-2] == " ein     ██" and lines[-1] == "Haus  ██"
    columns = list(zip(*(line.ljust(14) for line in lines[:-2]), strict=True))
    heads = ["".join(column).strip() for column in columns[6::3]]
    assert heads == ["a", "big", "house"]


def test_hostile_labels_are_shown_as_text():
    labels = ["<script>alert(1)</script>", '"&', "\x1b[31m", "a\nb", ""]
    weights = [[0.2] * 5] * 5
    svg = draw_svg(weights, labels, labels)
    assert "<script" not in svg and "&lt;script&gt;" in svg and "\x1b" not in svg
    assert len(re.findall("<rect x", svg)) == 25
    terminal = draw_terminal(weights, labels, labels)
    assert "\x1b" not in terminal
    assert len(terminal.splitlines()) == len("<script>alert(1)</script>") + 5
