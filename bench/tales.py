"""Stories of our own in ten kinds that the shared bAbI tasks do not have, so that defaults are not tuned to those.

Three supporting facts, counting, lists, indefinite knowledge, coreference of one and of several, times of the day,
positions, sizes and paths. Words and templates are ours.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from regard.text.stories import Story

PEOPLE = ["Ann", "Ben", "Carla", "Dan", "Eva", "Finn"]
SHE = {"Ann": "she", "Carla": "she", "Eva": "she", "Ben": "he", "Dan": "he", "Finn": "he"}
PLACES = ["attic", "barn", "cellar", "garage", "library", "porch"]
THINGS = ["key", "lamp", "pen", "hat", "cup"]
WENT = ("went to", "walked to", "ran to", "moved to")
TOOK, LEFT = ("took", "picked up", "grabbed"), ("dropped", "put down", "left")
NUMBERS = ("none", "one", "two", "three", "four")
Tale = Iterator[Story]


def make_tales(kind: str, questions: int, seed: int) -> list[Story]:
    """So many questions of one kind; those of one tale are marked as such."""
    draw, found, tale = random.Random(f"{kind} {seed}"), list[Story](), 0
    while len(found) < questions:
        tale += 1
        found += [Story(s.sentences, s.question, s.answer, s.support, (0, tale)) for s in KINDS[kind](draw)]
    return found[:questions]


class World:
    """Who is where with what, and the sentences that say how it came to be."""

    def __init__(self, draw: random.Random, people: int = 3, things: int = 3) -> None:
        self.draw, self.sentences = draw, list[str]()
        self.people, self.things = draw.sample(PEOPLE, people), draw.sample(THINGS, things)
        self.place: dict[str, str] = {}
        self.held: dict[str, list[str]] = {person: [] for person in self.people}
        self.been: dict[str, list[str]] = {thing: [] for thing in self.things}  # places of each thing, in order

    def happen(self) -> None:
        """One more event."""
        who = self.draw.choice(self.people)
        free = [thing for thing in self.things if not any(thing in held for held in self.held.values())]
        here = [
            thing
            for thing in free
            if who in self.place and (self.been[thing] or [self.place[who]])[-1] == self.place[who]
        ]
        chance = self.draw.random()
        if here and chance < 0.4:
            thing = self.draw.choice(here)
            self.held[who].append(thing)
            self.sentences.append(f"{who} {self.draw.choice(TOOK)} the {thing}.")
            self._see(who)
        elif self.held[who] and chance < 0.55:
            thing = self.draw.choice(self.held[who])
            self.held[who].remove(thing)
            self.sentences.append(f"{who} {self.draw.choice(LEFT)} the {thing}.")
        else:
            self.place[who] = self.draw.choice([place for place in PLACES if place != self.place.get(who)])
            self.sentences.append(f"{who} {self.draw.choice(WENT)} the {self.place[who]}.")
            self._see(who)

    def _see(self, who: str) -> None:
        for thing in self.held[who]:
            if self.been[thing][-1:] != [self.place[who]]:
                self.been[thing].append(self.place[who])

    def ask(self, question: str, answer: str) -> Story:
        return Story(tuple(self.sentences), question, answer)


def three_facts(draw: random.Random) -> Tale:
    """Where a thing was before it was somewhere."""
    world = World(draw)
    for _ in range(draw.randint(20, 40)):
        world.happen()
    for _ in range(3):
        for _ in range(draw.randint(1, 6)):
            world.happen()
        if moved := [thing for thing in world.things if len(world.been[thing]) > 1]:
            been = world.been[draw.choice(moved)]
            thing = next(t for t, b in world.been.items() if b is been)
            last = {place: number for number, place in enumerate(been)}  # its last visit of each
            place = draw.choice([place for place, number in last.items() if number])
            yield world.ask(f"Where was the {thing} before the {place}?", been[last[place] - 1])


def counting(draw: random.Random) -> Tale:
    """How many things a person has."""
    yield from _carried(draw, lambda who, held: (f"How many things does {who} have?", NUMBERS[len(held)]))


def lists(draw: random.Random) -> Tale:
    """Which things a person has."""
    yield from _carried(draw, lambda who, held: (f"What does {who} have?", ",".join(held) or "nothing"))


def _carried(draw: random.Random, ask: Callable[[str, list[str]], tuple[str, str]]) -> Tale:
    world = World(draw)
    for _ in range(5):
        for _ in range(draw.randint(2, 6)):
            world.happen()
        who = draw.choice(sorted({sentence.split()[0] for sentence in world.sentences}))
        yield world.ask(*ask(who, world.held[who]))


def either(draw: random.Random) -> Tale:
    """A person may be in one of two places."""
    sentences, known = list[str](), dict[str, tuple[str, ...]]()
    people = draw.sample(PEOPLE, 4)
    for _ in range(5):
        for _ in range(2):
            who = draw.choice(people)
            first, second = draw.sample(PLACES, 2)
            is_sure = draw.random() < 0.5
            known[who] = (first,) if is_sure else (first, second)
            sentences.append(
                f"{who} {draw.choice(WENT)} the {first}." if is_sure else f"{who} is in the {first} or the {second}."
            )
        who = draw.choice(sorted(known))
        place = draw.choice(known[who]) if draw.random() < 0.6 else draw.choice(PLACES)
        answer = "no" if place not in known[who] else "yes" if len(known[who]) == 1 else "maybe"
        yield Story(tuple(sentences), f"Is {who} in the {place}?", answer)


def pronoun(draw: random.Random) -> Tale:
    """A person is called she or he."""
    sentences, place = list[str](), dict[str, str]()
    for _ in range(5):
        who = draw.choice(PEOPLE)
        first, place[who] = draw.sample(PLACES, 2)
        sentences.append(f"{who} {draw.choice(WENT)} the {first}.")
        sentences.append(
            f"{draw.choice(('After that', 'Then', 'Later'))} {SHE[who]} {draw.choice(WENT)} the {place[who]}."
        )
        asked = draw.choice(sorted(place))
        yield Story(tuple(sentences), f"Where is {asked}?", place[asked])


def plural(draw: random.Random) -> Tale:
    """Two persons are called they."""
    sentences, place = list[str](), dict[str, str]()
    for _ in range(5):
        both = draw.sample(PEOPLE, 2)
        first, second = draw.sample(PLACES, 2)
        place |= dict.fromkeys(both, second)
        sentences.append(f"{both[0]} and {both[1]} {draw.choice(WENT)} the {first}.")
        sentences.append(f"{draw.choice(('After that', 'Then', 'Later'))} they {draw.choice(WENT)} the {second}.")
        asked = draw.choice(sorted(place))
        yield Story(tuple(sentences), f"Where is {asked}?", place[asked])


def times(draw: random.Random) -> Tale:
    """Where a person was before, out of order."""
    parts = ("Yesterday", "This morning", "This noon", "This evening")
    people = draw.sample(PEOPLE, 2)
    stated = [(person, part) for person in people for part in parts]
    draw.shuffle(stated)
    where = {person: draw.sample(PLACES, 4) for person in people}
    sentences = list[str]()
    for number, (person, part) in enumerate(stated):
        sentences.append(f"{part} {person} {draw.choice(WENT)} the {where[person][parts.index(part)]}.")
        if number >= 3:
            seen = {
                p: [w for w, t in zip(where[p], parts, strict=True) if (p, t) in stated[: number + 1]] for p in people
            }
            if able := [p for p in people if len(seen[p]) > 1]:
                asked = draw.choice(able)
                place = draw.randrange(1, len(seen[asked]))
                yield Story(
                    tuple(sentences), f"Where was {asked} before the {seen[asked][place]}?", seen[asked][place - 1]
                )


def positions(draw: random.Random) -> Tale:
    """Two facts about three shapes; is one left of, or above, another?"""
    shapes = draw.sample([f"{c} {s}" for c in ("red", "blue", "pink") for s in ("circle", "star", "cube")], 3)
    at = {shapes[0]: (0, 0)}
    moves = {"to the left of": (-1, 0), "to the right of": (1, 0), "above": (0, 1), "below": (0, -1)}
    sentences = []
    for new, old in ((shapes[1], shapes[0]), (shapes[2], draw.choice(shapes[:2]))):
        words, (dx, dy) = draw.choice(sorted(moves.items()))
        x, y = at[old]
        at[new] = x + dx, y + dy
        if draw.random() < 0.5:  # the other way round
            new, old, words = old, new, next(w for w, m in moves.items() if m == (-dx, -dy))  # noqa: PLW2901
        sentences.append(f"The {new} is {words} the {old}.")
    asked = 0
    while asked < 6:
        one, two = draw.sample(shapes, 2)
        words, (dx, dy) = draw.choice(sorted(moves.items()))
        (x, y), (u, v) = at[one], at[two]
        is_so = (x - u) * dx + (y - v) * dy > 0
        if is_so or draw.random() < 0.6:
            asked += 1
            yield Story(tuple(sentences), f"Is the {one} {words} the {two}?", "yes" if is_so else "no")


def sizes(draw: random.Random) -> Tale:
    """What fits into what follows from what is bigger."""
    order = draw.sample(["trunk", "crate", "basket", "jar", "tin", "bag"], 5)  # the biggest first
    pairs = [(number, number + draw.choice((1, 1, 2))) for number in range(4)]
    pairs = [(a, min(b, 4)) for a, b in pairs] + [draw.choice([(0, 1), (1, 2), (2, 3), (3, 4)])]
    draw.shuffle(pairs)
    sentences = tuple(
        f"The {order[a]} is bigger than the {order[b]}."
        if draw.random() < 0.5
        else f"The {order[b]} fits inside the {order[a]}."
        for a, b in pairs
    )
    reach = {(a, b) for a, b in pairs}
    for _ in range(3):
        reach |= {(a, d) for a, b in reach for c, d in reach if b == c}
    for _ in range(5):
        a, b = draw.choice(sorted(reach))
        is_so = draw.random() < 0.5
        big, small = (order[a], order[b]) if is_so else (order[b], order[a])
        question = (
            f"Does the {small} fit in the {big}?" if draw.random() < 0.5 else f"Is the {big} bigger than the {small}?"
        )
        yield Story(sentences, question, "yes" if is_so else "no")


def paths(draw: random.Random) -> Tale:
    """Two steps from a place to another."""
    moves = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}
    while True:
        at = {(0, 0): "attic"}
        names, edges = draw.sample(PLACES, 6), []
        at = {(0, 0): names[0]}
        while len(at) < 6:
            x, y = draw.choice(sorted(at))
            dx, dy = moves[draw.choice(sorted(moves))]
            if (x + dx, y + dy) not in at:
                at[x + dx, y + dy] = names[len(at)]
                edges.append(((x, y), (x + dx, y + dy)))
        near = {p: [a if b == p else b for a, b in edges if p in (a, b)] for p in at}
        ways = [(p, q, r) for p in at for q in near[p] for r in near[q] if r != p]
        if ways:
            break
    draw.shuffle(edges)
    names_of = {move: name for name, move in moves.items()}
    sentences = []
    for a, b in edges:
        if draw.random() < 0.5:
            a, b = b, a  # noqa: PLW2901
        sentences.append(f"The {at[a]} is {names_of[a[0] - b[0], a[1] - b[1]]} of the {at[b]}.")
    p, q, r = draw.choice(ways)
    steps = [names_of[b[0] - a[0], b[1] - a[1]] for a, b in ((p, q), (q, r))]
    yield Story(tuple(sentences), f"How do you get from the {at[p]} to the {at[r]}?", ",".join(steps))


KINDS: dict[str, Callable[[random.Random], Tale]] = {
    "three facts": three_facts,
    "counting": counting,
    "lists": lists,
    "either": either,
    "pronoun": pronoun,
    "plural": plural,
    "times": times,
    "positions": positions,
    "sizes": sizes,
    "paths": paths,
}
