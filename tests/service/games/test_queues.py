"""Standing in line."""

import asyncio

import pytest

from service.games.queues import Queues
from service.store.errors import StoreUnavailable


async def test_those_in_a_queue_are_served_one_after_the_other() -> None:
    """Who waits for the same has his turn when those before him have had theirs, in the order in which they came."""
    queues, served, inside = Queues(), list[int](), set[int]()

    async def one(number: int) -> None:
        async with queues.turn("tea"):
            inside.add(number)
            assert inside == {number}
            await asyncio.sleep(0)
            served.append(number)
            inside.remove(number)

    await asyncio.gather(*map(one, range(5)))
    assert served == [0, 1, 2, 3, 4]


async def test_queues_for_different_things_do_not_wait_for_each_other() -> None:
    """Who waits for something else has his turn meanwhile."""
    queues = Queues()
    async with queues.turn("tea"), asyncio.timeout(60), queues.turn("coffee"):
        pass


async def test_where_the_store_is_away_nobody_waits_for_nothing() -> None:
    """When one could not have the store, those who wait behind him are told at once; who comes later has his turn."""
    queues, tried = Queues(), list[int]()

    async def one(number: int) -> None:
        async with queues.turn("tea"):
            tried.append(number)
            await asyncio.sleep(0)
            raise StoreUnavailable("away")

    told = await asyncio.gather(*map(one, range(4)), return_exceptions=True)
    assert [type(error) for error in told] == [StoreUnavailable] * 4
    assert tried == [0]
    async with queues.turn("tea"):
        tried.append(4)
    assert tried == [0, 4]


async def test_other_failures_and_who_gives_up_hold_nobody_up() -> None:
    """A turn that ends in a refusal, or is given up, is over: the next one has his."""
    queues, served = Queues(), list[int]()

    async def one(number: int) -> None:
        async with queues.turn("tea"):
            await asyncio.sleep(0)
            if number == 0:
                raise ValueError
            served.append(number)

    tasks = [asyncio.create_task(one(number)) for number in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    told = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(error) for error in told[:2]] == [ValueError, asyncio.CancelledError]
    assert served == [2, 3]


async def test_a_line_that_nobody_stands_in_is_no_more() -> None:
    """Queues take memory only while somebody waits, whatever was ever waited for."""
    queues = Queues()
    for number in range(100):
        async with queues.turn(f"{number}"):
            pass
    assert len(queues._queues) <= 1


@pytest.mark.parametrize("waiting", [1, 3])
async def test_a_line_lives_as_long_as_somebody_waits(waiting: int) -> None:
    """Who comes while others wait stands in the same line."""
    queues, inside = Queues(), list[int]()

    async def one(number: int) -> None:
        async with queues.turn("tea"):
            inside.append(number)
            assert len(queues._queues) == 1
            await asyncio.sleep(0)

    await asyncio.gather(*map(one, range(waiting + 1)))
    assert inside == list(range(waiting + 1))
