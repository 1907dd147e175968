"""The named sizes have as many weights as the papers say; built on no device at all."""

import pytest
import torch

from regard.config import ModelConfig
from regard.families.fill.settings import SIZES as FILL
from regard.families.translate.settings import SIZES as TRANSLATE
from regard.formats import bert
from regard.model.transformer import EncoderDecoder, TextEncoder


@pytest.mark.parametrize(
    ("family", "size", "vocabulary", "paper"),
    [
        ("translate", "base", 37_000, 65e6),  # Vaswani et al. 2017, table 3
        ("translate", "big", 37_000, 213e6),
        ("fill", "base", 30_522, 110e6),  # Devlin et al. 2019, section 3; with a pooler that fillers do not have
        ("fill", "big", 30_522, 340e6),
    ],
)
def test_a_named_size_has_the_weights_of_its_paper(family, size, vocabulary, paper):
    settings = (TRANSLATE if family == "translate" else FILL)[size]["model"]
    with torch.device("meta"):
        if family == "translate":
            network = EncoderDecoder(ModelConfig(vocab_size=vocabulary, **settings), vocabulary - 1)
        else:
            network = TextEncoder(ModelConfig(vocab_size=vocabulary, activation="gelu", **bert.SHAPE, **settings), 0)
    assert sum(parameter.numel() for parameter in network.parameters()) == pytest.approx(paper, rel=0.04)
