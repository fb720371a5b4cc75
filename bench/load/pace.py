"""Two ways to put work to a server.

Closed: each worker works as soon as it may, so that the server sets the pace: that measures what it can do. Open: a
schedule sets the pace, whatever the server does, and each piece of work knows when it was due: that measures how long
people wait.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias

from bench.load.tally import now

__all__ = ["Pace", "Work", "closed", "opened"]

Work: TypeAlias = Callable[[float], Awaitable[None]]
"""Does one piece, which was due at this time of the clock."""


Pace: TypeAlias = Callable[[Sequence[Work], float, int], Awaitable[int]]
"""Has work done, by each worker one piece at a time, for so many seconds and so many pieces at most.

Gives the number of pieces that were due and not begun.
"""
_PATIENCE: Final = 2.0
"""After so many times the seconds, what a schedule has left is given up."""


async def closed(workers: Sequence[Work], seconds: float, most: int) -> int:
    """Each worker does one piece after the other."""
    end, left = now() + seconds, most

    async def work(do: Work) -> None:
        nonlocal left
        while now() < end and left > 0:
            left -= 1
            await do(now())

    async with asyncio.TaskGroup() as group:
        for worker in workers:
            group.create_task(work(worker))
    return 0


def opened(rate: float) -> Pace:
    """`rate` pieces a second, evenly spread, each by the worker that has been idle for longest.

    What is due while all are busy waits for the first that is done, and its wait counts: it was due all the same.
    """

    async def pace(workers: Sequence[Work], seconds: float, most: int) -> int:
        idle: asyncio.Queue[Work] = asyncio.Queue()
        for worker in workers:
            idle.put_nowait(worker)

        async def work(do: Work, due: float) -> None:
            await do(due)
            idle.put_nowait(do)

        begun, number_due = now(), min(most, round(seconds * rate))
        async with asyncio.TaskGroup() as group:
            for number in range(number_due):
                due = begun + number / rate
                if now() > begun + _PATIENCE * seconds:
                    return number_due - number
                if (early := due - now()) > 0:
                    await asyncio.sleep(early)
                group.create_task(work(await idle.get(), due))
        return 0

    return pace
