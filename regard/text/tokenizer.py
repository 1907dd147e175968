"""Text to ids and back, without loss: byte-level BPE on Hugging Face `tokenizers`. Knows nothing of models.

Every string has ids, and the ids give the string back: the 256 bytes are always in the vocabulary, a space is put
before each text so that a word is spelled alike at the start and inside, and names of special tokens in a text are
text. Ids 0 and 1 are the end and the unknown (never needed, but other engines ask for it); padding is the last id.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers
from tokenizers import Tokenizer as Pieces

from regard.errors import ConfigError, FolderError

END, UNKNOWN, PAD = "</s>", "<unk>", "<pad>"

# A word with the space before it, one digit (numbers are copied digit by digit), a run of signs, or a run of spaces.
# Marks (\p{M}) belong to their word: scripts such as Devanagari write vowels with them.
WORD = r" ?[\p{L}\p{M}]+| ?\p{N}| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+"


class Tokenizer:
    """Splits text into pieces it has learned and numbers them."""

    def __init__(self, pieces: Pieces) -> None:
        pieces.encode_special_tokens = True  # "</s>" in a text is four characters, not an end
        pieces.no_padding()
        pieces.no_truncation()
        self._pieces = pieces
        self.vocab_size: int = pieces.get_vocab_size()
        self.end_id: int = self._id(END)
        self.pad_id: int = self._id(PAD)

    @classmethod
    def learn(cls, texts: Iterable[str], vocab_size: int) -> "Tokenizer":
        """The most useful pieces of these texts, at most `vocab_size` of them; the same texts give the same pieces."""
        pieces = Pieces(models.BPE(unk_token=UNKNOWN))
        pieces.normalizer = normalizers.Prepend(" ")
        pieces.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(WORD), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        pieces.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size - 1,  # padding comes last
            min_frequency=2,
            special_tokens=[END, UNKNOWN],
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        )
        pieces.train_from_iterator(texts, trainer)
        pieces.add_special_tokens([PAD])
        end = pieces.token_to_id(END)
        pieces.post_processor = processors.TemplateProcessing(single=f"$A {END}", special_tokens=[(END, end)])
        return cls(pieces)

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """The tokenizer of a `tokenizer.json`."""
        try:
            return cls(Pieces.from_file(str(path)))
        except BaseException as problem:  # the Rust side panics with its own BaseException
            if isinstance(problem, KeyboardInterrupt | SystemExit):
                raise
            raise FolderError(f"{path} is not a tokenizer we can read: {problem}") from None

    def dump(self) -> str:
        """What belongs into `tokenizer.json`."""
        return str(self._pieces.to_str(pretty=True))

    def encode(self, text: str) -> list[int]:
        """The ids of a text, closed by the end."""
        return self.encode_all([text])[0]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, each closed by the end."""
        try:
            return [encoding.ids for encoding in self._pieces.encode_batch_fast(list(texts))]
        except (UnicodeEncodeError, TypeError):
            bad = next(text for text in texts if any("\ud800" <= letter <= "\udfff" for letter in text))
            raise ConfigError(
                f"{bad!r} has half a character (a lone surrogate); a text must be valid Unicode"
            ) from None

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these ids; end and padding are silent."""
        return str(self._pieces.decode(list(ids), skip_special_tokens=True))

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Each id as a person would read it; the space before a word is shown as the space it is."""
        return [self._show(number) for number in ids]

    def _show(self, number: int) -> str:
        piece = self._pieces.id_to_token(number) or ""
        if number in (self.end_id, self.pad_id):
            return piece
        # One piece may be part of a character: it is shown as the replacement character.
        return str(decoders.ByteLevel().decode([piece]))

    def _id(self, piece: str) -> int:
        number = self._pieces.token_to_id(piece)
        if number is None:
            raise FolderError(f"the tokenizer has no {piece}; it was not made for a translator")
        return int(number)


def choose_vocab_size(words: int) -> int:
    """A size for the joint vocabulary of this many running words: 6,000 for 0.75 million, 32,000 from 21 million on."""
    return int(min(32_000, max(600, round(7 * words**0.5 / 200) * 200)))
