"""Long work beside the loop: one thread, in pieces, requests in turns."""

import asyncio
import threading

from hypothesis import given
from hypothesis import strategies as st

from regard.serve.aside import LETTERS_OF_A_PIECE, aside_in_pieces, pieces


@given(st.lists(st.integers(0, 3 * LETTERS_OF_A_PIECE), max_size=40))
def test_pieces_are_all_texts_in_order_and_none_is_long_unless_one_text_is(lengths):
    texts = ["x" * length for length in lengths]
    found = pieces(texts)
    assert [text for some in found for text in some] == texts
    assert all(some for some in found)
    assert all(len(some) == 1 or sum(map(len, some)) <= LETTERS_OF_A_PIECE for some in found)


def test_requests_take_turns_and_one_thread_works_for_all_of_them():
    order, at_work = [], []

    def work(some):
        at_work.append(threading.current_thread().name)
        order.append(some[0][0])
        return len(some)

    async def ask(letter):
        return await aside_in_pieces(work, [letter * LETTERS_OF_A_PIECE] * 5)

    async def both():
        return await asyncio.gather(ask("a"), ask("b"), ask("c"))

    assert asyncio.run(both()) == [[1] * 5] * 3
    assert len(set(at_work)) == 1 and at_work[0] != threading.main_thread().name
    assert sorted(order[:3]) == ["a", "b", "c"]  # no second piece before every first


def test_short_texts_are_worked_on_at_once():
    where = asyncio.run(aside_in_pieces(lambda _: threading.current_thread(), ["a few", "words"]))
    assert where == [threading.main_thread()]


def test_what_goes_wrong_in_a_piece_is_told():
    def work(some):
        raise ValueError(some[0][:3])

    async def ask():
        try:
            await aside_in_pieces(work, ["abc" * 2000])
        except ValueError as problem:
            return str(problem)

    assert asyncio.run(ask()) == "abc"
