"""Tags are lifted from a text and put back where the alignment says."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.serve.markup import Passage, lift, put_back
from regard.serve.scanner import scan


def translate(html, say):
    """With a translator that says each passage as `say` does: text -> (text, links)."""
    return "".join(part if isinstance(part, str) else put_back(part, *say(part.text)) for part in lift(html))


def same(text):
    return text, [(n, n) for n in range(len(text.split()))]


def backwards(text):
    words = text.split()
    return " ".join(reversed(words)), [(n, len(words) - 1 - n) for n in range(len(words))]


def test_tags_follow_their_words():
    html = '<p>a <b>big red</b> house &amp; <a href="x">tree</a></p>'
    assert translate(html, same) == html
    assert translate(html, backwards) == '<p><a href="x">tree</a> &amp; house <b>red big</b> a</p>'


def test_what_is_no_text_stays_as_it_was():
    html = "<!doctype html><!-- a note --><style>b { c: d }</style><pre>x  y</pre>\n<ul>\n<li>one</li></ul><?php x ?>"
    assert translate(html, lambda text: (text.upper(), [(0, 0)])) == html.replace("one", "ONE")


def test_markup_in_a_word_between_words_and_of_nothing():
    assert translate("un<b>do</b>ing it", same) == "<b>undoing</b> it"
    assert translate("a<br>b", backwards) == "<br>b a"  # before what its next word became
    assert translate("<a<b>", same) == "<a<b>"  # no tag anybody knows: as it was
    assert translate("<b></b>", same) == "<b></b>" and translate("", same) == ""
    assert translate("<i>a", same) == "<i>a" and translate("a</i>", same) == "a</i>"  # left to the browser
    assert translate("a <b>b</b> c", lambda text: ("x y", [])) == "x y<b></b>"  # nothing is linked: nothing is lost


def test_what_was_escaped_stays_escaped():
    for html in (
        "<code>&lt;script&gt;alert(1)&lt;/script&gt;</code>",
        "<pre>AT&amp;amp;T</pre>",
        "<textarea>&lt;/textarea&gt;&lt;b&gt;</textarea>",
        "<p>&lt;script&gt;</p>",
        "<script>if (a < b && c) d()</script>",
    ):
        assert translate(html, same) == html


@pytest.mark.parametrize("html", [
    "a <![x b", "<![CDATA[x <b>y</b>]]>", "<?php <b> ?>x", "</b a='>'>", "<b/>", "a<b\0c>", "</>x</3>", "<!-->a<!--->b",
    "<!--a--!><i>", "<!-- unclosed <b>x", "<b title='unclosed", "<svg><style><b>x</b></style></svg>", "<plaintext><b>x",
    "<math><mi>a</mi><mtext></math><b>c", "<script><!--<script></script><b>--></script>x", "<ſcript>", "<a b=>",
    "<noscript><!--</noscript>-->", "<select><title><!--</title>--><textarea>", "<b =x='>' / y=\">\">z</b>", "a < b <",
])  # fmt: skip
def test_all_that_is_not_text_is_copied(html):
    assert "".join(token.source for token in scan(html)) == html
    assert translate(html, same).replace("&lt;", "<").replace("&gt;", ">") == html.replace("\0\0", "")


def test_what_a_translator_says_is_never_markup():
    said = "<img src=x onerror=\"alert(1)\"> & </p> &lt; 'q'"
    html = translate("<p>one <b>two</b></p>", lambda text: (said, [(0, 0), (1, 3)]))
    assert html.startswith("<p>&lt;img") and html.endswith("</p>")
    assert [token.name for token in scan(html) if token.name] == ["p", "b", "b", "p"]


def test_spans_whose_words_were_mixed_still_enclose_each_other_properly():
    html = "<a href=1>a b</a> <i>c <b>d</b></i>"
    said = translate(html, lambda text: ("1 2 3 4", [(0, 0), (1, 2), (2, 1), (3, 3)]))
    assert said == "<a href=1>1 2 3</a> <i><b>4</b></i>"


def test_links_to_words_that_are_not_there_are_nothing():
    assert translate("a <b>b</b>", lambda text: ("x", [(0, 0), (1, 5)])) == "x<b></b>"


def test_many_tags_do_not_take_long_to_lift_and_put_back():
    """Work, not time: a text of so many tags is lifted in steps that grow with it, not with its square."""
    counts = []
    for many in (200, 400):
        steps = 0

        def count(frame, event, arg):
            nonlocal steps
            steps += 1
            return count

        sys.settrace(count)
        translate("<b>" * many + "a<i>" * many, same)
        translate("w<br>" * many, same)
        sys.settrace(None)
        counts.append(steps)
    assert counts[1] < 3 * counts[0]


TAGS = st.sampled_from(["<b>", "</b>", "<i class='x'>", "</i>", "<p>", "</p>", "<br>", "a", "b c", " ", "&lt;", "é"])


@given(st.lists(TAGS, max_size=20).map("".join))
def test_every_word_and_every_inline_tag_comes_through(html):
    out = translate(html, same)
    words = [word for part in lift(html) if isinstance(part, Passage) for word in part.words]
    again = [word for part in lift(out) if isinstance(part, Passage) for word in part.words]
    assert "".join(words) == "".join(again)
    for tag in ("<b>", "</b>", "<i class='x'>", "</i>"):
        assert out.count(tag) == html.count(tag)
