"""`python -m service`, or `rummyd`: a server, from the command line to its end.

It ends with 0 after a signal to stop, with 1 where it cannot start or go on, with 2 where a setting is bad. A second
signal ends it at once.
"""

import asyncio
import os
import platform
import signal
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Final

import structlog
import uvloop
from rich.console import Console

from service import descriptors
from service.observability import logs
from service.server import Addresses, running
from service.settings import Settings, SettingsError, read
from service.startup import StartError
from service.workers import working

__all__ = ["main"]

_log: Final = structlog.get_logger(__name__)


def main(flags: Sequence[str] | None = None) -> int:
    """Runs a server as the flags and the environment say, and gives the process's exit status."""
    try:
        settings = read(sys.argv[1:] if flags is None else flags, os.environ)
    except SettingsError as error:
        return _complain(*error.faults, status=2)
    json = settings.log_format == "json" or (settings.log_format == "auto" and not sys.stderr.isatty())
    logs.configure(json=json, level=settings.log_level, instance=settings.instance or platform.node())
    descriptors.raise_limit()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_serve(settings))
    except StartError as error:
        return _complain(str(error), status=1)


async def _serve(settings: Settings) -> int:
    stop = _stop_signal()
    async with working(settings) if settings.workers > 1 else running(settings) as server:
        _announce(server.addresses)
        failing = asyncio.create_task(server.failure())
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait([failing, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if stop.is_set():
            failing.cancel()
            return 0
        _log.error("failed", why=await failing)
        return 1


def _stop_signal() -> asyncio.Event:
    """Set by the first SIGINT or SIGTERM. The second ends the process there and then."""
    stop = asyncio.Event()

    def told(number: int) -> None:
        if stop.is_set():
            os._exit(128 + number)  # an embedded Redis notices, and ends as well
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, told, number)
    return stop


def _announce(at: Addresses) -> None:
    """Says on stdout where the server is to be found, and how to create a table."""
    rest = f"{'https' if at.tls else 'http'}://{_url_host(*at.rest)}"
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"[bold]rummyd {version('rummyd')}[/bold] runs; Ctrl-C stops it")
    for name, where in (
        ("gRPC", _url_host(*at.grpc)),
        ("REST", f"{rest}/v1/games"),
        ("docs", f"{rest}/docs"),
        ("metrics", f"http://{_url_host(*at.metrics)}/metrics"),
        ("games", at.games),
    ):
        console.print(f"  [dim]{name:8}[/dim] ", end="")
        console.print(where, markup=False)
    console.print("Create a table:")
    console.print(f"""  curl -X POST {rest}/v1/games -d '{{"seatCount": 4}}'""", markup=False)


def _url_host(host: str, port: int) -> str:
    """Host and port as they stand in a URL that works on this machine."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _complain(*lines: str, status: int) -> int:
    for line in lines:
        print(f"rummyd: {line}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
