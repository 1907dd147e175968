"""Attention, attribution and probabilities, in numbers and in pictures."""

import dataclasses
import json
import math
import re

import pytest
import torch

import regard
from regard.look.attribution import silence
from regard.look.draw import draw_svg
from regard.look.labels import width
from regard.look.measure import find_sink, spread
from regard.look.terminal import draw_terminal


def test_looking_gives_all_layers_and_heads_and_does_not_change_the_translation(translator):
    text = "The old dog sleeps."
    before = translator(text)
    seen = translator.look(text)
    assert translator(text) == before
    layers, heads = 2, 4
    written, read, cross, _, _ = seen.kinds["cross"]
    assert seen.kinds["encoder"].weights.shape == (layers, heads, len(read), len(read))
    assert seen.kinds["decoder"].weights.shape == (layers, heads, len(written), len(written))
    assert cross.shape == (layers, heads, len(written), len(read))
    assert "".join(written[:-1]).strip() == before.strip()
    for kind in seen.kinds.values():
        assert torch.allclose(kind.weights.sum(-1), torch.ones(kind.weights.shape[:-1]), atol=1e-5)


def test_a_forced_target_is_what_is_looked_at(translator):
    seen = translator.look("The dog sleeps.", target="Le chat mange.")
    assert repr(seen).startswith("<Inspection of a model to translate: 'The dog sleeps.' -> 'Le chat mange.', cross")
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
    lines = draw_terminal([[0.1, 0.8, 0.1], [0.9, 0.05, 0.05]], ["ein", "Haus"], ["a", "big", "house"], 80).splitlines()
    assert lines[:3] == ["      a  big house", " ein     ███", "Haus  ██"]
    assert lines[3].startswith("Rows attend to columns")


@pytest.mark.parametrize("room", [40, 60, 100])
def test_a_terminal_map_is_as_wide_as_the_terminal_and_shows_every_column(room):
    columns = [f"word{place}" for place in range(30)] + ["<|endoftext|>", "東京は", "שלום"]
    rows = ["hop 1", "a rather long label of a row that nobody needs in full"]
    drawn = draw_terminal([[1.0] * 33] * 2, rows, columns, room)
    assert max(map(width, drawn.splitlines()[:-1])) <= room
    shaded = [line for line in drawn.splitlines() if line.startswith(" ") and "█" in line]
    assert sum(len(line.split("  ")[-1].split()) for line in shaded) == 33
    story = draw_terminal([[0.9, 0.1, 0.0]], ["hop 1"], ["Brian is a frog.", "Lily is gray.", "x"], room)
    assert story.splitlines()[1].split("  ")[0] == "Brian is a frog." and story.splitlines()[-1].startswith("Columns")


def test_hostile_labels_are_shown_as_text():
    labels = ["<script>alert(1)</script>", '"&', "\x1b[31m", "a\nb", ""]
    weights = [[0.2] * 5] * 5
    svg = draw_svg(weights, labels, labels)
    assert "<script" not in svg and "&lt;script&gt;" in svg and "\x1b" not in svg
    assert len(re.findall("<rect x", svg)) == 25
    terminal = draw_terminal(weights, labels, labels, 120)
    assert "\x1b" not in terminal and len(terminal.splitlines()) == 1 + 5 + 1


def test_what_is_looked_at_is_what_the_engine_said_token_by_token(translator):
    for beam in (1, 4):
        found = translator.translate("The old dog sleeps in the garden.", beam=beam)
        seen = translator.look("The old dog sleeps in the garden.", beam=beam)
        assert seen.answer == found.text and seen.kinds["cross"].rows == [*found.tokens, "</s>"]
        logs = sum(math.log(score.probability) for score in seen.token_scores)
        assert logs == pytest.approx(found.score, abs=1e-3)
        assert seen.alignment == translator.translate(seen.text, beam=beam, alignments=True).alignment


def test_probabilities_are_those_of_the_model_and_the_last_layer_of_the_logit_lens_agrees(translator):
    seen = translator.look("The dog sleeps.")
    for place, score in enumerate(seen.token_scores):
        assert score.place == place and score.token == seen.kinds["cross"].rows[place]
        probabilities = [p for _, p in score.alternatives]
        assert probabilities == sorted(probabilities, reverse=True) and sum(probabilities) <= 1 + 1e-5
        last = seen.logit_lens[-1][place]
        assert [token for token, _ in last] == [token for token, _ in score.alternatives[:3]]
        assert [p for _, p in last] == pytest.approx(probabilities[:3], rel=1e-4)
    assert len(seen.logit_lens) == 3  # what goes in, and two layers


def test_words_look_as_their_tokens_do(translator):
    seen = translator.look("The grandmother sleeps.", target="La grand-mère dort.")
    kind = seen.kinds["cross"]
    rows, columns = seen.labels("cross", words=True)
    assert rows == ["La", "grand-mère", "dort.", "</s>"] and columns == ["The", "grandmother", "sleeps.", "</s>"]
    tokens, words = (torch.tensor(seen.map("cross", 1, 1, words=by)) for by in (False, True))
    assert torch.allclose(words.sum(1), torch.ones(4), atol=1e-5)
    mine = [place for place, word in enumerate(kind.row_words) if word == 1]
    theirs = [place for place, word in enumerate(kind.column_words) if word == 1]
    assert words[1, 1] == pytest.approx(float(tokens[mine][:, theirs].sum(1).mean()), abs=1e-6)


