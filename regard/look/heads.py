"""Scores what each head does, on held-out text: which keys a role names, and how much of the attention they get.

The score of a role is (attention on its keys - what uniform attention would put there) / (1 - the same), over all rows
that have such keys: 1 is all of it, 0 is as uniform attention, below 0 less.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regard.alignment.lexical_table import LexicalTable
from regard.look.roles import Roles
from regard.look.trace import Pair, as_batch, stack
from regard.model.capture import record_attention

TEXTS, LONGEST, MOST_TOKENS = 40, 64, 1500  # that are read at most: seconds, even of a large model
OFFSETS = (-5, -4, -3, -2, 0, 2, 3, 4, 5)  # of "position"; the neighbours are roles of their own
REPEATED, REPEATS, SHORTEST = 20, 4, 4  # tokens of a sequence that is read twice; how many such; fewer say nothing
LINKED = 0.5  # a target token is aligned with a source token that is likelier than not


class HeadScores:
    """Adds up attention on the keys of each role."""

    def __init__(self) -> None:
        self._gained: dict[str, dict[str, Tensor]] = defaultdict(dict)  # kind -> role -> beyond uniform, (layers, H)
        self._possible: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))

    def add(self, kind: str, weights: Tensor, keys: dict[str, Tensor], may_attend: Tensor) -> None:
        """weights (layers, H, T, S) · keys: of each role, those it names (T, S) · may_attend (T, S)"""
        for role, named in keys.items():
            mine = named & may_attend
            uniform = mine.sum(1) / may_attend.sum(1)  # (T,)
            rows = (uniform > 0) & (uniform < 1)
            gained = ((weights * mine).sum(-1) - uniform)[..., rows].sum(-1)  # (layers, H)
            self._gained[kind][role] = self._gained[kind].get(role, torch.zeros(())) + gained
            self._possible[kind][role] += float((1 - uniform[rows]).sum())

    def roles(self) -> Roles:
        """Of each kind, layer and head, the scores; of all positions the best one only."""
        found: Roles = {}
        for kind, sums in self._gained.items():
            shares = {
                role: (gained / possible).tolist()
                for role, gained in sums.items() if (possible := self._possible[kind][role])
            }  # fmt: skip
            layers, heads = next(iter(sums.values())).shape
            found[kind] = [
                [_keep_best_position({role: share[layer][head] for role, share in shares.items()})
                 for head in range(heads)] for layer in range(layers)
            ]  # fmt: skip
        return found


def _keep_best_position(scores: dict[str, float]) -> dict[str, float]:
    positions = [role for role in scores if role.startswith("position")]
    dropped = set(positions) - {max(positions, key=scores.__getitem__, default="")}
    return {role: round(score, 3) for role, score in scores.items() if role not in dropped}


@torch.inference_mode()
def score_text_heads(model: Any, tokenizer: Any, texts: Sequence[list[int]], *, is_causal: bool) -> Roles:
    """Of a model that reads one text: kind "text"."""
    model.eval()
    longest = min(LONGEST, model.config.max_positions)
    found, cut = HeadScores(), _within([(ids[:longest],) for ids in texts if len(ids) > 1])

    def read(ids: list[int]) -> tuple[Tensor, Tensor]:
        with record_attention(model) as attention:
            model(as_batch(model, ids))
        every = torch.ones(len(ids), len(ids), dtype=torch.bool)
        return stack(attention, "stack.", "self_attention"), every.tril() if is_causal else every

    for (ids,) in cut:
        weights, may_attend = read(ids)
        found.add("text", weights, _self_keys(ids, _delimiters(ids, tokenizer)), may_attend)
    if cut:
        before, after = _marks(cut[0][0], tokenizer)
        for once in _sequences(cut, tokenizer, longest - len(before) - len(after)):
            ids = [*before, *once, *once, *after]
            weights, may_attend = read(ids)
            found.add("text", weights, _induction(len(ids), len(before), len(once)), may_attend)
    return found.roles()


@torch.inference_mode()
def score_pair_heads(model: Any, tokenizer: Any, pairs: Sequence[Pair], lexicon: LexicalTable) -> Roles:
    """Of a translator: kinds "cross", "encoder" and "decoder". pairs: ids of sources and targets, each with its end."""
    model.eval()
    found = HeadScores()

    def read(source: list[int], target: list[int]) -> dict[str, tuple[Tensor, Tensor]]:
        with record_attention(model) as attention:
            model(as_batch(model, source), as_batch(model, [model.start_id, *target[:-1]]))
        square, other = (torch.ones(len(target), size, dtype=torch.bool) for size in (len(target), len(source)))
        return {
            "cross": (stack(attention, "decoder.", "cross_attention"), other),
            "encoder": (stack(attention, "encoder.", "self_attention"), other.new_ones(len(source), len(source))),
            "decoder": (stack(attention, "decoder.", "self_attention"), square.tril()),
        }

    kept = _within([pair for pair in pairs if max(map(len, pair)) <= LONGEST])
    for source, target in kept:
        seen, given = read(source, target), [model.start_id, *target[:-1]]
        theirs, mine = _delimiters(given, tokenizer), _delimiters(source, tokenizer)
        theirs[0] = True  # the start
        keys = {
            "cross": _cross_keys(source, target, mine, tokenizer, lexicon), "encoder": _self_keys(source, mine),
            "decoder": _self_keys(given, theirs),
        }  # fmt: skip
        for kind, (weights, may_attend) in seen.items():
            found.add(kind, weights, keys[kind], may_attend)
    for once in _sequences(kept, tokenizer, min(LONGEST, model.config.longest) - 1):
        ids = [*once, *once, tokenizer.end_id]
        for kind, (weights, may_attend) in read(ids, ids).items():
            if kind != "cross":
                found.add(kind, weights, _induction(len(ids), int(kind == "decoder"), len(once)), may_attend)
    return found.roles()


def _within(texts: list[tuple[list[int], ...]]) -> list[Any]:
    """The first of them, of so many tokens at most."""
    kept: list[tuple[list[int], ...]] = []
    tokens = 0
    for one in texts[:TEXTS]:
        tokens += sum(map(len, one))
        if tokens > MOST_TOKENS and kept:
            break
        kept.append(one)
    return kept


def _self_keys(ids: list[int], is_delimiter: Tensor) -> dict[str, Tensor]:
    """Of each role between the tokens of one text, the keys of each row: (T, T)."""
    size = len(ids)
    token, itself = torch.tensor(ids), torch.eye(size, dtype=torch.bool)
    return {
        "previous": _offset(size, size, -1),
        "next": _offset(size, size, 1),
        "same token": (token[:, None] == token) & ~itself & ~is_delimiter,
        **_common_keys(size, size, is_delimiter, ~is_delimiter),
    }


def _cross_keys(
    source: list[int], target: list[int], is_delimiter: Tensor, tokenizer: Any, lexicon: LexicalTable
) -> dict[str, Tensor]:
    """Of each role between a target's steps and its source, the keys of each row: (T, S). Row t generates token t."""
    rows, columns = len(target), len(source)
    linked = torch.zeros(rows, columns, dtype=torch.bool)
    linked[:-1, :-1] = torch.from_numpy(lexicon.of(source[:-1], target[:-1]) >= LINKED)
    same = torch.tensor(target)[:, None] == torch.tensor(source)
    return {
        "aligning": linked,
        "aligning the word before": linked.roll(1, 0) & (torch.arange(rows) > 0)[:, None],
        "same token": same & ~is_delimiter,
        **_common_keys(rows, columns, is_delimiter, ~_delimiters(target, tokenizer), (-1, 1)),
    }


