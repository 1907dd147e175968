"""Draws folders as `transformers` saves them: an architecture, every option of its config, generation and tokenizer
files at random, random weights (biases, norms and padding too). Used by bench/interop.py and
its short form in the tests.
"""

import json
import random
from pathlib import Path
from typing import Any

import torch
import transformers
from splitters import SEQ2SEQ, draw_tokenizer

KINDS = {
    "GPT2LMHeadModel": "GPT2Config",
    "LlamaForCausalLM": "LlamaConfig",
    "BertForMaskedLM": "BertConfig",
    "BertForPreTraining": "BertConfig",
    "BertModel": "BertConfig",
    "BertGenerationEncoder": "BertGenerationConfig",
    "BertGenerationDecoder": "BertGenerationConfig",
    "EncoderDecoderModel": "EncoderDecoderConfig",
    "MarianMTModel": "MarianConfig",
    "PegasusForConditionalGeneration": "PegasusConfig",
}
ACTIVATIONS = (
    "relu",
    "gelu",
    "gelu_new",
    "silu",
    "swish",
    "gelu_pytorch_tanh",
    "gelu_fast",
    "gelu_python",
    "tanh",
    "quick_gelu",
    "mish",
)


def draw_folder(folder: Path, seed: int, architecture: str | None = None) -> str:
    """Saves a model of this seed; what was drawn, in words. Raises what `transformers` raises, if it does."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    architecture = architecture or rng.choice(list(KINDS))
    description: list[str] = [architecture]
    rows, roles = draw_tokenizer(folder, rng, architecture, description)
    config = draw_config(rng, architecture, rows + rng.choice([0, 0, 0, 5, 19]), roles, description)
    model = getattr(transformers, architecture)(config)
    randomize(model, rng, roles)
    dtype = rng.choice([torch.float32] * 4 + [torch.bfloat16, torch.float16])
    description.append(str(dtype).removeprefix("torch."))
    model.to(dtype).eval().save_pretrained(folder, max_shard_size=rng.choice(["5GB", "5GB", "20KB"]))
    edit_config(folder, rng, description)
    draw_generation(folder, rng, architecture, config, roles, description)
    return ", ".join(description)


def draw_config(rng: random.Random, architecture: str, rows: int, roles: dict[str, int], description: list[str]) -> Any:
    kind = getattr(transformers, KINDS[architecture])
    if architecture == "EncoderDecoderModel":
        sides = [
            draw_config(rng, one, rows, roles, description)
            for one in ("BertGenerationEncoder", "BertGenerationDecoder")
        ]
        if rng.random() < 0.9:
            sides[1].hidden_size, sides[1].num_attention_heads = sides[0].hidden_size, sides[0].num_attention_heads
        config = (
            kind.from_encoder_decoder_configs(*sides)
            if rng.random() < 0.9
            else kind(encoder=sides[0].to_dict(), decoder=sides[1].to_dict())
        )
        config.decoder_start_token_id, config.pad_token_id = roles["bos"], roles["pad"]
        return config
    ids = {f"{role}_token_id": number for role, number in roles.items() if role in ("bos", "eos", "pad")}
    shape = _draw_shape(rng, architecture, roles)
    shape |= {"vocab_size": rows} | ids
    for name in rng.sample(sorted(n for n in vars(kind()) if n[0] != "_"), k=rng.choice([0, 1, 1, 2, 3])):
        value = another(rng, name, vars(kind())[name])
        if name not in shape and value is not None:
            shape[name] = value
            description.append(f"{name}={value}")
    return kind(**shape)


def _draw_shape(rng: random.Random, architecture: str, roles: dict[str, int]) -> dict[str, Any]:
    """The options of an architecture that are always set: small sizes, and what changes the computation."""
    heads, layers = rng.choice([1, 2, 4]), rng.choice([1, 1, 2])
    width, ffn_width = heads * rng.choice([4, 6, 8, 8, 5]), rng.choice([12, 24, 17])
    width = width if width >= 8 else 8
    act, places = rng.choice(ACTIVATIONS[:7]), rng.choice([24, 40, 64])
    if architecture == "GPT2LMHeadModel":
        return {
            "n_embd": width,
            "n_layer": layers,
            "n_head": heads,
            "n_positions": places,
            "n_inner": rng.choice([None, ffn_width]),
            "activation_function": act,
            "tie_word_embeddings": rng.random() < 0.7,
        }
    if architecture in SEQ2SEQ:
        shape: dict[str, Any] = {
            "d_model": width,
            "activation_function": act,
            "max_position_embeddings": places,
            "scale_embedding": rng.random() < 0.85,
            "decoder_start_token_id": rng.choice([roles["pad"]] * 2 + [roles["bos"]]),
            "forced_eos_token_id": rng.choice([None, roles["eos"]]),
            "tie_word_embeddings": rng.random() < 0.85,
        }
        for side in ("encoder", "decoder"):
            shape |= {
                f"{side}_layers": layers if side == "encoder" else rng.choice([1, layers]),
                f"{side}_attention_heads": heads,
                f"{side}_ffn_dim": ffn_width,
            }
        return shape
    shape = {
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": ffn_width,
        "hidden_act": act,
        "max_position_embeddings": places,
        "tie_word_embeddings": rng.random() < 0.8,
    }
    if architecture == "LlamaForCausalLM":
        shape |= {
            "num_key_value_heads": rng.choice([None, heads, 1]),
            "head_dim": rng.choice([None, width // heads]),
            "rope_parameters": rng.choice(
                [
                    None,
                    {"rope_type": "default", "rope_theta": 500.0},
                    {"rope_theta": 77.0},
                    {"type": "linear", "factor": 4.0},
                ]
            ),
        }
    if architecture == "BertGenerationDecoder":
        shape |= {"is_decoder": rng.random() < 0.95, "add_cross_attention": rng.random() < 0.95}
    return shape


def another(rng: random.Random, name: str, default: Any) -> Any:
    """Another value of an option, of the same kind as its default."""
    if isinstance(default, bool):
        return not default
    if name in ("architectures", "dtype", "transformers_version", "id2label", "label2id", "problem_type"):
        return None
    if isinstance(default, int):
        return default + rng.choice([-1, 1, 2, 3])
    if isinstance(default, float):
        return rng.choice([default * 2, default + 0.1, 0.03])
    if isinstance(default, str):
        return rng.choice([*ACTIVATIONS, "other"])
    return rng.choice([None, 0, 1, 2])


def randomize(model: Any, rng: random.Random, roles: dict[str, int]) -> None:
    """Nothing stays zero or one by chance of the start; the row of padding is nothing, or anything."""
    with torch.no_grad():
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            if tensor.is_floating_point() and "embed_positions" not in name and "inv_freq" not in name:
                tensor.add_(torch.randn_like(tensor) * (0.7 if tensor.ndim == 2 else 0.3))
                if tensor.ndim == 2 and rng.random() < 0.4 and ("shared" in name or "embed_tokens" in name):
                    tensor[roles["pad"]] = 0


def edit_config(folder: Path, rng: random.Random, description: list[str]) -> None:
    """Keys that are gone or null, forms of older versions, and unknown keys."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    kind = rng.choice(["", "", "", "gone", "null", "old", "unknown"])
    if kind in ("gone", "null"):
        for name in rng.sample(sorted(set(config) - {"architectures", "model_type"}), k=2):
            config.pop(name)
            if kind == "null":
                config[name] = None
            description.append(f"{name} {kind}")
    elif kind == "old":
        rope = config.pop("rope_parameters", None)
        if rope:
            config |= rng.choice(
                [
                    {"rope_theta": rope["rope_theta"], "rope_scaling": None},
                    {"rope_scaling": rope},
                    {"rope_theta": rope["rope_theta"], "rope_scaling": {"rope_type": "default"}},
                    {"rope_theta": 9.0, "rope_parameters": {"rope_type": "default"}},
                ]
            )
        config["torch_dtype"] = config.pop("dtype", "float32")
        if "n_embd" in config:
            config |= {"n_ctx": config["n_positions"], "hidden_size": config.pop("n_embd")}
        if "d_model" in config:
            config |= {
                "num_hidden_layers": config["encoder_layers"],
                "normalize_before": rng.random() < 0.5,
                "static_position_embeddings": True,
                "add_final_layer_norm": rng.random() < 0.5,
                "num_beams": 6,
                "bad_words_ids": [[config["pad_token_id"]]],
                "max_length": 512,
            }
        description.append("old keys")
    elif kind == "unknown":
        name, value = rng.choice(
            [
                ("residual_scale", 2.0),
                ("pruned_heads", {"0": [0]}),
                ("per_layer_config", {"0": {}}),
                ("position_embedding_type", "relative_key"),
                ("tie_encoder_decoder", True),
            ]
        )
        config[name] = value
        description.append(f"{name}={value}")
    path.write_text(json.dumps(config))


