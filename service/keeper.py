"""What keeps one of several workers: its process is replaced when it has ended, and ended when it hangs.

    keeper = Keeper(number, settings, shared)
    await keeper.start()      whether it takes calls now
    await keeper.keep()       replaces it again and again, until it is cancelled
    await keeper.stop()       has it drain, and waits for its end

A worker gives a sign of life every second. Its silence is counted in waits of this process, a second each, and not by
the clock: where a whole machine stood still for a while, this process did, too, and nobody is to blame.
"""

import asyncio
import contextlib
import os
import sys
import time
from asyncio.subprocess import PIPE, Process
from typing import Final, Never

import msgspec
import structlog
from msgspec.structs import replace

from service.observability import metrics
from service.observability.shared import Shared
from service.settings import Settings
from service.worker import BEAT_S, READY

__all__ = ["Keeper"]

_STEADY_S: Final = 5.0
"""A worker that ends sooner is replaced no sooner, so that one which cannot start is not started all the time."""
_SPARE_S: Final = 10.0
"""How much longer than its grace a worker may take to stop before it is killed."""

_log: Final = structlog.get_logger(__name__)


class Keeper:
    """Keeps the worker of this number. `settings` are those of each worker, and `shared` is where its metrics go."""

    def __init__(self, number: int, settings: Settings, shared: Shared) -> None:
        self.number: Final = number
        self._settings = replace(settings, instance=f"{settings.instance}/{number}")
        self._shared = shared
        self._process: Process | None = None

    @property
    def pid(self) -> int | None:
        """The id of the worker's process; None: none lives."""
        return self._process.pid if self._process and self._process.returncode is None else None

    async def start(self) -> bool:
        """Starts the worker, and waits until it takes calls; whether it does."""
        self._process = process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "service.worker", stdin=PIPE, stdout=PIPE,
            env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(self._shared.folder)},
        )  # fmt: skip
        if process.stdin is None or process.stdout is None:
            raise AssertionError("both are pipes")
        with contextlib.suppress(ConnectionError):
            process.stdin.write(msgspec.json.encode(self._settings) + b"\n")
            await process.stdin.drain()
        said = await process.stdout.readline()  # where many start at once the first sign of life may take long
        while said not in {READY, b""}:
            said = await self._said(process)
        return said == READY

    async def keep(self) -> Never:
        """Replaces the worker whenever it has ended."""
        while True:
            begun, process = time.monotonic(), self._process
            if process is None:
                raise RuntimeError("it was not started")
            while await self._said(process):
                pass
            status = await process.wait()
            self._shared.ended(process.pid)
            metrics.worker_restarts.inc()
            _log.error("worker_ended", worker=self.number, pid=process.pid, status=status)
            await asyncio.sleep(max(0.0, begun + _STEADY_S - time.monotonic()) if status else 0.0)
            try:
                if await self.start():
                    _log.info("worker_replaced", worker=self.number, pid=self.pid)
            except Exception:  # noqa: BLE001  no process or descriptor to be had: it is tried again
                _log.exception("worker_not_started", worker=self.number)
                await asyncio.sleep(_STEADY_S)

    async def stop(self) -> None:
        """Has the worker drain, and waits for its end; when it outlasts its grace it is killed."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        try:
            await asyncio.wait_for(self._process.wait(), self._settings.grace_seconds + _SPARE_S)
        except TimeoutError:
            _log.error("worker_killed", worker=self.number, pid=self._process.pid)
            self._process.kill()
            await self._process.wait()

    async def _said(self, process: Process) -> bytes:
        """The next line of a worker; nothing once it has ended. When it is silent for too long it is killed."""
        if process.stdout is None:
            raise AssertionError("it is a pipe")
        for _ in range(self._settings.worker_silence_seconds):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(BEAT_S):
                    return await process.stdout.readline()
        _log.error("worker_hangs", worker=self.number, pid=process.pid)
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        return b""
