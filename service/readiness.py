"""Whether this server is fit to take calls: there are shards that take commits, and it is not about to stop."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Never, Protocol

import structlog

from service.observability import metrics
from service.observability.background import survived
from service.store.keys import SHARDS

__all__ = ["Readiness"]

PULSE_S: Final = 1.0
"""How often the store is probed."""

_log: Final = structlog.get_logger(__name__)


class Tell(Protocol):
    """Hears of a change."""

    async def __call__(self, *, healthy: bool) -> None: ...


class Readiness:
    """Asked, it answers at once with what was found out last.

    `lost_shards` gives the shards that take no commit, with the reason of each. All of them lost: the server is unfit.
    With some of them lost it is fit, for the tables of the others; see docs/decisions/ready-while-a-shard-is.md.
    `tell` is told of every change.
    """

    def __init__(self, lost_shards: Callable[[], Awaitable[Mapping[int, str]]], tell: Tell) -> None:
        self._lost_shards, self._tell = lost_shards, tell
        self._ready = self._draining = False
        self._missed: set[int] = set()

    def __call__(self) -> bool:
        """Whether the server is fit to take calls."""
        return self._ready

    async def keep(self) -> Never:
        """Finds out again and again, until it is cancelled."""
        while True:
            with survived("pulse"):
                await self.refresh()
            await asyncio.sleep(PULSE_S)

    async def refresh(self) -> None:
        """Finds out now."""
        lost = await self._lost_shards()
        metrics.shards_lost.set(len(lost))
        if len(lost) == SHARDS:
            await self._change(ready=False, why=lost[0])
        else:
            self._note(lost)
            await self._change(ready=not self._draining, why="the store commits")

    async def drain(self) -> None:
        """The server is about to stop: it is unfit from now on, whatever the store does."""
        self._draining = True
        await self._change(ready=False, why="the server drains")

    def _note(self, lost: Mapping[int, str]) -> None:
        """Logs which shards are lost, where they are others than before."""
        if self._missed == lost.keys():
            return
        self._missed = set(lost)
        if lost:
            _log.warning("shards_lost", shards=sorted(lost), why=next(iter(lost.values())))
        else:
            _log.info("shards_back")

    async def _change(self, *, ready: bool, why: str) -> None:
        if ready != self._ready:
            self._ready = ready
            metrics.ready.set(ready)
            log = _log.info if ready or self._draining else _log.warning
            log("ready" if ready else "not_ready", why=why)
            await self._tell(healthy=ready)