def draw_generation(
    folder: Path, rng: random.Random, architecture: str, config: Any, roles: dict[str, int], description: list[str]
) -> None:
    """generation_config.json: gone, or with some keys of all that there are."""
    path, kind = folder / "generation_config.json", rng.random()
    if kind < 0.2 or not path.exists():
        path.unlink(missing_ok=True)
        return
    content = {
        "bos_token_id": roles["bos"],
        "eos_token_id": rng.choice([roles["eos"]] * 3 + [[roles["eos"], 7, 9], [11], 8]),
        "pad_token_id": roles["pad"],
    }
    if architecture in (*SEQ2SEQ, "EncoderDecoderModel"):
        content |= {"decoder_start_token_id": rng.choice([roles["pad"], roles["bos"], 6])}
        content |= rng.choice([{}, {"forced_eos_token_id": roles["eos"]}, {"forced_bos_token_id": 10}])
    drawn = {
        "bad_words_ids": rng.choice([[[roles["pad"]]], [[5], [6]], [[5, 6]], [[roles["eos"]]]]),
        "num_beams": 4,
        "suppress_tokens": [3, 12],
        "max_length": 512,
        "no_repeat_ngram_size": 2,
        "repetition_penalty": 1.3,
        "min_length": rng.choice([0, 5]),
        "min_new_tokens": 3,
        "length_penalty": 0.6,
        "early_stopping": True,
        "renormalize_logits": True,
        "begin_suppress_tokens": [5],
        "sequence_bias": [[[5], -3.0]],
        "temperature": 0.7,
        "top_k": 5,
        "top_p": 0.8,
        "do_sample": True,
        "use_cache": False,
        "encoder_repetition_penalty": 1.2,
        "exponential_decay_length_penalty": [3, 1.2],
        "num_return_sequences": 1,
        "guidance_scale": 1.5,
        "remove_invalid_values": True,
        "eos_token_id": None,
        "typical_p": 0.9,
    }
    for name in rng.sample(sorted(drawn), k=rng.choice([0, 0, 1, 1, 2])):
        content[name] = drawn[name]
        description.append(f"{name}={drawn[name]}")
    path.write_text(json.dumps(content))
