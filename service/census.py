"""Tells the metrics how many tables there are, and how late what is due is: of all, so that any server will do to ask.

It is no matter of the clock's, so that one that stands still is seen.
"""

import asyncio
from typing import Final, Never

from service.games.desk import Desk
from service.observability import metrics
from service.observability.background import survived
from service.store.errors import StoreUnavailable

__all__ = ["keep_counting"]

PAUSE_S: Final = 15.0
"""As often as Prometheus usually asks."""


async def keep_counting(desk: Desk) -> Never:
    """Counts again and again, until it is cancelled."""
    while True:
        with survived("census"):
            await count(desk)
        await asyncio.sleep(PAUSE_S)


async def count(desk: Desk) -> None:
    """Counts now. While the store is away the last numbers stand."""
    try:
        found = await desk.store.census(desk.now_ms())
    except StoreUnavailable:
        return  # counted by the store, and told by the readiness
    for state, number in found.tables.items():
        metrics.tables.labels(state).set(number)
    metrics.overdue_seconds.set(found.overdue_ms / 1000)
