"""The server that is measured: one of the driver's own, with a Redis of its own, or one that runs already."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from clients.demo.rummyd import rummyd
from service.embedded import EmbeddedRedis

__all__ = ["ONE_OF_MANY", "Server", "Where", "serving"]

_NO_LIMITS: Final = tuple(
    word
    for limit in (
        "calls-per-second",
        "acts-per-second",
        "tables-per-minute",
        "failures-per-minute",
        "streams-per-caller",
        "watchers-per-table",
    )
    for word in (f"--limit-{limit}", "0")
)
"""A driver is a crowd from one address: limits on a caller are none for it."""
ONE_OF_MANY: Final = ("--clock-seconds", "1")
"""As where many servers look for what is due."""


@dataclass(frozen=True, slots=True)
class Where:
    """What is to be measured. Without `server` (`HOST:PORT`) one is started, on `redis` or on a Redis of its own."""

    server: str = ""
    rest: str = ""
    metrics: str = ""
    redis: str = ""
    workers: int = 1
    flags: tuple[str, ...] = ()
    """Further ones of the server that is started."""


@dataclass(frozen=True, slots=True)
class Server:
    """Where it is: `HOST:PORT`; and the URLs of REST, its metrics and its Redis, empty where they are not known."""

    grpc: str
    rest: str
    metrics: str
    redis: str


@asynccontextmanager
async def serving(where: Where) -> AsyncIterator[Server]:
    """The server, which runs meanwhile. Raises StartError or EmbeddedRedisError.

    One of its own logs warnings and what is worse, and has no limits on callers. Its Redis appends every write to a
    file, as that of `make run` does.
    """
    if where.server:
        yield Server(where.server, where.rest, where.metrics, where.redis)
        return
    with tempfile.TemporaryDirectory(prefix="rummyd-load-") as folder, EmbeddedRedis(Path(folder)) as store:
        url = where.redis or store.url
        flags = ("--redis-url", url, "--workers", str(where.workers), "--log-level", "warning")
        async with rummyd(*flags, *_NO_LIMITS, *ONE_OF_MANY, *where.flags) as server:
            yield Server(server.grpc, server.rest, server.metrics, url)
