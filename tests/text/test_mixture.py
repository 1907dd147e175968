"""Several corpora: each as often as its weight says, none of the further ones held out, resumed only as they were."""

import warnings

import pytest
from conftest import family_settings

import regard
from regard.data.store import TokenStore
from regard.errors import ConfigError, CorpusError, RunError
from regard.families.translate.recipe import TRANSLATE, gather
from regard.text.corpus import PairFiles
from regard.text.mixture import add_corpora, each_of_all


@pytest.fixture
def corpora(tmp_path):
    """Two parallel files, and a further corpus that shares lines with them."""
    own = [(f"a{n} b", f"c{n} d") for n in range(60)]
    more = [*own[:40], *((f"x{n} y", f"z{n} d") for n in range(160))]
    files = {"source": tmp_path / "own.de", "target": tmp_path / "own.en"}
    for number, side in enumerate(files.values()):
        side.write_text("".join(f"{pair[number]}\n" for pair in own))
        (tmp_path / f"more{side.suffix}").write_text("".join(f"{pair[number]}\n" for pair in more))
    (tmp_path / "rows.tsv").write_text("".join(f"{target}\t{source}\n" for source, target in more))
    return files


def train(to, corpora, *also, steps=3, **more):
    settings = family_settings("translate", steps)
    return list(regard.training("translate", to=to, settings=settings, also=also, **corpora, **more))


def test_an_epoch_takes_each_corpus_as_often_as_its_weight_says(tmp_path, corpora):
    also = f"{tmp_path}/more.de,{tmp_path}/more.en:0.25"
    plan = next(event for event in train(tmp_path / "m", corpora, also) if isinstance(event, regard.Plan))
    assert plan.config.corpus_weights == [1.0, 0.25]
    arrays = TokenStore(tmp_path / "m" / "run").arrays()
    counts = arrays["pairs.counts"].reshape(-1, 2).sum(0)
    batches = TRANSLATE.batches(arrays, regard.load(tmp_path / "m").tokenizer, plan.config)
    rows = [len(batches.batch(position).source) for position in range(batches.batches_per_epoch)]
    assert sum(rows) == counts[0] + round(counts[1] * 0.25)


def test_what_is_held_out_comes_from_the_first_corpus_and_is_learned_from_in_none(corpora):
    folder = corpora["source"].parent
    files, _ = gather(**corpora, also=[(folder / "more.de", folder / "more.en")])
    corpus = TRANSLATE.read(files, None, regard.config.RunConfig())
    learned = corpus.examples.listed()
    held = {pair.source for pair in corpus.examples.valid}
    assert held and not held & {pair.source for pair in learned}
    assert {pair.corpus for pair in corpus.examples.valid} == {0} and {pair.corpus for pair in learned} == {0, 1}
    assert corpus.examples.count == len(learned)


def test_columns_are_those_of_files_of_rows(corpora):
    folder = corpora["source"].parent
    files, _ = gather(**corpora, also=[f"{folder}/rows.tsv:2"], columns=(2, 1))
    other = files.others[0]
    assert other.columns == (2, 1) and other.weight == 2.0 and files.columns == (2, 1)


def test_another_weight_or_corpus_is_refused_on_resume(tmp_path, corpora):
    pair = f"{tmp_path}/more.de,{tmp_path}/more.en"
    train(tmp_path / "m", corpora, f"{pair}:0.5")
    with pytest.raises(RunError, match=r"corpus_weights: \[1.0, 0.5\] -> \[1.0, 2.0\]"):
        train(tmp_path / "m", corpora, f"{pair}:2")
    with pytest.raises(RunError, match="also_1_source"):
        train(tmp_path / "m", corpora)
    events = train(tmp_path / "m", corpora, f"{pair}:0.5", steps=5)
    assert next(event for event in events if isinstance(event, regard.Plan)).step == 3


@pytest.mark.parametrize(
    ("also", "words"),
    [("a.de,a.en:0", "above 0"), ("a.de,a.en:-1", "above 0"), ("a.de,a.en:nan", "above 0"),
     ("a.de,a.en:1e300", "up to 1000"), ("a,b,c", "two parallel"), (",a", "two parallel")],
)  # fmt: skip
def test_a_corpus_that_cannot_be_meant_is_refused(also, words):
    with pytest.raises(ConfigError, match=words):
        add_corpora(PairFiles.of("a.de", "a.en"), [also])


