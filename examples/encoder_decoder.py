"""An encoder, a decoder with cross-attention to it, and the way from logits to a token.

The worked example of the notes, with this library's parts: a BERT-shaped encoder reads a text, with its padding left
out; a decoder with cross-attention takes the text so far, the encoder's last hidden states and which of them are
real; every hidden state and every attention can be had; the logits of a place become probabilities, the likeliest a
token. The weights are random, so its text means nothing: give two folders of Hugging Face's to see trained ones
(`BertGenerationEncoder` and `BertGenerationDecoder`, or one plain BERT for both).

    python examples/encoder_decoder.py
    python examples/encoder_decoder.py --encoder bert-base --decoder bert-base
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

import regard
from regard.config import ModelConfig
from regard.model.masks import padding_mask
from regard.model.transformer import TextDecoder, TextEncoder
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import learn_wordpieces

VOCABULARY = 30_522  # BERT's
SHAPES = {
    "base": {"width": 768, "heads": 12, "layers": 12, "ffn_width": 3072},
    "large": {"width": 1024, "heads": 16, "layers": 24, "ffn_width": 4096},
}
BERT = {"norm": "post", "activation": "gelu", "positions": "learned", "max_positions": 512, "epsilon": 1e-12}
SHORT = {"shape": "base", "layers": 2}


@dataclass(frozen=True)
class Shown:
    """All that comes out."""

    memory: Tensor  # (1, S, D)
    logits: Tensor  # (1, T, V)
    encoder_states: list[Tensor]  # (1, S, D) each: what goes into the first layer, and what comes out of each
    decoder_states: list[Tensor]  # (1, T, D) each
    attentions: dict[str, Tensor]  # (1, H, T, S) each, by the name of the layer
    token_id: int
    token: str


def main(
    shape: str = "base", layers: int | None = None, encoder: Path | None = None, decoder: Path | None = None
) -> Shown:
    """Runs the example; fewer layers take less time and memory."""
    tokenizer, reads, decodes = from_folders(encoder, decoder) if encoder and decoder else fresh(shape, layers)
    source = torch.tensor([tokenizer.encode("The old man reads a letter.") + [tokenizer.pad_id] * 3])  # (1, S)
    target = torch.tensor([tokenizer.encode("The man reads it.")[:7]])  # (1, T): the text so far
    may_attend = padding_mask(source == tokenizer.pad_id)  # (1, 1, 1, S)
    with torch.inference_mode():
        with regard.record_hidden(reads) as read, regard.record_attention(reads) as attention:
            memory = reads(source)  # (1, S, D)
        with regard.record_hidden(decodes) as decoded, regard.record_attention(decodes) as cross_attention:
            logits = decodes.logits(decodes(target, memory, may_attend))  # (1, T, V)
    probabilities = logits[0, 0].softmax(dim=0)  # (V,) of what may follow the first token
    token_id = int(probabilities.argmax())
    token = tokenizer.tokens([token_id])[0]
    shown = Shown(
        memory, logits, read["stack"], decoded["stack"],
        {f"encoder {name}": found[0] for name, found in attention.items()}
        | {f"decoder {name}": found[0] for name, found in cross_attention.items()},
        token_id, token,
    )  # fmt: skip
    show(shown, float(probabilities[token_id]))
    return shown


def fresh(shape: str, layers: int | None) -> tuple[Tokenizer, TextEncoder, TextDecoder]:
    """Both with random weights, and a vocabulary learned from a few sentences."""
    torch.manual_seed(0)
    texts = [phrase.source for phrase in regard.phrasebook("en", "de", 2000)]
    tokenizer = learn_wordpieces(texts, 2000, lowercase=True)
    size = SHAPES[shape] | ({"layers": layers} if layers else {})
    config = ModelConfig(vocab_size=VOCABULARY, token_types=0, **BERT, **size)
    return tokenizer, TextEncoder(config, tokenizer.pad_id).eval(), TextDecoder(config, tokenizer.pad_id).eval()


def from_folders(encoder: Path, decoder: Path) -> tuple[Tokenizer, TextEncoder, TextDecoder]:
    """Trained ones; of a plain BERT, the decoder's cross-attention is fresh."""
    opened = []
    for folder, part in ((encoder, "encoder"), (decoder, "decoder")):
        try:
            opened.append(regard.load(folder))
        except regard.RegardError:
            opened.append(regard.load(folder, part=part))
    return opened[0].tokenizer, opened[0].model, opened[1].model


def show(shown: Shown, probability: float) -> None:
    """Prints what came out."""
    print("memory     ", tuple(shown.memory.shape))
    print("logits     ", tuple(shown.logits.shape))
    print("states     ", len(shown.encoder_states), "of the encoder,", len(shown.decoder_states), "of the decoder")
    print("attentions ", len(shown.attentions), "such as", next(iter(shown.attentions)))
    print("next token ", shown.token_id, repr(shown.token), f"{probability:.2%}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=list(SHAPES), default="base")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--decoder", type=Path)
    given = parser.parse_args()
    main(given.shape, given.layers, given.encoder, given.decoder)
