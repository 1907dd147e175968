"""How a model's texts begin and end, and which tokens are never generated: generation_config.json. Imports no torch.

What a call of ours sets anyway (beams, temperature, length, how many are returned) is not read here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from regard.errors import FolderError
from regard.formats.keys import Keys, take, words

FILE = "generation_config.json"
NONE = (None,)

GENERATION = Keys(
    FILE,
    "GenerationConfig",
    used=dict.fromkeys(
        ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id", "forced_bos_token_id",
         "forced_eos_token_id", "bad_words_ids", "suppress_tokens")
    ),
    only={
        "min_length": (None, 0),
        "min_new_tokens": (None, 0),
        "max_time": NONE,
        "stop_strings": (None, []),
        "repetition_penalty": (None, 1.0),
        "encoder_repetition_penalty": (None, 1.0),
        "no_repeat_ngram_size": (None, 0),
        "encoder_no_repeat_ngram_size": (None, 0),
        "exponential_decay_length_penalty": NONE,
        "begin_suppress_tokens": (None, []),
        "sequence_bias": (None, {}, []),
        "token_healing": (None, False),
        "guidance_scale": (None, 1.0),
        "watermarking_config": NONE,
        "penalty_alpha": (None, 0, 0.0),
        "dola_layers": NONE,
        "diversity_penalty": (None, 0.0),
        "num_beam_groups": (None, 1),
        "constraints": (None, []),
        "force_words_ids": (None, []),
        "forced_decoder_ids": (None, []),
        "force_bos_token_to_be_generated": (None, False),
        "custom_generate": NONE,
    },
    idle=words("""
        max_length max_new_tokens early_stopping do_sample num_beams length_penalty num_return_sequences use_mtp
        temperature top_k top_p min_p top_h typical_p epsilon_cutoff eta_cutoff renormalize_logits remove_invalid_values
        use_cache cache_implementation cache_config max_cache_len return_legacy_cache low_memory prefill_chunk_size
        output_attentions output_hidden_states output_scores output_logits return_dict_in_generate
        is_assistant num_assistant_tokens num_assistant_tokens_schedule assistant_confidence_threshold
        prompt_lookup_num_tokens max_matching_ngram_size assistant_early_exit assistant_lookbehind target_lookbehind
        assistant_ensemble_weight speculation_type compile_config disable_compile continuous_batching_config
        transformers_version chat_format trust_remote_code
    """),
)  # fmt: skip


@dataclass(frozen=True)
class Generation:
    """What decoding needs of a model beside its logits."""

    ends: tuple[int, ...]  # any of them ends a text
    begin: int | None = None  # what an empty text begins with
    start: int | None = None  # of a translator: what the decoder reads first
    first: int | None = None  # of a translator: what it must generate first
    suppressed: tuple[int, ...] = ()  # is never generated
    is_end_forced: bool = False  # of a translator: a text without an end gets one at its limit


def read_generation(content: Mapping[str, Any], file: str, size: int, *, is_translator: bool) -> Generation:
    """What the JSON of generation_config.json says; where that is missing, config.json has the same keys.

    size: rows of the table of tokens.
    """
    keys = Keys(file, GENERATION.reader, GENERATION.used, GENERATION.only, GENERATION.idle)
    if file != FILE:
        content = {name: value for name, value in content.items() if name in keys.used or name in keys.only}
    found = take(content, keys)

    def ids(name: str) -> tuple[int, ...]:
        value = found[name]
        listed = value if isinstance(value, list) else [] if value is None else [value]
        if not all(isinstance(one, int) and not isinstance(one, bool) and 0 <= one < size for one in listed):
            raise FolderError(f"{file} has {name}={value!r:.80}, and the vocabulary has ids from 0 to {size - 1}")
        return tuple(listed)

    def one(name: str) -> int | None:
        listed = ids(name)
        if len(listed) > 1:
            raise FolderError(f"{file} has {name}={found[name]!r:.80}, and only a single id is supported")
        return listed[0] if listed else None

    if not ids("eos_token_id"):
        raise FolderError(f"{file} has no eos_token_id, so no text would ever end; add the id of the model's end")
    bad = _bad_words(found["bad_words_ids"], file, size) - {*ids("eos_token_id")}  # an end is never a bad word there
    begin, first = one("bos_token_id"), one("forced_bos_token_id")
    start = one("decoder_start_token_id")
    forced = ids("forced_eos_token_id")
    if not is_translator and (first is not None or forced):
        raise FolderError(f"{file} forces a first or last token, and that is supported for translators only; take "
                          f"forced_bos_token_id and forced_eos_token_id out")  # fmt: skip
    if set(forced) - set(ids("eos_token_id")):
        raise FolderError(f"{file} has forced_eos_token_id={found['forced_eos_token_id']!r:.80}, which is none of "
                          f"eos_token_id={found['eos_token_id']!r:.80}")  # fmt: skip
    return Generation(
        ends=ids("eos_token_id"),
        begin=begin,
        start=begin if start is None else start,
        first=first,
        suppressed=tuple(sorted({*ids("suppress_tokens"), *bad})),
        is_end_forced=bool(forced),
    )


def _bad_words(value: Any, file: str, size: int) -> set[int]:
    """Words of one token each; a longer one would be forbidden only after its beginning."""
    words = value or []
    if not isinstance(words, list) or not all(isinstance(word, list) and len(word) == 1 for word in words):
        raise FolderError(f"{file} has bad_words_ids={value!r:.80}, and only words of one token are supported")
    if not all(isinstance(word[0], int) and 0 <= word[0] < size for word in words):
        raise FolderError(f"{file} has bad_words_ids={value!r:.80}, and the vocabulary has ids from 0 to {size - 1}")
    return {word[0] for word in words}
