"""Markup goes through the translator, and a browser finds the same elements in the answer as in the question."""

import random

import pytest
from browser import opened_browser
from test_markup import backwards, same, translate

# What a browser makes of a text: every element with its attributes, every comment, and the text of what holds raw text.
FOUND = """texts => {
  const RAW = new Set(["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "noscript"]);
  const list = (root, found) => {
    for (const node of root.childNodes) {
      if (node.nodeType === 8) found.push("<!--" + node.data);
      if (node.nodeType !== 1) continue;
      const attributes = [...node.attributes].map(one => one.name + "=" + one.value).sort();
      const raw = RAW.has(node.localName) && !node.childElementCount ? node.textContent : "";
      found.push(JSON.stringify([node.namespaceURI, node.localName, attributes, raw]));
      list(node, found);
      if (node.content) list(node.content, found);
    }
    return found;
  };
  const parse = (text) => {
    const template = document.createElement("template"), inert = document.implementation.createHTMLDocument("");
    template.innerHTML = text;
    inert.body.innerHTML = text;
    const whole = new DOMParser().parseFromString(text, "text/html");
    const serialised = inert.body.innerHTML;
    return { found: [template.content, inert.body, whole].map(root => list(root, []).sort()), serialised };
  };
  return texts.map(parse);
}"""

NAMES = ["a", "b", "i", "span", "font", "code", "pre", "p", "div", "table", "tr", "td", "li", "select", "option", "svg",
         "math", "mi", "mtext", "title", "desc", "foreignObject", "style", "script", "textarea", "xmp", "noscript",
         "iframe", "template", "plaintext", "frameset", "body", "br", "img", "h1", "button", "annotation-xml", "g",
         "path", "object", "nobr", "label"]  # fmt: skip
COMMON = ["a", "b", "i", "span", "p", "div", "td", "table", "svg", "select", "style", "title", "math", "mi", "br"]
ODD = ["<!--", "-->", "--!>", "<!-->", "<!--->", "<![CDATA[", "]]>", "<?x", "<!x", "</>", "</3", "<", ">", "&lt;",
       "&ltimg src=x onerror=1>", "&amp;lt;", "&#60;b&#62;", "&#x3c", "&nbsp;", "&#99999999999;", "\0", "/>", '"', "'",
       "=", "</script", "<script><!--<script>", "<img src=x onerror=alert(1)>", "<a href='>", "<b a=\"", "<b\0>",
       "</p>", "</br>", "<svg/>", "<ſcript>", "<b/>", "<b / c='>'/>", "</b c='>'>", "]]", "<![x", "<a/"]  # fmt: skip
WORDS = ["one", "two three", " ", " four ", "\n", "x&y", "a<b c", "5 > 4", "five."]


def make(chance: random.Random) -> str:
    parts: list[str] = []
    opened: list[str] = []
    for _ in range(chance.randint(1, 14)):
        kind = chance.random()
        if kind < 0.35:
            parts.append(chance.choice(WORDS))
        elif kind < 0.6:
            opened.append(chance.choice(COMMON if chance.random() < 0.6 else NAMES))
            parts.append(f"<{opened[-1]}{chance.choice(['', '', ' x=1', ' y=&lt;', '/'])}>")
        elif kind < 0.85 and opened:
            parts.append(f"</{opened.pop(-1 if chance.random() < 0.8 else 0)}>")
        else:
            parts.append(chance.choice(ODD))
    return "".join(parts)


def mixed(text):
    """Words in another order, with more or fewer links than words, some of which look like markup."""
    words = text.split()
    chance = random.Random(text)
    order = chance.sample(range(len(words)), len(words))
    links = [(n, order[n]) for n in range(len(words)) if chance.random() < 0.8]
    odd = ["<img src=y>", "-->", "]]>", "</b>", "&lt;p&gt;", "<!--", "'", '"']
    said = [
        words[order.index(n)] if chance.random() < 0.8 else chance.choice(odd).replace(" ", "\xa0")
        for n in range(len(words))
    ]
    return " ".join(said), links


@pytest.fixture(scope="module")
def found():
    with opened_browser() as browser:
        page = browser.new_page()
        yield lambda texts: page.evaluate(FOUND, texts)


@pytest.mark.parametrize("say", [same, backwards, mixed])
def test_a_browser_finds_the_elements_of_the_question_in_the_answer(found, say):
    chance = random.Random(say.__name__)
    questions = [make(chance) for _ in range(1500)]
    questions += [one["serialised"] for one in found(questions)]  # as a browser writes it
    asked = found(questions)
    answers = [translate(question, say) for question in questions]
    for question, answer, before, after in zip(questions, answers, asked, found(answers), strict=True):
        assert after["found"] == before["found"], (question, answer)
