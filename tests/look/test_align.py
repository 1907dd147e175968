"""Which words belong together: counted by spaces, read from the step after a token, the best head chosen."""

from hypothesis import given
from hypothesis import strategies as st

from regard.data.tokens import EncodedPairs, TokenLists
from regard.engine.lexicon import learn_lexicon
from regard.interop.ctranslate2 import _bring_forward
from regard.look.align import align_words, to_pharaoh, words_of
from regard.look.heads import choose_heads
from regard.model.transformer import EncoderDecoder


@given(st.lists(st.text(alphabet="ab .\u00a0", max_size=4), max_size=12))
def test_tokens_are_counted_to_the_words_of_the_text_they_make(tokens):
    words, place = "".join(tokens).split(), 0
    for token, word in zip(tokens, words_of(tokens), strict=True):
        if token.strip():
            assert word is not None and token.split()[0] in words[word]
        else:
            assert word is None
        place += len(token)
    found = [word for word in words_of(tokens) if word is not None]
    assert found == sorted(found) and (not words or found[-1] <= len(words) - 1)


def test_a_token_is_aligned_by_the_step_after_it_and_words_by_their_tokens():
    source, target = [" a", " red", " ho", "use"], [" ein", " ro", "tes", " Haus"]
    looks = [
        [0.9, 0.0, 0.1, 0.0, 0.0],  # after "ein"
        [0.0, 0.8, 0.2, 0.0, 0.0],  # after "ro"
        [0.0, 0.7, 0.1, 0.2, 0.0],  # after "tes"
        [0.0, 0.1, 0.1, 0.3, 0.5],  # after "Haus": the end is nothing to align with
    ]
    assert to_pharaoh(align_words(looks, source, target)) == "0-0 1-1 2-2"


def test_the_chosen_heads_are_the_ones_that_find_most(translator, pairs):
    sides = [translator.tokenizer.encode_all(pairs[side].read_text().splitlines()) for side in ("source", "target")]
    lexicon = learn_lexicon(EncodedPairs(*map(TokenLists.of, sides)), translator.tokenizer.vocab_size)
    examples = list(zip(*sides, strict=True))[:40]
    chosen = choose_heads(translator.model, examples, lexicon)
    assert translator.about["alignment"].keys() == chosen.keys() and 0 < chosen["found"] < 1
    blind = choose_heads(translator.model, [(source, target[:1]) for source, target in examples], lexicon)
    assert blind["found"] == 0  # nothing was said, so nothing can be found

    other = EncoderDecoder(translator.model.config, translator.model.pad_id)  # the same with its heads in another order
    weights, order = translator.model.state_dict(), [2, 0, 3, 1]
    _bring_forward(weights, f"decoder.blocks.{chosen['layer']}.cross_attention.", order, 4)
    other.load_state_dict(weights)
    again = choose_heads(other, examples, lexicon)
    assert [order[head] for head in again["heads"]] == chosen["heads"] and again["layer"] == chosen["layer"]
