"""The short form of bench/interop.py: random models over all options, opened here and there; equal or refused."""

import pytest
import torch

transformers = pytest.importorskip("transformers")
pytest.importorskip("ctranslate2")
from interop import outcome_of  # noqa: E402
from ours import draw_one  # noqa: E402
from strangers import KINDS, draw_folder  # noqa: E402


@pytest.fixture(autouse=True)
def _quiet():
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()


@pytest.mark.parametrize("architecture", KINDS)
def test_random_folders_of_transformers_are_equal_here_or_refused(architecture, tmp_path):
    seen = []
    for seed in range(100, 140):
        folder = tmp_path / str(seed)
        try:
            what = draw_folder(folder, seed, architecture)
        except Exception:
            continue  # no such model there
        outcome = outcome_of(folder, tmp_path)
        if outcome is None:
            continue
        assert outcome.startswith(("equal", "refused")), f"{what}: {outcome}"
        seen.append(outcome)
        if len(seen) == 4:
            break
    assert seen


@pytest.mark.parametrize("seed", range(0, 24, 4))
def test_random_models_of_ours_are_equal_there_or_say_that_they_are_our_own(seed, tmp_path):
    for number in range(seed, seed + 4):
        what, outcome = draw_one(tmp_path / str(number), number)
        assert outcome.startswith(("equal", "our own layout", "refused")), f"{what}: {outcome}"


@torch.no_grad()
def test_a_filler_of_every_activation_is_a_bert_of_that_activation(tmp_path):
    from regard.config import ModelConfig
    from regard.formats import bert
    from regard.model.transformer import MaskedLM

    for activation in ("relu", "gelu", "gelu_new", "silu"):
        config = ModelConfig(
            kind="bert",
            vocab_size=30,
            width=8,
            heads=2,
            ffn_width=12,
            layers=1,
            activation=activation,
            norm="post",
            positions="learned",
            max_positions=16,
            dropout=0.0,
        )
        ours = MaskedLM(config, 0).eval()
        for parameter in ours.parameters():
            parameter.normal_()
        theirs = transformers.BertForMaskedLM(transformers.BertConfig(**bert.export_config(config, 0))).eval()
        theirs.load_state_dict(bert.export_weights(ours.state_dict()), strict=False)
        ids = torch.arange(1, 13)[None]
        assert torch.allclose(ours.logits(ours(ids)), theirs(input_ids=ids).logits, atol=1e-4)