def _common_keys(
    rows: int, columns: int, is_delimiter: Tensor, is_word: Tensor, offsets: tuple[int, ...] = ()
) -> dict[str, Tensor]:
    """Those that any kind of attention has."""
    first = torch.zeros(rows, columns, dtype=torch.bool)
    first[:, 0] = True
    positions = {f"position {number:+d}".replace("+0", "0"): number for number in (*OFFSETS, *offsets)}
    return {
        "sink": first,
        "delimiter": is_delimiter.expand(rows, columns) & is_word[:, None],  # of a row that is a word
        **{role: _offset(rows, columns, number) for role, number in positions.items()},
    }


def _offset(rows: int, columns: int, number: int) -> Tensor:
    """The key so many places after each row's own."""
    return torch.arange(columns) - torch.arange(rows)[:, None] == number


def _induction(size: int, start: int, length: int) -> dict[str, Tensor]:
    """Of a sequence that is read twice: the token after the same one, the first time. (T, T)"""
    rows = torch.arange(size)
    is_second = (rows >= start + length) & (rows < start + 2 * length)
    return {"induction": _offset(size, size, 1 - length) & is_second[:, None]}


def _delimiters(ids: list[int], tokenizer: Any) -> Tensor:
    """Special tokens, punctuation and space, but no part of a character: (T,)."""
    special = tokenizer.special_ids
    return torch.tensor([
        number in special or not any(letter.isalnum() or letter == "\ufffd" for letter in token)
        for number, token in zip(ids, tokenizer.tokens(ids), strict=True)
    ])  # fmt: skip


def _marks(ids: list[int], tokenizer: Any) -> tuple[list[int], list[int]]:
    """The special tokens that a text begins and ends with."""
    special = tokenizer.special_ids
    return [number for number in ids[:1] if number in special], [number for number in ids[-1:] if number in special]


def _sequences(texts: Sequence[tuple[list[int], ...]], tokenizer: Any, room: int) -> list[list[int]]:
    """Tokens of the texts in random order, none twice, the same every time: what follows what cannot be guessed."""
    known = sorted({number for one in texts for number in one[0]} - set(tokenizer.special_ids))
    length = min(REPEATED, len(known), room // 2)
    if length < SHORTEST:
        return []
    random = torch.Generator().manual_seed(0)
    return [[known[place] for place in torch.randperm(len(known), generator=random)[:length]] for _ in range(REPEATS)]