def test_a_corpus_without_any_usable_pair_is_no_hindrance(tmp_path, corpora):
    for name in ("none.de", "none.en"):
        (tmp_path / name).write_text("\n\n")
    assert train(tmp_path / "m", corpora, f"{tmp_path}/none.de,{tmp_path}/none.en")[-1].step == 3


def test_a_further_corpus_of_the_other_direction_is_refused_and_a_folder_is_read_as_asked(tmp_path, corpora):
    files = PairFiles.of(**corpora)
    swapped = f"{tmp_path}/more.en,{tmp_path}/more.de:0.5"
    with pytest.raises(CorpusError, match=r"is read as en to de, and the first corpus is de to en; name the files"):
        add_corpora(files, [swapped])
    with pytest.raises(CorpusError, match=r"--valid-source .* is read as en to de, and the model is for de to en"):
        TRANSLATE.read(files, PairFiles(tmp_path / "more.en", tmp_path / "more.de"), regard.config.RunConfig())
    named = regard.config.RunConfig(source_language="en", target_language="de")  # as those of a teacher are
    plain = [(tmp_path / name).with_suffix(".txt") for name in ("first.src", "first.tgt")]
    for path, name in zip(plain, corpora.values(), strict=False):
        path.write_bytes(name.read_bytes())
    other = add_corpora(PairFiles(*plain), [f"{tmp_path}/more.de,{tmp_path}/more.en"])
    with pytest.raises(CorpusError, match=r"--also .* is read as de to en, and the model is for en to de; name the"):
        TRANSLATE.read(other, None, named)
    (tmp_path / "more.jsonl").write_text('{"en": "a dog", "de": "ein Hund"}\n')
    with pytest.raises(CorpusError, match=r"is read as en to de, .*; choose with --keys"):
        add_corpora(files, [tmp_path / "more.jsonl"])
    with pytest.raises(CorpusError, match="is one file, and not of rows"):
        add_corpora(files, [tmp_path / "more.de"])
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "set").mkdir()
    table = pytest.importorskip("pyarrow").table({"en": ["a dog"], "de": ["ein Hund"]})
    parquet.write_table(table, tmp_path / "set" / "part.parquet")
    both = add_corpora(files, [tmp_path / "more.jsonl", tmp_path / "set"], keys=("de", "en"))
    further = [(pair.source, pair.target) for pair in each_of_all(both) if pair.corpus]
    assert further == [("ein Hund", "a dog")] * 2


@pytest.mark.parametrize("odd", [[[]], [("more.de", "more.en", 0.5, 3)], [("more.de", "more.en", "0.5")], [(2,)]])
def test_what_is_no_further_corpus_is_refused_and_nothing_of_it_is_left_out(corpora, odd):
    with pytest.raises(ConfigError, match="is not one file of pairs, nor two parallel files"):
        add_corpora(PairFiles.of(**corpora), odd)


def test_one_further_corpus_may_be_given_by_its_name_alone(tmp_path, corpora):
    (one,) = add_corpora(PairFiles.of(**corpora), f"{tmp_path}/more.de,{tmp_path}/more.en:0.5").others
    assert one.weight == 0.5 and [path.name for path in one.paths] == ["more.de", "more.en"]


def test_a_model_is_fine_tuned_in_the_other_direction_only_if_that_is_said(tmp_path, corpora):
    compare, known = TRANSLATE.compare_start, {"source_language": "en", "target_language": "de-DE"}
    files = PairFiles.of(**corpora)  # de to en
    told = r"the text .* is read as de to en, and m translates en to de; name the files in the other order; to teach it"
    for named in ({}, {"source_language": "de"}):
        with pytest.raises(CorpusError, match=f"{told} this direction, give --source-language and --target-language"):
            compare(files, named, "m", known)
    with pytest.warns(RuntimeWarning, match="m translates en to de-DE, and is fine-tuned to translate de to en, with"):
        compare(files, {"source_language": "de", "target_language": "en"}, "m", known)
    french = PairFiles.of(corpora["target"], tmp_path / "own.fr")
    with pytest.warns(RuntimeWarning, match="m translates en to de-DE, and is fine-tuned to translate en to fr, with"):
        compare(french, {}, "m", known)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare(PairFiles.of(corpora["target"], corpora["source"]), {}, "m", known)
        compare(files, {"source_language": "en_GB", "target_language": "de"}, "m", known)  # as the model, by the user
        compare(files, {}, "m", {"source_language": "en"})
        compare(PairFiles.of(corpora["source"], tmp_path / "own.txt"), {}, "m", known)
