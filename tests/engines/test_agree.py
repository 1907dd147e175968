"""Both engines find the same, whatever is asked of networks that have learned nothing: empty translations too."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import regard
from regard.config import ModelConfig
from regard.decoding.settings import Search
from regard.engines.ctranslate2 import FastTranslator
from regard.engines.torch import NativeTranslator
from regard.formats.ctranslate2 import describe_translator
from regard.formats.generation import Generation
from regard.model.transformer import EncoderDecoder

END, PAD, PLACES = 0, 39, 64
PIECES = ["</s>", "<unk>", *(f"p{number}" for number in range(2, PAD)), "<pad>"]
TOLD = Generation(ends=(END,), start=PAD, suppressed=(PAD,))
ALIGNMENT = {"layer": 1, "heads": [2, 0]}


@pytest.fixture(scope="module")
def engines(tmp_path_factory):
    """A network and its copy, of each seed: some end at once, some hardly ever."""
    made = {}

    def make(seed):
        if seed not in made:
            torch.manual_seed(seed)
            norm = ("post", "pre")[seed % 2]
            config = ModelConfig(
                vocab_size=40, layers=2, width=16, heads=4, ffn_width=24, norm=norm, has_output_bias=True
            )
            model = EncoderDecoder(config, PAD).eval()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.add_(torch.randn_like(parameter) * 0.2)
                model.embedding.table.weight[PAD] = 0
                model.output_bias[END] += torch.randn(()) * 4
            to = tmp_path_factory.mktemp("copy")
            weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
            describe_translator(config, weights, PIECES, TOLD, PAD, PLACES, ALIGNMENT).save(to)
            fast = FastTranslator(to, PIECES, [END], "float32", PLACES)
            made[seed] = fast, NativeTranslator(model, [END], ALIGNMENT, PLACES)
        return made[seed]

    return make


@st.composite
def questions(draw):
    beams = draw(st.integers(1, 5))
    # With several beams, CTranslate2 cannot end right after a prefix; translators leave that to torch.
    prefix = draw(st.lists(st.integers(2, PAD - 1), max_size=3)) if beams == 1 else []
    some = st.lists(st.integers(1, PAD - 1), min_size=1, max_size=7).map(lambda ids: [*ids, END])
    sources = draw(st.lists(some, min_size=1, max_size=6))
    limits = [draw(st.integers(1, 9)) + len(prefix) for _ in sources]
    search = Search(
        beams,
        draw(st.sampled_from([0.0, 0.5, 1.0, 2.0])),
        draw(st.integers(1, beams)),
        draw(st.booleans()),
        draw(st.booleans()),
    )
    prefixes = [draw(st.sampled_from([prefix, []])) for _ in sources]  # as of the parts of a line
    return sources, limits, search, prefixes if prefix else ()


found_empty = []


@given(st.integers(0, 11), questions())
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_both_engines_find_the_same_for_every_option(engines, seed, question):
    fast, slow = engines(seed)
    mine, theirs = (dict(engine.begin(*question)()) for engine in (fast, slow))
    assert mine.keys() == theirs.keys() == set(range(len(question[0])))
    for row in mine:
        assert [(one.ids, one.is_finished) for one in mine[row]] == [(one.ids, one.is_finished) for one in theirs[row]]
        found_empty.append(not mine[row][0].ids)
        for one, other in zip(mine[row], theirs[row], strict=True):
            assert one.score == pytest.approx(other.score, rel=1e-3, abs=1e-3, nan_ok=not question[2].with_scores)
            looks = [torch.tensor(found.attention) for found in (one, other)]
            torch.testing.assert_close(*looks, rtol=1e-3, atol=1e-3)


def test_some_of_them_were_empty():
    assert any(found_empty) and not all(found_empty)


def test_a_score_is_the_sum_of_log_probabilities_with_the_end(engines):
    for seed in range(6):
        fast, slow = engines(seed)
        for engine in (fast, slow):
            for beams in (1, 3):
                found = dict(engine.begin([[5, 6, END]], [8], Search(beams, n_best=beams))())[0]
                for one in found:
                    said = [*one.ids, *([END] if one.is_finished else [])]
                    model = slow._model
                    with torch.inference_mode():
                        hidden = model(torch.tensor([[5, 6, END]]), torch.tensor([[model.start_id, *said[:-1]]]))
                        chances = model.logits(hidden)[0].log_softmax(-1).gather(1, torch.tensor([said]).T)
                    assert one.score == pytest.approx(float(chances.sum()), abs=1e-3)


def test_no_translation_is_longer_than_the_engines_have_places_for(engines):
    fast, slow = engines(0)
    for engine in (fast, slow):
        (found,) = dict(engine.begin([[5, END]], [10 * PLACES], Search(1))())[0]
        assert len(found.ids) <= PLACES


@pytest.mark.parametrize("beam", [1, 4])
def test_a_prefix_that_is_a_whole_translation_is_one_with_both_engines(folder, translator, pairs, beam):
    slow = regard.load(folder, engine="torch")
    for line in pairs["source"].read_text().splitlines()[:12]:
        whole = slow.translate(line, beam=4)
        if whole.notes:
            continue  # it found no end
        found = [one.translate(line, prefix=whole.text, beam=beam, n_best=beam) for one in (translator, slow)]
        assert [(one.text, one.tokens) for one in (found[0], *found[0].alternatives)] == [
            (one.text, one.tokens) for one in (found[1], *found[1].alternatives)
        ]
