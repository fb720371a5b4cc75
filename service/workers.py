"""Several servers on the same ports, each a process of its own. One that ends is replaced.

    async with working(settings) as server:
        server.addresses              where they listen
        await server.failure()        returns when they cannot go on, and says why

This process holds the ports, keeps the embedded Redis where there is one, and shows the metrics of all. The system
spreads connections over those that listen.
"""

import asyncio
import contextlib
import os
import platform
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import msgspec
import structlog
from msgspec.structs import replace

from service.http_server import reserve
from service.observability import metrics
from service.server import Addresses, Server, StartError, listening, redis_of
from service.settings import Settings
from service.worker import READY

__all__ = ["working"]

_STEADY_SECONDS: Final = 5.0
"""A worker that ends sooner is replaced no sooner, so that one which cannot start is not started all the time."""
_SPARE_SECONDS: Final = 10.0
"""How much longer than its grace a worker may take to stop before it is killed."""

_log: Final = structlog.get_logger(__name__)


class _Workers:
    """The processes. Each is replaced when it ends, until `stop`."""

    def __init__(self, settings: Settings, values: str) -> None:
        """`settings` are those of each worker; `values` is the folder that their metrics are written to."""
        self.keepers: tuple[asyncio.Task[None], ...] = ()
        self._settings, self._values = settings, values
        self._processes: dict[int, Process] = {}

    def pids(self) -> dict[int, int]:
        """The process id of each worker that lives, by its number."""
        return {number: process.pid for number, process in self._processes.items() if process.returncode is None}

    async def start(self, count: int) -> None:
        """Starts so many, and waits until all take calls. Raises StartError where one cannot."""
        numbers = range(count)
        started = await asyncio.gather(*map(self._started, numbers))
        if not all(started):
            raise StartError("a worker did not start; its log says why")
        self.keepers = tuple(asyncio.create_task(self._keep(number), name=f"worker {number}") for number in numbers)

    async def stop(self) -> None:
        """Has all drain, and waits for their end; those that outlast their grace are killed."""
        for keeper in self.keepers:
            keeper.cancel()
        await asyncio.gather(*self.keepers, return_exceptions=True)
        for process in self._processes.values():
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
        await asyncio.gather(*map(self._ended, self._processes.values()))

    async def _keep(self, number: int) -> None:
        """Replaces the worker of this number whenever it has ended."""
        while True:
            begun, process = time.monotonic(), self._processes[number]
            status = await process.wait()
            metrics.mark_dead(self._values, process.pid)
            metrics.worker_restarts.inc()
            _log.error("worker_ended", worker=number, pid=process.pid, status=status)
            await asyncio.sleep(max(0.0, begun + _STEADY_SECONDS - time.monotonic()) if status else 0.0)
            if await self._started(number):
                _log.info("worker_replaced", worker=number, pid=self._processes[number].pid)

    async def _started(self, number: int) -> bool:
        """Starts the worker of this number; whether it takes calls now."""
        settings = replace(self._settings, instance=f"{self._settings.instance}/{number}")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "service.worker", stdin=PIPE, stdout=PIPE,
            env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": self._values},
        )  # fmt: skip
        self._processes[number] = process
        if process.stdin is None or process.stdout is None:
            raise AssertionError("both are pipes")
        with contextlib.suppress(ConnectionError):
            process.stdin.write(msgspec.json.encode(settings) + b"\n")
            await process.stdin.drain()
        return await process.stdout.readline() == READY

    async def _ended(self, process: Process) -> None:
        try:
            await asyncio.wait_for(process.wait(), self._settings.grace_seconds + _SPARE_SECONDS)
        except TimeoutError:
            _log.error("worker_killed", pid=process.pid)
            process.kill()
            await process.wait()


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
        values = stack.enter_context(tempfile.TemporaryDirectory(prefix="rummyd-metrics-"))
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
        workers = _Workers(each, values)
        with listening("metrics", settings.metrics_host, settings.metrics_port):
            registry = metrics.of_workers(values, workers.pids)
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
        await workers.start(settings.workers)
        yield Server(addresses, embedded, workers.keepers)
