"""A rummyd of one's own, as a process: started on free ports, and started again on the same ones when it ends.

Its games are in a folder that outlives the process, so that a server that is killed, by whomever, goes on where it was.
"""

import asyncio
import os
import re
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

__all__ = ["Rummyd", "StartError", "rummyd"]

_ROOT: Final = Path(__file__).parents[2]
_START_S: Final = 60.0
"""The longest wait for a server to say where it listens."""
_STOP_S: Final = 15.0


class StartError(Exception):
    """The server did not start. The text is what it said."""


class Rummyd:
    """One server, in as many processes as it takes. `grpc` is `HOST:PORT`, `rest` and `metrics` are URLs.

    `flags` are further ones of its own, such as `--workers 2`.
    """

    def __init__(self, folder: Path, *flags: str) -> None:
        self._folder, self._flags = folder, flags
        self._process: asyncio.subprocess.Process | None = None
        self._ports = {"--grpc-port": "0", "--rest-port": "0", "--metrics-port": "0"}
        self.grpc = self.rest = self.metrics = ""

    @property
    def pid(self) -> int:
        """The id of its process of now."""
        return self._running().pid

    async def start(self) -> None:
        """Starts it, the first time on free ports and then on those. Returns when it takes calls. Raises StartError."""
        flags = [word for pair in self._ports.items() for word in pair]
        with (self._folder / "rummyd.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "service", "--embedded", "--data-dir", str(self._folder / "data"), "--log-format", "json"),
                *self._flags,
                *flags,
                cwd=_ROOT,
                env={name: value for name, value in os.environ.items() if not name.startswith("RUMMYD_")},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the demo, which stops it in its own time
            )
        where = await self._where()
        self.grpc, self.rest = where["gRPC"], where["REST"].removesuffix("/v1/games")
        self.metrics = where["metrics"]
        for flag, name in (("--grpc-port", "gRPC"), ("--rest-port", "REST"), ("--metrics-port", "metrics")):
            self._ports[flag] = re.findall(r":(\d+)", where[name])[0]

    def kill(self) -> None:
        """Ends it at once, as a crash would."""
        self._running().send_signal(signal.SIGKILL)

    async def keep(self, restarted: Callable[[int], None]) -> None:
        """Starts it again whenever it ends, and says so with the signal that ended it, or its exit status."""
        while True:
            status = await self._running().wait()
            await self.start()
            restarted(-status if status < 0 else status)

    async def stop(self) -> None:
        """Stops it, if it runs."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), _STOP_S)
        except TimeoutError:
            process.kill()
            await process.wait()

    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise RuntimeError("it has not been started")
        return self._process

    async def _where(self) -> dict[str, str]:
        """What it says of where it is: `  gRPC     127.0.0.1:50051`, and so on, up to the line with curl."""
        process, where = self._running(), dict[str, str]()
        if process.stdout is None:
            raise RuntimeError("its stdout is a pipe")
        with suppress(TimeoutError):
            async with asyncio.timeout(_START_S):
                async for line in process.stdout:
                    if found := re.match(r"  (\w+) +(\S+)", line.decode()):
                        where.setdefault(found[1], found[2])
                    if b"curl" in line:
                        return where
        await self.stop()
        said = (self._folder / "rummyd.log").read_text().splitlines()
        raise StartError(said[-1] if said else "rummyd did not start, and did not say why")


@asynccontextmanager
async def rummyd(*flags: str) -> AsyncIterator[Rummyd]:
    """A server that runs meanwhile, with these flags; its games and its log go with it. Raises StartError."""
    with tempfile.TemporaryDirectory(prefix="rummyd-demo-", ignore_cleanup_errors=True) as folder:
        server = Rummyd(Path(folder), *flags)
        try:
            await server.start()
            yield server
        finally:
            await server.stop()
