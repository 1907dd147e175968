"""Strings that a tokenizer may trip over: every script, marks, controls, all kinds of spaces, special names."""

import random

ODD = [
    *("İ", "ΑΣ ΟΔΟΣ", "Straße", "ﬁ", "ǅ", "½", "Ⅷ", "٣", "क्षि", "é", "e\u0301", "\u200d", "\ufeff", "\x85", "\u2028"),
    *("\u3000", "\xa0", "\t", "\n", "\r\n", "\n\n", "  ", " ", "</s>", "<unk>", "[MASK]", "[UNK]", "<|endoftext|>"),
    *("<pad>", "##s", "Ġ", "don't", "'s", "U.S.A.", "...", "$5", "1,000", "x²", "a_b", "x-y", "日本語", "漢", "ไทย"),
    *("한국어", "العربية", "🙂", "👩‍👩‍👧", "🏳️‍🌈", "\x00", "\x1b", "\ufffd", "\ue000", "\U000e0001", "\u0600", "\xad"),
    *("﷽", "𝔘", "a" * 150, "ä" * 101, "!" * 30),
]


def nasty_texts(count: int, words: list[str], seed: int = 0) -> list[str]:
    """So many, the same for the same seed; words: of an ordinary text."""
    chance = random.Random(seed)

    def piece() -> str:
        kind = chance.random()
        if kind < 0.45:
            return chance.choice(words)
        if kind < 0.75:
            return chance.choice(ODD)
        if kind < 0.9:
            return "".join(
                _letter(chance, chance.choice([0x250, 0x3000, 0x30000])) for _ in range(chance.randrange(1, 8))
            )
        return _letter(chance, 0x110000)

    made = ["", " ", *ODD]
    while len(made) < count:
        made.append(chance.choice(["", " "]).join(piece() for _ in range(chance.randrange(1, 12))))
    return made[:count]


def _letter(chance: random.Random, below: int) -> str:
    code = chance.randrange(below)
    return chr(code) if not 0xD800 <= code <= 0xDFFF else " "
