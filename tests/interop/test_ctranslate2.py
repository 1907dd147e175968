"""Our beam search finds what CTranslate2's finds, so that either engine can run a model."""

import pytest

ctranslate2 = pytest.importorskip("ctranslate2")
transformers = pytest.importorskip("transformers")

from regard.engine.native import translate_ids  # noqa: E402
from regard.generate.settings import Search  # noqa: E402


@pytest.fixture(scope="module")
def engine(folder, tmp_path_factory):
    from ctranslate2.converters import TransformersConverter

    to = tmp_path_factory.mktemp("ct2") / "model"
    TransformersConverter(str(folder)).convert(str(to))
    return ctranslate2.Translator(str(to), intra_threads=1)


@pytest.mark.parametrize(("beams", "penalty"), [(1, 1.0), (2, 1.0), (4, 1.0), (4, 0.0), (5, 0.6)])
def test_both_searches_find_the_same(engine, translator, pairs, beams, penalty):
    tokenizer, limit = translator.tokenizer, 24
    lines = pairs["source"].read_text().splitlines()[:40]
    ids = tokenizer.encode_all(lines)
    n_best = beams
    ours = translate_ids(translator.model, ids, [limit] * len(ids), tokenizer.end_id, Search(beams, penalty, n_best))
    names = {number: piece for piece, number in tokenizer._pieces.get_vocab().items()}
    results = engine.translate_batch(
        [[names[i] for i in row] for row in ids],
        beam_size=beams, num_hypotheses=n_best, length_penalty=penalty, max_decoding_length=limit, return_scores=True,
    )  # fmt: skip
    for mine, theirs in zip(ours, results, strict=True):
        assert [[names[i] for i in h.ids] for h in mine] == theirs.hypotheses
        for hypothesis, score in zip(mine, theirs.scores, strict=True):
            assert hypothesis.rank(penalty) == pytest.approx(score, rel=1e-3, abs=1e-3)  # its exp is an approximation