def test_a_head_that_is_silenced_says_nothing_and_then_speaks_again(translator):
    model = translator.model
    ids = torch.tensor([translator.tokenizer.encode("The dog sleeps.")])
    target = torch.tensor([[model.start_id, 5, 6]])
    with torch.inference_mode():
        before = model(ids, target)
        with silence(model, "decoder.blocks.1.cross_attention", 2):
            muted = model(ids, target)
        weights = model.state_dict()
        name = "decoder.blocks.1.cross_attention.output.weight"
        kept = weights[name].clone()
        width = model.config.width // 4
        weights[name][:, 2 * width : 3 * width] = 0  # the same by hand: its columns of the output bring nothing
        by_hand = model(ids, target)
        weights[name].copy_(kept)
        assert torch.equal(model(ids, target), before)
    assert not torch.allclose(muted, before) and torch.allclose(muted, by_hand, atol=1e-6)


def test_leaving_a_word_out_costs_what_scoring_without_it_says(translator):
    text, target = "The old dog sleeps.", "Le vieux chien dort."
    seen = translator.look(text, target=target, why=True)
    without = translator.look("The dog sleeps.", target=target)
    place = seen.kinds["cross"].columns.index(" old")
    for row, (score, other) in enumerate(zip(seen.token_scores, without.token_scores, strict=True)):
        lost = math.log(score.probability) - math.log(other.probability)
        assert seen.why.left_out[row][place] == pytest.approx(lost, abs=1e-3)
    heads = {(off.kind, off.layer, off.head) for off in seen.why.off}
    assert heads == {
        (kind, layer, h) for kind in ("cross", "encoder", "decoder") for layer in (1, 2) for h in (1, 2, 3, 4)
    }
    off = seen.why.off[0]
    assert off.loss == pytest.approx(sum(
        math.log(score.probability) - math.log(p) for score, p in zip(seen.token_scores, off.probabilities, strict=True)
    ) / len(seen.token_scores), abs=1e-4)  # fmt: skip


def test_the_gradient_is_the_slope_of_the_answer(translator):
    seen = translator.look("The dog sleeps.", why=True)
    model, tokenizer = translator.model, translator.tokenizer
    ids = tokenizer.encode("The dog sleeps.")
    start = torch.tensor([[model.start_id, *tokenizer.encode(seen.answer)[:-1]]])
    label, step, place = tokenizer.encode(seen.answer)[0], 1e-3, 1
    vector = model.embedding.table(torch.tensor([ids]))

    def chance(scale):
        moved = vector.clone()
        moved[0, place] *= 1 + scale
        calls = iter([moved])
        hook = model.embedding.table.register_forward_hook(lambda *_: next(calls, None))
        try:
            with torch.inference_mode():
                return float(model.logits(model(torch.tensor([ids]), start))[0, 0].double().log_softmax(-1)[label])
        finally:
            hook.remove()

    slope = (chance(step) - chance(-step)) / (2 * step)
    assert seen.why.gradient[0][place] == pytest.approx(slope, rel=0.05, abs=2e-4)


def test_writers_fillers_and_answerers_have_probabilities_and_attributions_too(
    writer_folder, filler_folder, answerer_folder
):
    writer = regard.load(writer_folder).look("The old dog.", why=True)
    rows = writer.kinds["text"].rows
    assert [score.token for score in writer.token_scores] == rows[1:] and len(writer.why.left_out) == len(rows) - 1
    assert all(cost == pytest.approx(0, abs=1e-5) for cost in writer.why.left_out[0][2:])  # the later is not seen
    filler = regard.load(filler_folder)
    seen = filler.look("The [MASK] dog [MASK].", why=True)
    filled = filler.fill("The [MASK] dog [MASK].", top=8)
    gaps = [place for place, token in enumerate(seen.kinds["text"].rows) if token == "[MASK]"]
    assert [score.place for score in seen.token_scores] == seen.why.rows == gaps and seen.answer == filled.text
    for score, gap in zip(seen.token_scores, filled.gaps, strict=True):
        assert [token.strip() for token, _ in score.alternatives] == [one.text for one in gap]
    answerer = regard.load(answerer_folder)
    tale = ["Brian is a frog.", "Brian is yellow.", "Greg is a frog."]
    seen = answerer.look("What color is Greg?", tale, why=True)
    answer = answerer.answer(tale, "What color is Greg?")
    assert seen.answer == answer.text
    assert torch.allclose(torch.tensor(seen.map("hops")), torch.tensor(answer.hops))
    without = dict(answerer.probabilities(tale[:1] + tale[2:], "What color is Greg?"))[answer.text]
    assert seen.why.left_out[0][1] == pytest.approx(answer.probability - without, abs=1e-6)


