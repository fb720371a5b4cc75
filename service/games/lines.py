"""Standing in line: callers who would only get in each other's way go one after the other, in this process at least."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from service.store.errors import StoreUnavailable

__all__ = ["Lines"]


class Lines:
    """A line for each key that somebody waits for; those who wait are served in the order in which they came."""

    def __init__(self) -> None:
        self._lines: WeakValueDictionary[str, _Line] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """Waits for one's turn, which lasts as long as the context.

        When the store is not to be had for one, all who wait behind are told at once: raises StoreUnavailable.
        """
        line = self._lines.setdefault(key, _Line())
        before = line.failures
        async with line.lock:
            if line.failures > before:
                raise StoreUnavailable("the store was not available to callers earlier in the line")
            try:
                yield
            except StoreUnavailable:
                line.failures += 1
                raise


class _Line:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.failures = 0
