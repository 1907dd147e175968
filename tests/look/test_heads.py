"""What heads do: hand-made attention is scored as defined, and a trained model records its scores."""

import json

import pytest
import torch
from typer.testing import CliRunner

import regard
from regard.cli.commands import app
from regard.look.heads import HeadScores, _cross_keys, _delimiters, _induction, _self_keys, score_text_heads
from regard.look.roles import best_role, describe_head, describe_roles

SIZE = 8
EVERY = torch.ones(SIZE, SIZE, dtype=torch.bool)
IDS = [5, 6, 7, 6, 5, 9, 9, 1]  # the last a delimiter
IS_DELIMITER = torch.tensor([number == 1 for number in IDS])


def one_hot(columns):
    return torch.nn.functional.one_hot(torch.tensor(columns), SIZE).float()


def score(*heads, may_attend=EVERY, keys=None):
    """Of one layer."""
    found = HeadScores()
    found.add("text", torch.stack(heads)[None], keys or _self_keys(IDS, IS_DELIMITER), may_attend)
    return found.roles()["text"][0]


def test_a_head_that_does_nothing_else_has_the_score_one():
    places = range(SIZE)
    heads = {
        "previous": [max(0, place - 1) for place in places],
        "next": [min(SIZE - 1, place + 1) for place in places],
        "sink": [0] * SIZE,
        "delimiter": [SIZE - 1] * SIZE,
        "position -2": [max(0, place - 2) for place in places],
        "position 0": list(places),
        "same token": [4, 3, 0, 1, 0, 6, 5, 0],
    }
    for (role, _), found in zip(heads.items(), score(*map(one_hot, heads.values())), strict=True):
        assert best_role(found) == (role, 1.0), found


def test_a_uniform_head_has_no_role_whatever_it_may_attend_to():
    for may_attend in (EVERY, EVERY.tril()):
        [found] = score(may_attend / may_attend.sum(1, keepdim=True), may_attend=may_attend)
        assert all(abs(value) < 1e-6 for value in found.values())
        assert best_role(found) is None and describe_head(found) == "no role"
    assert "next" not in found  # there is none to see


def test_a_score_is_the_share_of_what_is_possible_beyond_uniform_attention():
    uniform, previous = EVERY / SIZE, one_hot([0, *range(SIZE - 1)])
    [found] = score(0.5 * uniform + 0.5 * previous)
    assert found["previous"] == pytest.approx(0.5, abs=1e-3)
    [away] = score(one_hot([SIZE - 1] * SIZE))
    assert away["previous"] < 0.0  # less than uniform attention, but for the last row


def test_induction_is_the_token_after_the_same_one_before():
    #      begin a b c a b c end: from the second a to the first b, and so on
    keys = _induction(SIZE, 1, 3)
    [found] = score(one_hot([0, 0, 0, 0, 2, 3, 4, 0]), keys=keys)
    assert found == {"induction": 1.0}
    assert keys["induction"].nonzero().tolist() == [[4, 2], [5, 3], [6, 4]]


def test_a_head_that_follows_the_word_alignment_aligns(tokenizer):
    swapped = torch.tensor([1, 0, 3, 2])  # the source word of each word of the target

    class Lexicon:
        def of(self, source, target):
            return torch.nn.functional.one_hot(swapped, 4).float().numpy()

    own, after, flat = torch.zeros(5, 5), torch.zeros(5, 5), torch.full((5, 5), 0.2)
    own[torch.arange(4), swapped] = after[torch.arange(1, 5), swapped] = 1.0
    source, target = (
        [*tokenizer.encode(text)[:4], tokenizer.end_id] for text in ("the old dog sleeps", "un chat voit le")
    )
    keys = _cross_keys(source, target, _delimiters(source, tokenizer), tokenizer, Lexicon())
    found = HeadScores()
    found.add("cross", torch.stack([own, after, flat])[None], keys, torch.ones(5, 5, dtype=torch.bool))
    of_own, of_after, of_flat = found.roles()["cross"][0]
    assert best_role(of_own) == ("aligning", 1.0) and best_role(of_flat) is None
    assert best_role(of_after) == ("aligning the word before", 1.0)


def test_a_trained_model_knows_what_its_heads_do(folder, filler_folder, writer_folder):
    of_pairs, of_text = {"cross", "encoder", "decoder"}, {"text"}
    for path, kinds in ((folder, of_pairs), (filler_folder, of_text), (writer_folder, of_text)):
        model = regard.load(path)
        roles, config = model.info.head_roles, model.model.config
        assert roles.keys() == kinds
        for layers in roles.values():
            assert len(layers) == config.layers and {len(heads) for heads in layers} == {config.heads}
            assert all(-1.0 <= value <= 1.0 for heads in layers for scores in heads for value in scores.values())
        assert json.loads((path / "regard.json").read_text())["head_roles"] == roles
    assert all("induction" in scores for heads in roles["text"] for scores in heads)
    assert "aligning" in regard.load(folder).info.head_roles["cross"][0][0]


def test_reading_the_same_text_again_gives_the_same_scores(writer_folder):
    writer = regard.load(writer_folder, engine="torch")
    texts = [writer.encode_text("The dog sees a cat."), writer.encode_text("A cat sees the dog.")]
    first, second = (score_text_heads(writer.model, writer.tokenizer, texts, is_causal=True) for _ in range(2))
    assert first == second and first["text"][0][0]
    assert score_text_heads(writer.model, writer.tokenizer, [], is_causal=True) == {}


def test_roles_are_shown_with_their_scores_and_never_alone(folder, tmp_path):
    run = CliRunner()
    shown = run.invoke(app, ["info", str(folder)])
    roles = regard.load(folder).info.head_roles
    assert shown.exit_code == 0 and f"\nheads      {describe_roles(roles)}" in shown.stdout
    one = run.invoke(app, ["look", str(folder), "The dog sees a cat.", "--layer", "2", "--head", "1"])
    assert f"cross, layer 2, head 1: {describe_head(roles['cross'][1][0])}" in one.stdout
    seen = regard.load(folder).look("The dog sees a cat.")
    seen.save(tmp_path / "look.json")
    assert json.loads((tmp_path / "look.json").read_text())["head_roles"] == roles


def test_a_folder_without_scores_opens_as_before(folder, tmp_path):
    regard.load(folder).save(tmp_path / "old")
    about = json.loads((tmp_path / "old" / "regard.json").read_text())
    del about["head_roles"]
    (tmp_path / "old" / "regard.json").write_text(json.dumps(about))
    old = regard.load(tmp_path / "old")
    assert old.info.head_roles is None and old.look("The dog.").head_roles is None
    assert "\nheads" not in CliRunner().invoke(app, ["info", str(tmp_path / "old")]).stdout
