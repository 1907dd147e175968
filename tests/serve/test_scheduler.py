"""The batch scheduler: what is accepted, what is refused, and what waits for what."""

import asyncio
import platform
import threading
import time

import pytest

from regard.machine import held_memory
from regard.serve.limits import Limits, RequestError
from regard.serve.scheduler import REST, BatchScheduler


@pytest.mark.parametrize("size", [100, 300], ids=["as large as the queue", "three times as large"])
def test_documents_that_fill_the_queue_do_not_keep_a_sentence_out(size):
    may_go_on = threading.Event()

    def run(items, options, is_wanted):
        may_go_on.wait(20)
        return items

    async def ask() -> None:
        owner = BatchScheduler("x", run, 2, Limits(queued_tokens=1000), batches=True)
        document = asyncio.ensure_future(owner.ask(list(range(10)), [size] * 10, "a"))
        await asyncio.sleep(0.05)
        with pytest.raises(RequestError, match="waiting already"):
            await owner.ask(list(range(5)), [10] * 5, "a")
        sentence = asyncio.ensure_future(owner.ask(["b"], [20], "a"))
        await asyncio.sleep(0.05)
        may_go_on.set()
        assert await sentence == ["b"] and await document == list(range(10))
        owner.close()

    asyncio.run(ask())


def test_a_slow_model_takes_no_more_than_it_can_answer_in_time():
    """Twenty documents at once, each a fifth of the time that is waited for: who is taken is answered, all others are
    refused at once."""

    def run(items, options, is_wanted):
        time.sleep(0.002 * len(items))
        return items

    async def ask() -> list[object]:
        owner = BatchScheduler("x", run, 2, Limits(queued_tokens=100_000, seconds=2.0), batches=True)
        documents = [owner.ask(list(range(200)), [1000] * 200, "a") for _ in range(20)]
        found = await asyncio.gather(*documents, return_exceptions=True)
        found += await asyncio.gather(
            *(owner.ask([1] * 200, [1000] * 200, "a") for _ in range(20)), return_exceptions=True
        )
        owner.close()
        return found

    found = asyncio.run(ask())
    refused = [one for one in found if isinstance(one, RequestError)]
    assert {one.status for one in refused} == {429} and 1 <= len(found) - len(refused) < 20


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is asked to give memory back")
def test_what_a_batch_took_goes_back_to_the_system_after_a_rest():
    kept, held = [], []

    def run(items, options, is_wanted):
        blocks = [bytearray(b"x") * 60_000 for _ in range(3000)]
        kept.append(blocks.pop())  # at the end of the heap: what is below it is free, and is not given back by itself
        blocks.clear()
        held.append(held_memory())
        return items

    async def ask() -> None:
        owner = BatchScheduler("x", run, 2, Limits(), batches=True)
        assert await owner.ask(["a"], [1], "a") == ["a"]
        await asyncio.sleep(3 * REST)
        owner.close()

    asyncio.run(ask())
    assert held[0] - held_memory() > 100e6


def test_with_one_lane_a_sentence_does_not_wait_for_documents_that_came_later():
    done = []

    def run(items, options, is_wanted):
        time.sleep(0.02)
        done.extend(items)
        return items

    async def ask() -> None:
        owner = BatchScheduler("x", run, 1, Limits(queued_tokens=100_000), batches=False)
        asked = [owner.ask([f"document {n}"], [500], n) for n in range(3)]
        asked += [owner.ask(["sentence"], [10], "s")]
        asked += [owner.ask([f"later {n}"], [500], n) for n in range(20)]
        await asyncio.gather(*map(asyncio.ensure_future, asked))
        owner.close()

    asyncio.run(ask())
    assert done.index("sentence") <= 3


def test_what_fails_at_once_does_not_make_a_model_look_fast():
    def run(items, options, is_wanted):
        if options == "bad":
            raise ValueError("no")
        time.sleep(0.1)
        return items

    async def ask() -> None:
        owner = BatchScheduler("x", run, 1, Limits(queued_tokens=10**6, seconds=2.0), batches=False)
        await owner.ask([1], [1000], "good")
        for _ in range(5):
            with pytest.raises(ValueError, match="no"):
                await owner.ask([1], [1000], "bad")
        first = asyncio.ensure_future(owner.ask([1], [9000], "good"))
        await asyncio.sleep(0.01)
        with pytest.raises(RequestError, match="waiting already"):
            await owner.ask([1], [9000], "good")  # 1.8 seconds at the speed that was seen, and half of 2 may be used
        await first
        owner.close()

    asyncio.run(ask())


def test_who_is_gone_is_told_to_whoever_computes():
    seen = []

    def run(items, options, is_wanted):
        while is_wanted(0):
            time.sleep(0.01)
        seen.append("stopped")
        return items

    async def ask() -> None:
        owner = BatchScheduler("x", run, 1, Limits(), batches=False)
        asked = asyncio.ensure_future(owner.ask([1], [10], "a"))
        await asyncio.sleep(0.05)
        asked.cancel()
        await asyncio.sleep(0.2)
        assert seen == ["stopped"] and owner.queued_tokens == 0
        owner.close()

    asyncio.run(ask())
