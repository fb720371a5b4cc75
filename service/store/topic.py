"""A topic: one watched game, the version that its watches stand at, and whether there is more to read."""

import asyncio

from service.store.codec import decode_batch
from service.store.errors import BadRecord, GameGone, HistoryLost, NewerTable, StoreError, StoreUnavailable
from service.store.history import Cursor, Fresh
from service.store.table import Batch, differ
from service.store.watch import Watch

__all__ = ["Topic"]


class Topic:
    """One watched game.

    `version` is the last that was passed on to the watches, None until the game's version is known for the first time,
    and `mark` its mark, as far as that is known. While the topic is `behind`, its history is to be read, and messages
    are not passed on: they only say how far.
    """

    def __init__(self, game: str, channel: str, node: str) -> None:
        self.game = game
        self.channel = channel
        self.node = node
        self.watches: set[Watch] = set()
        self.version: int | None = None
        self.mark = b""
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
            raise StoreUnavailable("Redis: no subscription was made in time") from None
        if self.version is None or self.ended is not None:
            raise self.ended or StoreUnavailable("Redis: the game's version is not known")
        return self.version

    def hear(self, data: bytes) -> None:
        """Passes on a batch that was just committed, if it follows the last one; else notes what there is to read."""
        try:
            batch = decode_batch(data)
        except (NewerTable, BadRecord) as error:
            self.end(error)
            return
        if self.version is not None and batch.version <= self.version:
            return
        if self.behind or self.version is None or not batch.follows(self.version, self.mark):
            self.behind = True
            self._heard = max(self._heard, batch.version)
        else:
            self._pass_on(batch)

    def cursor(self) -> Cursor:
        """What is to be read; what is heard from now on may lie beyond it."""
        self._heard = 0
        return Cursor(self.game, self.version)

    def take(self, fresh: Fresh | None) -> None:
        """Passes on what was read at the cursor; the topic is behind no more, unless there is more than was read."""
        if fresh is None:
            self.end(GameGone(self.game))
        elif self.version is None:
            self.version, self.mark = fresh.version, fresh.mark
            self._known.set()
        else:
            self._pass_on_all(fresh, self.version)
        self.behind = self.ended is None and max(self._heard, fresh.version if fresh else 0) > (self.version or 0)

    def end(self, reason: StoreError) -> None:
        """Ends all watches, after what has been passed on to them."""
        self.ended = self.ended or reason
        self._known.set()
        for watch in self.watches:
            watch.end(reason)

    def _pass_on(self, batch: Batch) -> None:
        self.version, self.mark = batch.version, batch.mark
        self.watches = {watch for watch in self.watches if watch.put(batch)}

    def _pass_on_all(self, fresh: Fresh, version: int) -> None:
        """Passes on what was read after a version. A gap, or a version that is no more, ends the topic."""
        if not fresh.batches and (fresh.version != version or differ(fresh.mark, self.mark)):
            self.end(HistoryLost(version))
        for data in fresh.batches:
            try:
                batch = decode_batch(data)
            except (NewerTable, BadRecord) as error:
                self.end(error)
                return
            if not batch.follows(version, self.mark):
                self.end(HistoryLost(version))
                return
            self._pass_on(batch)
            version = batch.version