def test_rollout_mixes_layers_and_keeps_every_row_a_share(translator):
    seen = translator.look("The old dog sleeps.")
    for name in seen.kinds:
        rows = seen.facts[name]["rollout"].sum(-1)
        assert torch.allclose(rows, torch.ones(len(rows)), atol=1e-4)
    weights = seen.kinds["encoder"].weights.mean(1)
    eye = torch.eye(weights.shape[-1])
    expected = (0.5 * weights[1] + 0.5 * eye) @ (0.5 * weights[0] + 0.5 * eye)
    assert torch.allclose(seen.facts["encoder"]["rollout"], expected, atol=1e-6)


def test_spread_and_sinks_are_told_apart():
    even, stuck = torch.full((6, 8), 1 / 8), torch.zeros(6, 8)
    stuck[:, 3] = 1
    assert spread(torch.stack([even, stuck])[None]).tolist() == [[pytest.approx(1.0), pytest.approx(0.0)]]
    assert find_sink(even) is None and find_sink(stuck) == 3 and find_sink(stuck[:2]) is None


def test_what_was_seen_is_written_as_numbers_and_pictures(translator, tmp_path):
    seen = translator.look("The dog sleeps.")
    for ending in (".json", ".svg", ".html", ".png"):
        seen.save(tmp_path / f"a{ending}")
    told = json.loads((tmp_path / "a.json").read_text())
    assert torch.allclose(torch.tensor(told["kinds"]["cross"]["weights"]), seen.kinds["cross"].weights, atol=1e-6)
    assert told["answer"] == seen.answer and (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "srcdoc=" in seen._repr_html_()
    with pytest.raises(regard.ConfigError, match=r"does not end in \.html"):
        seen.save(tmp_path / "a.bmp")


@pytest.mark.parametrize("ending", [".json", ".svg", ".html", ".png"])
def test_only_files_that_were_written_here_are_replaced(translator, tmp_path, ending):
    seen, path = translator.look("The dog sleeps."), tmp_path / f"a{ending}"
    seen.save(path)
    seen.save(path)  # twice in a row is fine
    own = path.read_bytes()
    link = tmp_path / f"link{ending}"
    link.symlink_to(path)
    for theirs in (b"mine", b"{}", b"<svg></svg>", b"<html></html>", b"\x89PNG\r\n\x1a\n"):
        path.write_bytes(theirs)
        for name in (path, link):
            with pytest.raises(regard.ConfigError, match="was not made by regard; move it away"):
                seen.save(name)
        assert path.read_bytes() == theirs and link.is_symlink()
    path.write_bytes(b"")  # as `mktemp` leaves it
    seen.save(path)
    assert path.read_bytes() == own


def test_a_marked_picture_is_still_a_picture(translator, tmp_path):
    """Every chunk of a PNG has its length and its checksum."""
    import zlib

    translator.look("The dog sleeps.").save(tmp_path / "a.png")
    content, names, place = (tmp_path / "a.png").read_bytes(), [], 8
    while place < len(content):
        length = int.from_bytes(content[place : place + 4])
        names.append(content[place + 4 : place + 8])
        body = content[place + 4 : place + 8 + length]
        assert zlib.crc32(body) == int.from_bytes(content[place + 8 + length : place + 12 + length])
        place += 12 + length
    assert names[:2] == [b"IHDR", b"tEXt"] and names[-1] == b"IEND" and place == len(content)


def test_sentences_are_looked_at_one_by_one_and_attend_to_nothing_in_each_other(translator):
    texts = ["The old dog sleeps.", "A cat sees the red house."]
    one, other = (translator.look(text, why=True) for text in texts)
    both = translator.look(" ".join(texts), why=True)
    assert both.answer == f"{one.answer} {other.answer}" == translator(" ".join(texts))
    assert both.alignment == translator.translate(" ".join(texts), alignments=True).alignment
    for name, kind in both.kinds.items():
        rows, columns = len(one.kinds[name].rows), len(one.kinds[name].columns)
        assert torch.equal(kind.weights[..., :rows, :columns], one.kinds[name].weights)
        assert torch.equal(kind.weights[..., rows:, columns:], other.kinds[name].weights)
        assert not kind.weights[..., :rows, columns:].any() and not kind.weights[..., rows:, :columns].any()
    assert [score.token for score in both.token_scores] == list(both.kinds["cross"].rows)
    assert [score.place for score in both.token_scores] == list(range(len(both.token_scores)))
    assert len(both.logit_lens[0]) == len(both.why.left_out) == len(both.kinds["cross"].rows)
    assert both.labels(words=True)[1] != one.labels(words=True)[1] and "cross" in both.facts


def test_what_cannot_be_looked_at_is_told(translator):
    with pytest.raises(regard.ConfigError, match="is blank"):
        translator.look("  ")
    with pytest.raises(regard.ConfigError, match=r"translated in \d+ parts"):
        translator.look("the old dog sleeps in the garden, " * 30)
    with pytest.raises(regard.ConfigError, match=r"more than 1024 tokens in 200 parts"):
        translator.look("The old dog sleeps in the garden. " * 200)
    with pytest.raises(regard.ConfigError, match="only a translator"):
        dataclasses.replace(translator.look("The dog."), aligning=None).map("cross", head="alignment")
