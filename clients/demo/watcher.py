"""A spectator: it watches a table and remembers all that it is told."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from functools import partial

from rummy.v1.event_pb2 import EventBatch
from rummy.v1.game_pb2 import Game

from clients.api import Api
from clients.retry import followed

__all__ = ["Watcher"]


class Watcher:
    """What one spectator was told: `snapshots` of the table, and `batches` of events, in order.

    `seated` is set when it has seen the table for the first time.
    """

    def __init__(self, api: Api, how: str) -> None:
        self._api, self.how = api, how
        self.snapshots: list[Game] = []
        self.batches: list[EventBatch] = []
        self.seated = asyncio.Event()

    async def watch(
        self,
        game: str,
        *,
        hear: Callable[[Game | EventBatch], None] = lambda _news: None,
        resumed: Callable[["Watcher", int], None] = lambda _watcher, _after: None,
    ) -> None:
        """Watches until the match ends.

        `hear` gets each thing told, `resumed` the version after which a stream that was lost goes on.
        """
        async with aclosing(followed(self._api, game, resumed=partial(resumed, self))) as news:
            async for item in news:
                if isinstance(item, Game):
                    self.snapshots.append(item)
                    self.seated.set()
                else:
                    self.batches.append(item)
                hear(item)
