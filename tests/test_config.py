"""Settings: a typo is an error, a rule names its remedy."""

import re

import pytest
from pydantic import BaseModel

from regard.config import RunConfig, differences, merge, parse_assignment, read_toml, resolve
from regard.errors import ConfigError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trian": {}}, r"no setting trian; did you mean"),
        ({"train": {"rat": 1}}, r"no setting train\.rat; did you mean train\.learning_rate\?"),
        ({"model": {"widht": 1}}, r"did you mean model\.width\?"),
        ({"model": {"zzz": 1}}, r"known here: .*model\.width"),
        ({"zzz": 1}, "known here: .*train"),
        ({"rate": 0.1}, r"there is no setting rate; did you mean train\.learning_rate\?"),
        ({"minutes": 1}, r"did you mean stop\.minutes\?"),
        ({"trian": {"rate": 0.1}}, r"no setting trian; did you mean train\.learning_rate\?"),
        ({"train": 5}, r"train=5: train is a section; name a setting of it, as in train\."),
        ({"workers": "lots"}, "workers='lots' is not a whole number of at least 1, or auto"),
        ({"model": {"width": 30, "heads": 4}}, "width=30 cannot be shared equally by heads=4; try width=32"),
        ({"model": {"width": 7, "heads": 1}}, "must be even"),
        ({"train": {"learning_rate": -1}}, r"train\.learning_rate=-1"),
        ({"train": {"learning_rate": "fast"}}, r"train\.learning_rate='fast'"),
        ({"model": {"norm": "middle"}}, "model.norm='middle' is not one of post, pre"),
        ({"text": {"vocab_size": 100}}, r"text\.vocab_size=100"),
    ],
)
def test_what_cannot_be_is_told(settings, message):
    with pytest.raises(ConfigError, match=message):
        resolve(settings)


def test_a_linear_schedule_needs_its_end():
    with pytest.raises(ConfigError, match=r"train\.decay_steps, which is None"):
        resolve({"train": {"schedule": "linear"}})


def test_words_on_the_command_line_become_values():
    assert parse_assignment("train.learning_rate=0.003") == {"train": {"learning_rate": 0.003}}
    assert parse_assignment("model.norm=pre") == {"model": {"norm": "pre"}}
    assert parse_assignment("seed=3") == {"seed": 3}
    for wrong in ("train.learning_rate", "=3", "train..rate=1"):
        with pytest.raises(ConfigError, match=r"write section\.key=value"):
            parse_assignment(wrong)


def test_toml_that_is_none_is_told(tmp_path):
    (tmp_path / "a.toml").write_text("[train\n")
    with pytest.raises(ConfigError, match="not a TOML file"):
        read_toml(tmp_path / "a.toml")
    with pytest.raises(ConfigError, match="does not exist"):
        read_toml(tmp_path / "b.toml")


def test_a_config_comes_back_from_json_and_differences_are_named():
    config = resolve({"size": "small", "train": {"learning_rate": 0.01}})
    assert RunConfig.model_validate_json(config.model_dump_json()) == config
    other = resolve(merge(config.model_dump(), {"train": {"learning_rate": 0.02}, "seed": 5}))
    assert differences(config, other) == ["seed: 1 -> 5", "train.learning_rate: 0.01 -> 0.02"]


WRONG = ["lots", "", [], {}, {"a": 1}, True, -1, 0.5, 10**30, float("nan"), float("inf"), b"x", object()]


def every_setting():
    for name, field in RunConfig.model_fields.items():
        if isinstance(field.default, BaseModel):
            yield from ((name, key) for key in type(field.default).model_fields)
        yield (name,)


@pytest.mark.parametrize("path", every_setting(), ids=".".join)
def test_every_wrong_value_of_every_setting_is_told_in_our_words(path):
    """By the whole name of the setting, with what was given; never in those of the library that checks."""
    refused = 0
    for value in WRONG:
        settings = value
        for part in reversed(path):
            settings = {part: settings}
        try:
            resolve(settings)
        except ConfigError as problem:
            refused += 1
            assert path[-1] in str(problem) or "; did you mean" in str(problem), problem
            assert not re.search("Input should|unable to|Value error|pydantic|type=|validation", str(problem)), problem
    assert refused >= (2 if path == ("task",) or path[0].endswith("language") else 4)
    assert path not in [("seed",), ("model", "layers")] or refused >= len(WRONG) - 1
