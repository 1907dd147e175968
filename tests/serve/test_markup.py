"""Tags are lifted from a text and put back where the alignment says."""

import re
import sys

from hypothesis import given
from hypothesis import strategies as st

from regard.serve.markup import Passage, lift, put_back


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
    assert translate("<i>a", same) == "<i>a</i>" and translate("a</i>", same) == "a"
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
    for tag in ("b", "i"):
        assert len(re.findall(f"<{tag}[ >]", out)) == len(re.findall(f"</{tag}>", out))
