"""Queues: callers who would only get in each other's way go one after the other, in this process at least."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from service.store.errors import StoreUnavailable

__all__ = ["Queues"]


class Queues:
    """A queue for each key that somebody waits for; those who wait are served in the order in which they came."""

    def __init__(self) -> None:
        self._queues: WeakValueDictionary[str, _Queue] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """Waits for one's turn, which lasts as long as the context.

        When the store is not to be had for one, all who wait behind are told at once: raises StoreUnavailable.
        """
        queue = self._queues.setdefault(key, _Queue())
        before = queue.failures
        async with queue.lock:
            if queue.failures > before:
                raise StoreUnavailable("the store was not available to callers earlier in the queue")
            try:
                yield
            except StoreUnavailable:
                queue.failures += 1
                raise


class _Queue:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.failures = 0
