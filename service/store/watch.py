"""A watch: one reader of one game's batches."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from service.store.backoff import Backoff
from service.store.codec import decode_batch
from service.store.errors import FellBehind, GameGone, HistoryLost, StoreError, StoreUnavailable
from service.store.history import Cursor, Fresh
from service.store.table import Batch, differ

__all__ = ["Watch"]


class Watch:
    """The batches of one game, every version once and in order: an asynchronous iterator.

    It ends by raising: FellBehind, HistoryLost, GameGone, NewerTable, or StoreUnavailable when the store is closed.
    While the server is away it waits. To stop waiting for a batch, by cancellation or a time-out, loses none.
    """

    def __init__(self, game: str, room: int, read: Callable[[Cursor], Awaitable[Fresh | None]]) -> None:
        """A watch with room for so many unread batches, that reads those before its beginning with `read`."""
        self.game = game
        self.last_version = 0
        """The last version that the reader was given, or has from elsewhere."""
        self.last_mark = b""
        """Its mark, as far as it is known."""
        self._room = room
        self._read = read
        self._live_after = 0
        self._past: deque[Batch] = deque()
        self._waiting: deque[Batch] = deque()
        self._ended: StoreError | None = None
        self._changed = asyncio.Event()

    def begin(self, after: int, mark: bytes, live_after: int, live_mark: bytes) -> None:
        """Gives the versions above `after`; all above `live_after` have been put or will be, the others can be read.

        The marks are of those two versions; empty: not known.
        """
        self.last_version, self.last_mark = after, mark
        self._live_after = live_after
        if after == live_after and differ(mark, live_mark):
            self.end(HistoryLost(after))

    def __aiter__(self) -> "Watch":
        return self

    async def __anext__(self) -> Batch:
        """The next batch."""
        while True:
            if self._past:
                return self._given(self._past.popleft())
            if self.last_version < self._live_after:
                await self._read_back()
            elif self._waiting:
                batch = self._waiting.popleft()
                if batch.version > self.last_version:
                    return self._given(batch)
                if batch.version == self.last_version and differ(batch.mark, self.last_mark):
                    raise HistoryLost(self.last_version)
            elif self._ended is not None:
                raise self._ended
            else:
                self._changed.clear()
                await self._changed.wait()

    async def next(self, timeout_s: float) -> Batch | None:
        """The next batch, or None when there was none for so many seconds."""
        try:
            async with asyncio.timeout(timeout_s):
                return await anext(self)
        except TimeoutError:
            return None

    def put(self, batch: Batch) -> bool:
        """Has a new batch read in its turn; whether there was room. If not, the watch ends after those that it has."""
        if len(self._waiting) >= self._room:
            self.end(FellBehind(self._waiting[-1].version))
            return False
        self._waiting.append(batch)
        self._changed.set()
        return True

    def end(self, reason: StoreError) -> None:
        """Ends the watch, after the batches that it has; the first reason stands."""
        self._ended = self._ended or reason
        self._changed.set()

    def _given(self, batch: Batch) -> Batch:
        if not batch.follows(self.last_version, self.last_mark):
            raise HistoryLost(self.last_version)
        self.last_version, self.last_mark = batch.version, batch.mark
        return batch

    async def _read_back(self) -> None:
        """Reads, from the history, some of what was before the batches that are put."""
        backoff = Backoff()
        while True:
            try:
                fresh = await self._read(Cursor(self.game, self.last_version))
                break
            except StoreUnavailable:
                if self._ended is not None:
                    raise self._ended from None
                await backoff.pause()
        if fresh is None:
            raise GameGone(self.game)
        if not fresh.batches:
            raise HistoryLost(self.last_version)
        self._past.extend(decode_batch(data) for data in fresh.batches)
