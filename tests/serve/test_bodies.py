"""Bodies of requests: what is too much to be read, and the key in them."""

import json
import re
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.serve import limits
from regard.serve.guard import _key_in
from regard.serve.limits import RequestError, check_shape

TEXT_IN_JSON = re.compile(rb'"(?:[^"\\]|\\.)*"')
SOME_TEXT = st.text('\\"a,[:', max_size=9)
SOME_JSON = st.recursive(
    st.none() | st.integers() | SOME_TEXT, lambda inner: st.lists(inner) | st.dictionaries(SOME_TEXT, inner)
)


@given(SOME_JSON, st.integers(0, 9), st.integers(0, 60))
def test_texts_and_what_is_between_them_are_counted_as_a_parser_reads_them(content, most_texts, most_between):
    body = json.dumps(content).encode()
    texts = TEXT_IN_JSON.findall(body)
    is_much = len(texts) > most_texts or len(body) - sum(map(len, texts)) > most_between
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("SMALL_BODY", 0), ("MOST_STRINGS", most_texts), ("MOST_STRUCTURE", most_between)):
            patch.setattr(limits, name, value)
        with pytest.raises(RequestError) if is_much else nullcontext():
            check_shape(body)


@pytest.mark.parametrize("body", [b'{"q": "x", "api_key": "key 1"}', b' \n{"api_key": "key 1"}', b"q=x&api_key=key+1"])
def test_a_key_is_found_in_json_and_in_forms(body):
    assert _key_in(body) == "key 1"


@pytest.mark.parametrize("body", [b"", b"[]", b'"', b"{", b'["api_key"]', b"api_key", b"{}&api_key=secret"])
def test_what_has_no_key_has_none(body):
    assert _key_in(body) == ""
