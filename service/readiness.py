"""Whether this server is fit to take calls: its store answers, and it is not about to stop."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Never, Protocol

import structlog

from service.observability import metrics
from service.store.errors import StoreUnavailable

__all__ = ["Readiness"]

PULSE_SECONDS: Final = 1.0
"""How often the store is asked for a sign of life."""

_log: Final = structlog.get_logger(__name__)


class Tell(Protocol):
    """Hears of a change."""

    async def __call__(self, *, healthy: bool) -> None: ...


class Readiness:
    """Asked, it answers at once with what was found out last, at most about a second ago.

    `ping` raises StoreUnavailable where the store does not answer; `tell` is told of every change.
    """

    def __init__(self, ping: Callable[[], Awaitable[None]], tell: Tell) -> None:
        self._ping, self._tell = ping, tell
        self._ready = self._draining = False

    def __call__(self) -> bool:
        """Whether the server is fit to take calls."""
        return self._ready

    async def keep(self) -> Never:
        """Finds out again and again, until it is cancelled."""
        while True:
            await self.refresh()
            await asyncio.sleep(PULSE_SECONDS)

    async def refresh(self) -> None:
        """Finds out now."""
        try:
            await self._ping()
        except StoreUnavailable as error:
            await self._change(ready=False, why=str(error))
        else:
            await self._change(ready=not self._draining, why="the store answers")

    async def drain(self) -> None:
        """The server is about to stop: it is unfit from now on, whatever the store does."""
        self._draining = True
        await self._change(ready=False, why="the server drains")

    async def _change(self, *, ready: bool, why: str) -> None:
        if ready != self._ready:
            self._ready = ready
            metrics.ready.set(ready)
            log = _log.info if ready or self._draining else _log.warning
            log("ready" if ready else "not_ready", why=why)
            await self._tell(healthy=ready)
