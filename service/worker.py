"""One of several servers on the same ports: `python -m service.worker`, as `service.workers` starts it.

It reads its settings, a line of JSON, from stdin; says every second on stdout that it lives, and once that it takes
calls; and drains at SIGTERM, or when stdin ends, which is when the process that started it is no more. Its exit status
is that of a server.
"""

import asyncio
import contextlib
import os
import signal
import sys
from typing import Final, Never

import msgspec
import structlog
import uvloop

from service.observability import logs
from service.server import running
from service.settings import Settings
from service.startup import StartError

__all__ = ["BEAT_S", "READY"]

READY: Final = b"ready\n"
_ALIVE: Final = b"alive\n"
BEAT_S: Final = 1.0
"""How often it says that it lives, in seconds."""

_log: Final = structlog.get_logger(__name__)


def main() -> int:
    """Runs a server until it is told to stop."""
    settings = msgspec.json.decode(sys.stdin.buffer.readline(), type=Settings)
    logs.configure(json=settings.log_format == "json", level=settings.log_level, instance=settings.instance)
    # Ctrl-C reaches every process of the terminal: it is for the one that keeps the workers to say what follows.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_serve(settings))


async def _serve(settings: Settings) -> int:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_reader(sys.stdin, stop.set)
    os.set_blocking(sys.stdout.fileno(), False)  # whoever does not listen holds nothing up
    beating = asyncio.create_task(_beat())
    try:
        async with running(settings, shared=True) as server:
            _say(READY)
            failing, stopping = asyncio.create_task(server.failure()), asyncio.create_task(stop.wait())
            await asyncio.wait([failing, stopping], return_when=asyncio.FIRST_COMPLETED)
            failed = failing.done()
            if failed:
                _log.error("failed", why=failing.result())
            failing.cancel()
            stopping.cancel()
            loop.remove_reader(sys.stdin)
            return int(failed)
    except StartError as error:
        _log.error("failed", why=str(error))
        return 1
    finally:
        beating.cancel()


async def _beat() -> Never:
    """Says that this process lives, for as long as its event loop goes round."""
    while True:
        _say(_ALIVE)
        await asyncio.sleep(BEAT_S)


def _say(line: bytes) -> None:
    with contextlib.suppress(BrokenPipeError, BlockingIOError):  # nobody listens any more, or for hours
        os.write(sys.stdout.fileno(), line)


if __name__ == "__main__":
    sys.exit(main())
