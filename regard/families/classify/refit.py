"""A classifier whose temperature is chosen learns from the texts held out, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regard.config import RunConfig
from regard.data.labelled import label_batches
from regard.families.classify.network import label_loss
from regard.model.labels import LabelAttention
from regard.text.labels import Labelled
from regard.training.lbfgs import LBFGS
from regard.training.recipe import Check, TrainBatches

STEPS = 12  # at most, from the minimum of most texts to that of all


def learn_held_out(
    model: Any, optimizer: Any, batches: TrainBatches, valid: Sequence[Labelled], config: RunConfig, check: Check
) -> None:
    """Some steps more from where the model is, on all texts; its temperature stays as it was chosen.

    optimizer: that of the run, which knows where weights began and how the loss is curved.
    """
    if not isinstance(model, LabelAttention) or not isinstance(optimizer, LBFGS):
        return  # an encoder learns in epochs, and no step of them is the last
    mine = list(label_batches(valid, config.model.labels, model.row_weights.cpu().numpy()))
    every = [batches.batch(part) for part in range(batches.batches_per_epoch)] + mine
    count, held = (sum(len(batch.labels) for batch in some) for some in (every, mine))
    again = optimizer.continued(model.parameters(), 1 - held / count)  # decay is meant for each text
    temperature = model.temperature.clone()
    model.temperature.fill_(1)
    model.train()
    for _ in range(min(STEPS, config.stop.steps or STEPS)):
        again.zero_grad()
        for batch in every:
            check()
            here = batch.to(model.table.device)
            logits = model(*here.inputs)  # (B, C)
            smoothing = config.train.label_smoothing
            (label_loss(logits, here.labels, config.model.several_labels, smoothing) / count).backward()
        again.step()
    again.settle()
    model.temperature.copy_(temperature)
    model.eval()
