"""The examples run, show what they say they show, and draw pictures that can be opened."""

import re
import runpy
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

EXAMPLES = Path(__file__).parent.parent / "examples"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module", autouse=True)
def _examples_can_be_imported():
    """As when one is run: its own folder comes first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES))
        yield


def run(name: str, folder: Path):
    """The module, what its main returned in its short form, and the root of the picture it drew."""
    torch.set_num_threads(1)
    module = __import__(name)
    to = folder / f"{name}.svg"
    return module, module.main(**module.SHORT, to=to), ElementTree.parse(to).getroot()


def marks(picture, kind: str) -> list:
    return [mark for mark in picture.iter() if mark.get("class") == kind]


def assert_stays_on_its_sheet(picture):
    """Everything lies inside the view box, words too (a letter is about 0.6 of the font's size wide)."""
    _, _, width, height = map(float, picture.get("viewBox").split())
    for mark in picture.iter():
        spots = [tuple(map(float, pair.split(","))) for pair in mark.get("points", "").split()]
        if mark.tag == f"{SVG}rect":
            x, y = float(mark.get("x", 0)), float(mark.get("y", 0))
            spots += [(x, y), (x + float(mark.get("width")), y + float(mark.get("height")))]
        elif mark.tag == f"{SVG}circle":
            spots.append((float(mark.get("cx")), float(mark.get("cy"))))
        elif mark.tag == f"{SVG}text":
            size = float(picture.get("font-size"))
            x, y, length = float(mark.get("x")), float(mark.get("y")), 0.6 * size * len(mark.text)
            start = x - length * {"start": 0, "middle": 0.5, "end": 1}[mark.get("text-anchor")]
            spots += [(start, y - size), (start + length, y)]
        for x, y in spots:
            assert 0 <= x <= width, (mark.attrib, mark.text)
            assert 0 <= y <= height, (mark.attrib, mark.text)


@pytest.fixture(scope="module")
def long_range(tmp_path_factory):
    return run("long_range", tmp_path_factory.mktemp("long_range"))


@pytest.fixture(scope="module")
def lookup(tmp_path_factory):
    return run("lookup", tmp_path_factory.mktemp("lookup"))


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    return run("graph", tmp_path_factory.mktemp("graph"))


@pytest.fixture(scope="module")
def saccades(tmp_path_factory):
    pytest.importorskip("sklearn")
    return run("saccades", tmp_path_factory.mktemp("saccades"))


def test_attention_recalls_at_any_distance_and_the_others_do_not(long_range):
    _, results, _ = long_range
    for lines in results.values():
        assert min(lines["attention"]) > 0.98
        near, far = ({kind: shares[at] for kind, shares in lines.items()} for at in (0, -1))
        assert near["LSTM"] > 0.9
        assert near["GRU"] > 0.9
        assert near["convolution"] > 0.35
        assert max(far["LSTM"], far["convolution"]) < 0.3
        assert far["GRU"] < near["GRU"] - 0.1, "it carries further than the LSTM, and not as far as attention"


def test_fixed_weights_recall_from_a_fixed_place_only(long_range):
    module, results, _ = long_range
    assert min(results["mark at one place"]["linear layer"]) > 0.95
    assert max(results["mark roams"]["linear layer"]) < module.commonest() + 0.05


def test_networks_that_are_compared_have_nearly_the_same_number_of_weights(long_range):
    module, _, _ = long_range
    for distance in (4, 8, 16, 32, 64):
        counts = [sum(w.numel() for w in kind(8 + distance).parameters()) for kind in module.KINDS.values()]
        assert max(counts) / min(counts) < 1.06


def test_a_convolution_does_not_hear_of_what_is_beyond_its_kernels(long_range):
    module, _, _ = long_range
    network = module.Convolution(40)
    ids, marks_, _ = module.draw(1, 32, False)
    heard = []
    for place in range(40):
        changed = ids.clone()
        changed[0, place] = (ids[0, place] + 1) % 9
        heard.append(not torch.equal(network(changed, marks_), network(ids, marks_)))
    assert heard == [False] * 27 + [True] * 13


def test_the_chart_has_a_line_for_every_network_and_task(long_range):
    _, results, picture = long_range
    assert len(marks(picture, "line")) == 10
    assert len(marks(picture, "dot")) == sum(len(shares) for lines in results.values() for shares in lines.values())
    assert_stays_on_its_sheet(picture)


def test_a_look_up_goes_from_uniform_to_exact_as_the_temperature_falls(lookup):
    module, results, _ = lookup
    rows = {temperature: found["weights"] for temperature, found in results["cooled"].items()}
    for weights in rows.values():
        assert weights.sum().item() == pytest.approx(1, abs=1e-6)
    count = len(module.NAMES)
    assert torch.allclose(rows[float("inf")], torch.full((count,), 1 / count))
    assert sorted(rows[0.0].tolist()) == [0.0] * (count - 1) + [1.0]
    best = [rows[temperature].max().item() for temperature in sorted(rows, reverse=True)]
    assert best == sorted(best)
    assert results["cooled"][0.0]["price"].item() == module.PAINTS["orange"][1]


def test_only_the_temperatures_between_have_a_slope_to_learn_from(lookup):
    _, results, _ = lookup
    for temperature, found in results["cooled"].items():
        assert (found["slope"].norm().item() > 0.1) == (0 < temperature < float("inf"))


def test_dot_product_and_cosine_fail_where_the_example_says(lookup):
    module, results, _ = lookup
    itself = {
        way: dict(zip(module.NAMES, shares.diag().tolist(), strict=True)) for way, shares in results["compared"].items()
    }
    assert itself["dot product"]["plum"] < 0.1
    assert itself["cosine"]["plum"] > 0.8
    assert itself["cosine"]["dark red"] < 0.6
    assert min(itself["nearest"].values()) > 0.9
    assert module.agreement(500) == 1.0


def test_the_nearest_key_really_is_the_nearest(lookup):
    module, _, _ = lookup
    asked, (keys, _) = torch.rand(100, 3), module.table()
    queries, against = module.ways_to_match(asked, keys)["nearest"]
    _, choice = module.hard_attention(queries, against.expand(100, -1, -1))
    assert torch.equal(choice.argmax(dim=-1), torch.cdist(asked, keys).argmin(dim=-1))


def test_a_classifier_is_attention_over_its_label_embeddings(lookup):
    _, results, _ = lookup
    assert results["read"]["accuracy"] > 0.9
    for what in ("logits", "probabilities", "expected label embedding"):
        assert results["read"][what] < 1e-6


def test_the_heat_map_has_a_cell_for_every_weight(lookup):
    _, results, picture = lookup
    assert len(marks(picture, "cell")) == sum((f["weights"] != 0).sum().item() for f in results["cooled"].values())
    assert_stays_on_its_sheet(picture)


def test_masked_attention_stays_on_the_edges(graph):
    _, results, _ = graph
    weights, neighbours = results["attention"]["neighbours"], results["graph"].neighbours[0, 0]
    assert (weights[~neighbours] == 0).all()
    assert (weights[neighbours] > 0).all()
    assert (results["attention"]["everybody"] > 0).all()
    assert torch.equal(results["attention"]["itself"], torch.eye(len(weights)))
    for look in results["attention"].values():
        assert torch.allclose(look.sum(dim=-1), torch.ones(len(look)))


def test_edges_help_where_looking_at_everybody_does_not(graph):
    _, results, _ = graph
    shares = {mask: seeds[0] for mask, seeds in results["accuracies"].items()}
    assert shares["neighbours"] > shares["everybody"] + 0.08
    assert shares["neighbours"] > shares["itself"] + 0.08


def test_the_graph_s_picture_has_a_cell_for_every_pair_that_may_look(graph):
    _, results, picture = graph
    neighbours = results["graph"].neighbours[0, 0]
    assert len(marks(picture, "cell")) == neighbours.numel() + neighbours.sum().item()
    assert_stays_on_its_sheet(picture)


def test_learned_glimpses_read_more_digits_than_random_ones(saccades):
    _, results, _ = saccades
    right = {chooser: scores[0]["right"] for chooser, scores in results["scores"].items()}
    assert right["what was seen"] > right["at random"] + 0.05
    assert results["scores"]["what was seen"][0]["sets"] > 1
    for rewards in results["rewards"].values():
        assert sum(rewards[-20:]) / 20 > sum(rewards[:20]) / 20 + 0.5


def test_only_what_was_seen_changes_where_it_looks_next(saccades):
    module, _, _ = saccades
    glimpses = torch.rand(50, len(module.PLACES), 4)
    paths = {chooser: module.Reader(chooser)(glimpses, explore=False).path for chooser in module.CHOOSERS[:2]}
    assert len(paths["what was seen"][:, 0].unique()) == 1, "nothing is seen before the first look"
    assert len(paths["what was seen"].unique(dim=0)) > 1
    assert len(paths["learned, but fixed"].unique(dim=0)) == 1


def test_glimpses_are_what_lies_in_their_boxes(saccades):
    module, _, _ = saccades
    field = torch.rand(1, 8, 16)
    for (x, y, size), seen in zip(module.PLACES, module.cut(field)[0], strict=True):
        box = field[0, y : y + size, x : x + size]
        means = box.unflatten(0, (2, -1)).unflatten(2, (2, -1)).mean(dim=(1, 3))
        assert torch.allclose(seen.view(2, 2), means)


def test_nothing_is_looked_at_twice_nor_seen_without_looking(saccades):
    module, _, _ = saccades
    reader = module.Reader("what was seen")
    glimpses = torch.rand(6, len(module.PLACES), 4)
    watched = reader(glimpses, explore=False)
    assert all(len(set(path)) == module.GLIMPSES for path in watched.path.tolist())
    hidden = torch.ones(6, len(module.PLACES), dtype=torch.bool).scatter(1, watched.path, False)
    again = reader(glimpses.masked_fill(hidden[..., None], 9.0), explore=False)
    assert torch.equal(again.logits, watched.logits)


def test_chance_draws_a_place_as_often_as_it_is_likely(saccades):
    module, _, _ = saccades
    torch.manual_seed(0)
    reader, count = module.Reader("what was seen"), 20_000
    query = torch.randn(reader.keys.shape[1]) / 4
    glimpses, is_new = torch.zeros(count, len(reader.keys), 4), torch.ones(count, len(reader.keys), dtype=torch.bool)
    _, choice = reader.look(query.expand(count, -1), glimpses, is_new, by_chance=True)
    assert torch.allclose(choice.mean(dim=0), (reader.keys @ query).softmax(dim=-1), atol=0.015)


def test_the_picture_of_glimpses_has_four_boxes_for_each_digit(saccades):
    module, _, picture = saccades
    assert len(marks(picture, "glimpse")) == len(marks(picture, "tag")) == 8 * module.GLIMPSES == 32
    assert_stays_on_its_sheet(picture)


def test_saccades_say_what_to_install_if_scikit_learn_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(SystemExit, match="pip install scikit-learn"):
        __import__("saccades").load()


def test_an_example_is_a_program_with_options(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["lookup.py", "--short", "--to", str(tmp_path / "lookup.svg")])
    runpy.run_path(str(EXAMPLES / "lookup.py"), run_name="__main__")
    assert "temperature" in capsys.readouterr().out
    ElementTree.parse(tmp_path / "lookup.svg")


@pytest.mark.parametrize("name", ["long_range", "lookup", "graph", "saccades"])
def test_every_example_tells_how_it_is_run_and_has_its_picture(name):
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert f"python examples/{name}.py --to {name}.svg" in text
    assert re.search(r'"--short"', text)
    drawn = ElementTree.parse(EXAMPLES.parent / "docs" / f"{name}.svg").getroot()
    assert_stays_on_its_sheet(drawn)


@pytest.mark.parametrize(("shape", "width", "heads"), [("base", 768, 12), ("large", 1024, 16)])
def test_an_encoder_and_a_decoder_go_from_text_to_a_token(shape, width, heads, capsys):
    module = __import__("encoder_decoder")
    shown = module.main(**module.SHORT | {"shape": shape})
    assert shown.logits.shape == (1, 7, 30_522) and shown.memory.shape[-1] == width
    assert len(shown.encoder_states) == len(shown.decoder_states) == 3
    assert sum("cross_attention" in name for name in shown.attentions) == 2 and len(shown.attentions) == 6
    assert all(looks.shape[1] == heads for looks in shown.attentions.values())
    assert torch.equal(shown.memory, shown.encoder_states[-1])
    padding = [looks[..., -3:] for name, looks in shown.attentions.items() if "cross" in name]
    assert all(float(looks.max()) == 0 for looks in padding)  # nobody looks at padding
    assert shown.token_id == int(shown.logits[0, 0].argmax())
    assert "(1, 7, 30522)" in capsys.readouterr().out
