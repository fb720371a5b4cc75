"""Catching up: reading the history of topics that are behind, many games in a round trip.

There is one for each node, so that a node that is away holds up the topics of no other.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from service.observability.background import survived
from service.store.backoff import Backoff, cancelled
from service.store.errors import StoreUnavailable
from service.store.history import HistoryReader
from service.store.topic import Topic

__all__ = ["CatchUp"]

AT_ONCE: Final = 64
"""Games read in one round trip."""


class CatchUp:
    """The task that reads for the topics of a node; each `check_s` seconds it reads all of them, whatever was heard."""

    def __init__(self, reader: HistoryReader, check_s: float, ended: Callable[[Topic], None]) -> None:
        self._topics: set[Topic] = set()
        self._reader = reader
        self._check_s = check_s
        self._ended = ended
        self._behind: set[Topic] = set()
        self._wake = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name="feed-catch-up")

    def follow(self, topic: Topic) -> None:
        """Answers for this topic from now on."""
        self._topics.add(topic)
        if topic.behind:
            self.add(topic)

    def add(self, topic: Topic) -> None:
        """Reads this topic's history."""
        topic.behind = True
        self._behind.add(topic)
        self._wake.set()

    def forget(self, topic: Topic) -> None:
        """Answers for this topic no longer."""
        self._topics.discard(topic)
        self._behind.discard(topic)

    def stop(self) -> asyncio.Task[None]:
        """Reads nothing any more; the task that is given is about to end."""
        self._task.cancel()
        return self._task

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        check_at = loop.time() + self._check_s
        backoff = Backoff()
        while not cancelled():
            try:
                async with asyncio.timeout_at(check_at):
                    await self._wake.wait()
            except TimeoutError:
                check_at = loop.time() + self._check_s
                for topic in self._topics:
                    self.add(topic)
            with survived("feed"), suppress(StoreUnavailable):
                await self._read([*self._behind][:AT_ONCE])
                backoff.reset()
                if not self._behind:
                    self._wake.clear()
                continue
            await backoff.pause()

    async def _read(self, topics: list[Topic]) -> None:
        if not topics:
            return
        found = await self._reader.fresh([topic.cursor() for topic in topics])
        for topic, fresh in zip(topics, found, strict=True):
            if topic not in self._behind:
                continue
            topic.take(fresh)
            if not topic.behind:
                self._behind.discard(topic)
            if topic.ended is not None:
                self._ended(topic)
