"""BERT base and large, Transformer base and big, in full: do the numbers agree with transformers on the same weights?

Random weights are saved by transformers and opened here. Claim: logits, every hidden state and every attention agree
to 1e-5, relative to the largest value among them (states of 24 layers reach far beyond 1); and how long a forward takes
against theirs, in turns.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from measure import arguments, record
from torch import Tensor

import regard
from regard.model.masks import padding_mask

VOCABULARY, PAD = 30_522, 0
BERT = {
    "base": {"hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 12, "intermediate_size": 3072},
    "large": {"hidden_size": 1024, "num_attention_heads": 16, "num_hidden_layers": 24, "intermediate_size": 4096},
}
TRANSFORMER = {
    "base": {"d_model": 512, "heads": 8, "layers": 6, "ffn_dim": 2048},
    "big": {"d_model": 1024, "heads": 16, "layers": 6, "ffn_dim": 4096},
}
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{number}" for number in range(VOCABULARY - 5))]
ASKED = {"output_hidden_states": True, "output_attentions": True}
TURNS = 5


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--shapes", default="bert base,bert large,transformer base,transformer big")
    given = parser.parse_args()
    for name in given.shapes.split(","):
        kind, size = name.split()
        torch.manual_seed(0)
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            record(name, (bert if kind == "bert" else transformer)(size, Path(folder)), given.json)


def bert(size: str, folder: Path) -> dict[str, Any]:
    """An encoder, and a decoder that attends to it: seven tokens, as in the worked example."""
    import transformers

    shape = BERT[size] | {"vocab_size": VOCABULARY, "bos_token_id": 2, "eos_token_id": 3, "pad_token_id": PAD}
    reads = transformers.BertGenerationEncoder(transformers.BertGenerationConfig(**shape)).eval()
    writes = transformers.BertGenerationDecoder(
        transformers.BertGenerationConfig(**shape, is_decoder=True, add_cross_attention=True)
    ).eval()
    opened = []
    for name, model in (("encoder", reads), ("decoder", writes)):
        model.save_pretrained(folder / name)
        (folder / name / "vocab.txt").write_text("\n".join(WORDS))
        opened.append(regard.load(folder / name).model)
        model.set_attn_implementation("eager")  # the only one there that returns attention weights
    encoder, decoder = opened
    source, target = torch.randint(5, VOCABULARY, (1, 12)), torch.randint(5, VOCABULARY, (1, 7))
    source[0, 9:] = PAD
    mask = (source != PAD).long()
    read = reads(input_ids=source, attention_mask=mask, **ASKED)
    output = writes(
        input_ids=target, encoder_hidden_states=read.last_hidden_state, encoder_attention_mask=mask, **ASKED
    )
    with regard.record_hidden(encoder) as states, regard.record_attention(encoder) as attention:
        encoder(source)
    real = mask.bool()[0]
    apart = {
        "encoder_states": worst([a[:, real] for a in states["stack"]], [b[:, real] for b in read.hidden_states]),
        "encoder_attentions": worst(
            [a[0][:, :, real] for a in attention.values()], [b[:, :, real] for b in read.attentions]
        ),
    }
    may_attend = padding_mask(source == PAD)
    with regard.record_hidden(decoder) as states, regard.record_attention(decoder) as attention:
        hidden = decoder(target, read.last_hidden_state, may_attend)
    logits = decoder.logits(hidden)
    assert logits.shape == (1, 7, VOCABULARY)
    crossed = [one[0] for name, one in attention.items() if "cross" in name]
    own = [one[0] for name, one in attention.items() if "self" in name]
    apart |= {
        "decoder_states": worst(states["stack"], output.hidden_states),
        "decoder_attentions": worst([*own, *crossed], [*output.attentions, *output.cross_attentions]),
        "logits": worst([logits], [output.logits]),
    }
    text = torch.randint(5, VOCABULARY, (8, 64))
    reads.set_attn_implementation("sdpa")
    return compared([reads, writes], apart, lambda: encoder(text), lambda: reads(input_ids=text))


def transformer(size: str, folder: Path) -> dict[str, Any]:
    """The paper's translator, as MarianMTModel has it."""
    import transformers

    from regard.config import ModelConfig
    from regard.formats import marian
    from regard.model.transformer import EncoderDecoder

    shape, vocabulary = TRANSFORMER[size], 37_000
    config = ModelConfig(
        vocab_size=vocabulary, width=shape["d_model"], heads=shape["heads"], layers=shape["layers"],
        ffn_width=shape["ffn_dim"], dropout=0.0,
    )  # fmt: skip
    ours = EncoderDecoder(config, vocabulary - 1).eval()
    their_config = marian.export_config(config, 0, vocabulary - 1)
    theirs = transformers.MarianMTModel(transformers.MarianConfig(**their_config)).eval()
    theirs.load_state_dict(marian.export_weights(ours.state_dict(), config, vocabulary - 1), strict=False)
    theirs.tie_weights()
    source, target = torch.randint(5, 30_000, (1, 12)), torch.randint(5, 30_000, (1, 7))
    theirs.set_attn_implementation("eager")
    output = theirs(input_ids=source, decoder_input_ids=target, **ASKED)
    with regard.record_hidden(ours) as states, regard.record_attention(ours) as attention:
        logits = ours.logits(ours(source, target))
    apart = {"logits": worst([logits[..., :-1]], [output.logits[..., :-1]])}
    for side, name in (("encoder", "encoder_hidden_states"), ("decoder", "decoder_hidden_states")):
        apart[f"{side}_states"] = worst(states[side], output[name])
    for part, name in (("encoder", "encoder_attentions"), ("decoder", "decoder_attentions")):
        found = [one[0] for where, one in attention.items() if where.startswith(part) and "self" in where]
        apart[name] = worst(found, output[name])
    crossed = [one[0] for where, one in attention.items() if "cross" in where]
    apart["cross_attentions"] = worst(crossed, output.cross_attentions)
    theirs.set_attn_implementation("sdpa")
    read, target = torch.randint(5, 30_000, (8, 32)), torch.randint(5, 30_000, (8, 32))
    return compared(
        [theirs], apart, lambda: ours(read, target), lambda: theirs.model(input_ids=read, decoder_input_ids=target)
    )


def worst(mine: Any, theirs: Any) -> float:
    """The largest difference, over the largest value there if that is more than 1."""
    pairs: list[tuple[Tensor, Tensor]] = list(zip(mine, theirs, strict=True))
    return max(float((a - b).abs().max() / b.abs().max().clamp(min=1)) for a, b in pairs)


def compared(
    models: list[Any], apart: dict[str, float], mine: Callable[[], Any], theirs: Callable[[], Any]
) -> dict[str, Any]:
    ratios = []
    for turn in range(TURNS + 1):
        own, other = seconds(mine), seconds(theirs)
        if turn:
            ratios.append(other / own)
    return {
        "weights_m": round(sum(p.numel() for model in models for p in model.parameters()) / 1e6, 1),
        "worst_difference": {name: float(f"{value:.2g}") for name, value in apart.items()},
        "agrees_to_1e_5": max(apart.values()) <= 1e-5,
        "forward_over_transformers": round(statistics.median(ratios), 2),
    }


def seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
