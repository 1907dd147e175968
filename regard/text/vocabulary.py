"""Learns pieces from text: byte-level BPE, characters, bytes, WordPiece, whole words. The same text, the same pieces.

Translators and writers lose nothing: the 256 bytes are in their vocabulary (a writer of characters knows those it was
trained on). Fillers and answerers read words, without case where that is asked for.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers
from tokenizers import Tokenizer as Pieces

from regard.text.tokenizer import Tokenizer

# A word with the space before it, one digit (numbers are copied digit by digit), a run of signs, or a run of spaces.
# Marks (\p{M}) belong to their word: scripts such as Devanagari write vowels with them.
WORD = r" ?[\p{L}\p{M}]+| ?\p{N}| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+"
END_OF_TEXT = "<|endoftext|>"
ENDLESS = re.compile(r"[^\s\d]{1000}")  # learning takes the square of a word's length: longer ones are broken up for it
LONGEST_WORD = 100  # letters; longer ones are unknown to a WordPiece, as BERT has it
BACK_TRANSLATED = (
    "<bt>"  # before a source that is a back-translation (Caswell et al. 2019); never split off from a text
)
BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")  # in this order from 0, as BERT has them


def learn_pairs(texts: Iterable[str], vocab_size: int, *, has_tag: bool = False) -> Tokenizer:
    """Byte-level BPE for texts that stand alone, closed by an end. has_tag: with a token that marks back-translations.

    A space is put before each text, so that a word is spelled alike at the start and inside. Ids 0 and 1 are the end
    and the unknown (never needed, but other engines ask for it); padding is the last id.
    """
    special = ["</s>", "<unk>", *([BACK_TRANSLATED] if has_tag else [])]
    pieces = Pieces(models.BPE(unk_token="<unk>"))
    pieces.normalizer = normalizers.Prepend(" ")
    pieces.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(WORD), "isolated"), _bytes()])
    pieces.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    pieces.train_from_iterator(_broken_up(texts), _merges(vocab_size - 1, special))
    pieces.add_special_tokens(["<pad>"])
    end = pieces.token_to_id("</s>")
    pieces.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", end)])
    return Tokenizer(pieces)


def learn_running(texts: Iterable[str], vocab_size: int) -> Tokenizer:
    """Byte-level BPE for running text: nothing is put before or after it. Id 0 is the end of a text.

    Pieces never reach over a line end, so that a text may be encoded line by line.
    """
    pieces = Pieces(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\n"), "merged_with_previous"),
            pre_tokenizers.Split(Regex(WORD), "isolated"),
            _bytes(),
        ]
    )
    pieces.decoder = decoders.ByteLevel()
    pieces.train_from_iterator(_broken_up(texts), _merges(vocab_size, [END_OF_TEXT]))
    return Tokenizer(pieces).opened_by(0)


def learn_bytes() -> Tokenizer:
    """The 256 bytes and the end of a text."""
    return learn_running([], 257)


def learn_characters(texts: Iterable[str]) -> Tokenizer:
    """Every character of these texts; a character never seen becomes the unknown."""
    letters = sorted({letter for text in texts for letter in text})
    names = [END_OF_TEXT, "<unk>", *letters]
    pieces = Pieces(models.WordLevel({name: number for number, name in enumerate(names)}, unk_token="<unk>"))
    pieces.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    pieces.decoder = decoders.Fuse()
    pieces.add_special_tokens([END_OF_TEXT, "<unk>"])
    return Tokenizer(pieces).opened_by(0)


def learn_wordpieces(texts: Iterable[str], vocab_size: int, *, lowercase: bool) -> Tokenizer:
    """BERT's WordPiece: words and signs, continued pieces marked by ##, a text between [CLS] and [SEP]."""
    pieces = Pieces(models.WordPiece(unk_token="[UNK]"))
    pieces.normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=False)
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pieces.decoder = decoders.WordPiece()
    reader = Tokenizer(pieces)
    words = Counter(word for text in texts for word in reader.words(text) if len(word) <= LONGEST_WORD)
    letters = sorted({letter for word in words for letter in word})
    # The trainer numbers letters as a hash map brings them, and ties go by number: named first, they have one order.
    names = [*BERT, *letters, *(f"##{letter}" for letter in letters)]
    trainer = trainers.WordPieceTrainer(
        vocab_size=max(vocab_size, len(names)), min_frequency=2, special_tokens=names, show_progress=False
    )
    learner = Pieces(models.WordPiece(unk_token="[UNK]"))
    learner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    learner.train_from_iterator((" ".join([word] * count) for word, count in sorted(words.items())), trainer)
    pieces.model = models.WordPiece(learner.get_vocab(), unk_token="[UNK]", max_input_chars_per_word=LONGEST_WORD)
    pieces.add_special_tokens(list(BERT))
    return _between_marks(pieces)


def learn_masked(texts: Iterable[str], vocab_size: int) -> Tokenizer:
    """Byte-level BPE with BERT's special pieces: nothing is unknown."""
    pieces = Pieces(models.BPE(unk_token="[UNK]"))
    pieces.normalizer = normalizers.Prepend(" ")
    pieces.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(WORD), "isolated"), _bytes()])
    pieces.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    pieces.train_from_iterator(_broken_up(texts), _merges(vocab_size, list(BERT)))
    # Spaces around a gap belong to it, as `Filler.encode` has it: each part of a text gets its own first space.
    pieces.add_special_tokens([AddedToken("[MASK]", lstrip=True, rstrip=True, normalized=False)])
    return _between_marks(pieces)


def learn_words(texts: Iterable[str], answers: Iterable[str]) -> Tokenizer:
    """Every word of these texts in lower case, signs left out, and every answer as one piece whatever is in it.

    Ids 0 and 1 are padding and the unknown.
    """
    pieces = Pieces(models.WordLevel({}, unk_token="[UNK]"))
    pieces.normalizer = normalizers.Lowercase()
    pieces.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\p{L}\p{M}\p{N}'_-]+"), "removed", invert=True)
    reader = Tokenizer(pieces)
    words = Counter(word for text in texts for word in reader.words(text))
    words.update(answers)
    names = ["[PAD]", "[UNK]", *sorted(words)]
    pieces.model = models.WordLevel({name: number for number, name in enumerate(names)}, unk_token="[UNK]")
    pieces.add_special_tokens(["[PAD]", "[UNK]"])
    return Tokenizer(pieces)


def _broken_up(texts: Iterable[str]) -> Iterator[str]:
    return (ENDLESS.sub("\\g<0>\n", text) for text in texts)


def _bytes() -> pre_tokenizers.ByteLevel:
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def _merges(vocab_size: int, special: list[str]) -> trainers.BpeTrainer:
    return trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        special_tokens=special,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )


def _between_marks(pieces: Pieces) -> Tokenizer:
    marks = [(name, pieces.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    pieces.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=marks
    )
    return Tokenizer(pieces)
