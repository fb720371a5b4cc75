"""Several servers on the same ports, each a process of its own. One that ends or hangs is replaced.

    async with working(settings) as server:
        server.addresses              where they listen
        await server.failure()        returns when they cannot go on, and says why

This process holds the ports, keeps the embedded Redis where there is one, and shows the metrics of all. The system
spreads connections over those that listen.
"""

import asyncio
import platform
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Never

from msgspec.structs import replace

from service.http_server import reserve
from service.keeper import Keeper
from service.observability import metrics
from service.observability.shared import Shared
from service.server import Addresses, Server
from service.settings import Settings
from service.startup import StartError, listening, redis_of

__all__ = ["working"]


class _Workers:
    """The workers, each with its keeper."""

    def __init__(self, settings: Settings, shared: Shared, count: int) -> None:
        self._keepers = [Keeper(number, settings, shared) for number in range(count)]
        self.tasks: tuple[asyncio.Task[Never], ...] = ()

    def pids(self) -> dict[int, int]:
        """The process id of each worker that lives, by its number."""
        return {keeper.number: keeper.pid for keeper in self._keepers if keeper.pid is not None}

    async def start(self) -> None:
        """Starts all, and waits until they take calls. Raises StartError where one cannot."""
        started = await asyncio.gather(*(keeper.start() for keeper in self._keepers))
        if not all(started):
            raise StartError("a worker did not start; its log says why")
        self.tasks = tuple(asyncio.create_task(each.keep(), name=f"worker {each.number}") for each in self._keepers)

    async def stop(self) -> None:
        """Has all drain, and waits for their end."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await asyncio.gather(*(keeper.stop() for keeper in self._keepers))


@asynccontextmanager
async def working(settings: Settings) -> AsyncIterator[Server]:
    """Servers that run meanwhile. Raises StartError where they cannot start; then nothing of them is left."""
    async with AsyncExitStack() as stack:
        url, games, embedded = await redis_of(settings, stack)
        ports = []
        for what, host, port in (
            ("gRPC", settings.grpc_host, settings.grpc_port),
            ("REST", settings.rest_host, settings.rest_port),
        ):
            with listening(what, host, port):
                ports.append(stack.enter_context(reserve(host, port)).getsockname()[1])
        shared = stack.enter_context(Shared.kept())
        each = replace(
            settings,
            redis_url=url,
            embedded=False,
            grpc_port=ports[0],
            rest_port=ports[1],
            log_format="json" if settings.log_format == "json" or not sys.stderr.isatty() else "console",
            instance=settings.instance or platform.node(),
            workers=1,
        )
        workers = _Workers(each, shared, settings.workers)
        with listening("metrics", settings.metrics_host, settings.metrics_port):
            registry = shared.registry(workers.pids)
            shown = metrics.MetricsServer.start(settings.metrics_host, settings.metrics_port, registry)
        stack.push_async_callback(shown.stop)
        addresses = Addresses(
            grpc=(settings.grpc_host, ports[0]),
            rest=(settings.rest_host, ports[1]),
            metrics=(settings.metrics_host, shown.port),
            games=games,
            tls=bool(settings.tls_certificate),
        )
        stack.push_async_callback(workers.stop)
        await workers.start()
        yield Server(addresses, embedded, workers.tasks)
