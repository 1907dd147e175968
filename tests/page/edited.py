"""Changes in a pass, as torch computes them: what the page's engine is compared with."""

import copy
import random
from contextlib import ExitStack

import torch
from torch import Tensor

from regard.look.attribution import silence
from regard.model.positions import Rotary
from regard.model.taps import MIXED, WEIGHTS
from regard.model.transformer import EncoderDecoder


def every_edit(columns: int) -> list[list[dict]]:
    """Every kind of change, alone, and some together."""
    cross, own = "decoder.blocks.0.cross_attention", "encoder.blocks.1.self_attention"
    place = {"name": cross, "head": 1, "row": 2}
    weight = {"what": "weight", **place, "column": random.randrange(columns), "value": random.random()}
    single = [
        {"what": "off", "name": cross, "head": 2},
        {"what": "off", "name": own, "head": 0},
        {"what": "off", "name": cross},
        {"what": "off", "name": "decoder.blocks.0.feed_forward"},
        {"what": "temperature", "name": own, "head": 3, "value": random.choice([0.3, 2.5])},
        {"what": "temperature", "name": cross, "head": 0, "value": 1e9},
        {"what": "temperature", "name": cross, "head": 0, "value": 0},
        weight,
        {"what": "positions"},
        {"what": "mask"},
    ]
    return [[one] for one in single] + [[single[0], single[4], weight, {"what": "mask"}]]


def change_and_run(model: EncoderDecoder, edits: list[dict], source: list[int], start: list[int]) -> Tensor:
    """Logits (T, V) of a translator after the changes, which a copy of it gets."""
    model = copy.deepcopy(model)
    parts = dict(model.named_modules())
    with ExitStack() as opened, torch.inference_mode():
        for edit in edits:
            if edit["what"] == "positions":
                _remove_positions(model)
            elif edit["what"] == "mask":
                masked = model.decoder.forward
                model.decoder.forward = lambda *given, masked=masked, **more: masked(
                    *given, **more | {"is_causal": False, "may_attend": None}
                )
            elif edit["what"] == "off" and "head" in edit:
                opened.enter_context(silence(model, edit["name"], edit["head"]))
            elif edit["what"] == "off":
                parts[edit["name"]].register_forward_hook(lambda _, given, found: torch.zeros_like(found))
            elif edit["what"] == "temperature":
                _temper(parts[edit["name"]], edit["head"], edit["value"] or 1e-7)  # close to argmax
            else:
                _fix(opened, parts[edit["name"]], edit)
        return model.logits(model(torch.tensor([source]), torch.tensor([start])))[0]


def _remove_positions(model: EncoderDecoder) -> None:
    for stack in (model.encoder, model.decoder):
        if isinstance(stack.positions, Rotary):
            stack.positions.cosines.fill_(1)
            stack.positions.sines.fill_(0)
        else:
            stack.positions.forward = lambda x, start=0: x


def _temper(attention: torch.nn.Module, head: int, temperature: float) -> None:
    """Scores are linear in the query: a temperature divides it."""
    with torch.no_grad():
        for part in (attention.query.weight, attention.query.bias):
            if part is not None:
                part.view(attention.heads, -1)[head] /= temperature


def _fix(opened: ExitStack, attention: torch.nn.Module, edit: dict) -> None:
    """One weight of one row as given, the others in proportion."""
    values, found = [], []
    attention.value.register_forward_hook(lambda _, given, out: values.append(out[0]))  # (S, G * K)

    def keep(module, weights):
        if module is attention:
            found.append(weights[0])
        return weights

    def mix(module, mixed):
        if module is not attention:
            return mixed
        head, row, column, value = (edit[name] for name in ("head", "row", "column", "value"))
        weights = found[-1][head, row].clone()  # (S,)
        weights *= (1 - value) / (1 - weights[column])
        weights[column] = value
        group = head * attention.kv_heads // attention.heads
        heads = mixed.clone().view(*mixed.shape[:2], attention.heads, -1)  # (B, T, H, K)
        heads[0, row, head] = weights @ values[-1].view(len(weights), attention.kv_heads, -1)[:, group]
        return heads.view(mixed.shape)

    opened.enter_context(WEIGHTS.open(keep))
    opened.enter_context(MIXED.open(mix))
