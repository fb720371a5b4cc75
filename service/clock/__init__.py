"""What falls due: every server looks for it, and each thing is done by one of them.

    clock = Clock(desk, interval_s)
    await clock.look()       once
    await clock.keep()       again and again, until it is cancelled

A look claims what it finds (`service.store.due`), and does it by the one use case for it (`service.games.tick`). That
it is answered is a sign of life, too: time in which no look of any server was counts against no player.
"""

import asyncio
import random
from contextlib import suppress
from typing import Final, Never

import structlog

from service.games.desk import Desk
from service.games.errors import GameError
from service.games.tick import tick
from service.observability import metrics
from service.observability.background import survived
from service.store.due import SILENCE_MS, Look
from service.store.errors import NewerTable, StoreUnavailable
from service.store.keys import SHARDS

__all__ = ["Clock"]

_MOST: Final = 8
"""Games that one look claims of a shard: what is left is for the other servers, or for the next look."""

_log: Final = structlog.get_logger(__name__)


class Clock:
    """One process's looks at what is due, about every `interval_s` seconds."""

    def __init__(self, desk: Desk, interval_s: float) -> None:
        self._desk = desk
        self._interval_s = interval_s
        self._busy: set[int] = set()
        self._answered: dict[int, int] = {}
        """When a look at a shard was last answered, in ms since 1970."""

    async def keep(self) -> Never:
        """Looks again and again, and at once where more was due than one look takes.

        A shard that keeps it waiting holds up no other: a look that is late there would pass for an outage.
        """
        async with asyncio.TaskGroup() as looks:
            while True:
                for shard in set(range(SHARDS)) - self._busy:
                    self._busy.add(shard)
                    looks.create_task(self._work_off(shard))
                # Servers that were started at the same time do not go on looking at the same time.
                await asyncio.sleep(self._interval_s * random.uniform(0.75, 1.25))  # noqa: S311  no secret

    async def look(self) -> bool:
        """Looks at every shard and does what is due; tells whether there was more. What fails is tried again later."""
        return any(await asyncio.gather(*map(self._look_at, range(SHARDS))))

    async def _work_off(self, shard: int) -> None:
        """Looks at a shard until nothing is left that is due."""
        try:
            while await self._look_at(shard):
                pass
        finally:
            self._busy.discard(shard)

    async def _look_at(self, shard: int) -> bool:
        games: tuple[str, ...] = ()
        with survived("clock"), suppress(StoreUnavailable):  # counted by the store, and told by the readiness
            games = await self._claimed(shard)
        for game in games:
            await self._do(game)
        return len(games) >= _MOST

    async def _claimed(self, shard: int) -> tuple[str, ...]:
        """The games of a shard in which something is due, once all is known of the outages by which it is judged.

        An answer that comes long after the last that is known of may end an outage, or this process alone was held up
        while others served: only the store can tell, and does so when the next look has told it of this answer.
        """
        found = await self._look_once(shard)
        games = found.games
        if self._answered[shard] - found.served_ms > SILENCE_MS:
            found = await self._look_once(shard)
            games += found.games
        self._desk.outages.put(shard, found.outages, self._answered[shard])
        return games

    async def _look_once(self, shard: int) -> Look:
        found = await self._desk.store.look(shard, self._desk.now_ms(), _MOST, self._answered.get(shard))
        self._answered[shard] = self._desk.now_ms()
        return found

    async def _do(self, game: str) -> None:
        """Does what is due in a game. Whatever goes wrong there is no matter of the other games."""
        try:
            await tick(self._desk, game)
        except (StoreUnavailable, NewerTable, GameError):  # for a later look, or for a server of the newer release
            metrics.tick_failures.inc()
        except Exception:  # noqa: BLE001  an unforeseen fault of one game; the log has it
            metrics.tick_failures.inc()
            _log.exception("tick_failed", game=f"games/{game}")
        else:
            metrics.ticks.inc()
