"""The replays made last, so that asking for one again and again costs a match played again only once."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from engine.replay import Replay

__all__ = ["Replays"]


class Replays:
    """The `size` replays asked for last. One is made at a time, so that they take no more than a part of one core."""

    def __init__(self, size: int = 64) -> None:
        self._size = size
        self._made: OrderedDict[str, Replay] = OrderedDict()
        self._making = asyncio.Lock()

    async def get(self, key: str, make: Callable[[], Awaitable[Replay]]) -> Replay:
        """The replay kept for the key, or the one that `make` makes. A finished match has one key and never changes."""
        async with self._making:
            if key not in self._made:
                self._made[key] = await make()
            self._made.move_to_end(key)
            if len(self._made) > self._size:
                self._made.popitem(last=False)
            return self._made[key]
