"""A topic: one watched game, the version that its watches stand at, and whether there is more to read."""

import asyncio

from service.store.codec import decode_batch
from service.store.errors import BadRecord, GameGone, HistoryLost, NewerTable, StoreError, StoreUnavailable
from service.store.history import Cursor, Fresh
from service.store.table import Batch
from service.store.watch import Watch

__all__ = ["Topic"]


class Topic:
    """One watched game.

    `version` is the last that was passed on to the watches, None until the game's version is known for the first time.
    While the topic is `behind`, its history is to be read, and messages are not passed on: they only say how far.
    """

    def __init__(self, game: str, channel: str, node: str) -> None:
        self.game = game
        self.channel = channel
        self.node = node
        self.watches: set[Watch] = set()
        self.version: int | None = None
        self.behind = False
        self.ended: StoreError | None = None
        self._heard = 0
        self._known = asyncio.Event()

    async def current(self, timeout_s: float) -> int:
        """The version that is passed on, once it is known. Raises why the topic has ended, or StoreUnavailable."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._known.wait()
        except TimeoutError:
            raise StoreUnavailable("Redis: no subscription was to be had in time") from None
        if self.version is None or self.ended is not None:
            raise self.ended or StoreUnavailable("Redis: the game's version is not known")
        return self.version

    def hear(self, data: bytes) -> None:
        """Pass on a batch that was just committed, if it follows the last one; else note what there is to read."""
        try:
            batch = decode_batch(data)
        except (NewerTable, BadRecord) as error:
            self.end(error)
            return
        if self.behind or self.version is None or batch.version > self.version + 1:
            self.behind = True
            self._heard = max(self._heard, batch.version)
        elif batch.version == self.version + 1:
            self._pass_on(batch)

    def cursor(self) -> Cursor:
        """What is to be read; what is heard from now on may lie beyond it."""
        self._heard = 0
        return Cursor(self.game, self.version)

    def take(self, fresh: Fresh | None) -> None:
        """Pass on what was read at the cursor; the topic is behind no more, unless there is more than was read."""
        if fresh is None:
            self.end(GameGone(self.game))
        elif self.version is None:
            self.version = fresh.version
            self._known.set()
        else:
            self._pass_on_after(self.version, fresh)
        self.behind = self.ended is None and max(self._heard, fresh.version if fresh else 0) > (self.version or 0)

    def end(self, reason: StoreError) -> None:
        """End all watches, after what has been passed on to them."""
        self.ended = self.ended or reason
        self._known.set()
        for watch in self.watches:
            watch.end(reason)

    def _pass_on(self, batch: Batch) -> None:
        self.version = batch.version
        self.watches = {watch for watch in self.watches if watch.put(batch)}

    def _pass_on_after(self, version: int, fresh: Fresh) -> None:
        """Pass on what was read after a version. A gap, or a game that has gone back, ends the topic."""
        try:
            batches = [decode_batch(data) for data in fresh.batches]
        except (NewerTable, BadRecord) as error:
            self.end(error)
            return
        expected = list(range(version + 1, version + 1 + len(batches)))
        if [batch.version for batch in batches] != expected or (not batches and fresh.version != version):
            self.end(HistoryLost(version))
            return
        for batch in batches:
            self._pass_on(batch)
