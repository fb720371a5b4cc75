"""`make load`: Locust's scenarios for half a minute, on a rummyd of its own, and a report of it in a folder.

    make load                                              40 users
    make load ARGS="--users 200 --run-time 5m"             whatever Locust takes
    make load ARGS="--host http://HOST:8080"               a server that runs already
    make load ARGS="--host … --metrics URL --redis URL"    and what CPU it and its Redis take
    make load ARGS="--processes 2"                         several processes; --master and --worker: several machines

It ends with 1 where more requests failed than --max-fail-ratio (0.01) allows, or nobody acted. Ctrl-C ends a run early:
what was found up to then is told, and judged.
"""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.load.server import Where, serving
from clients.demo.rummyd import StartError
from service.embedded import EmbeddedRedisError

_ROOT: Final = Path(__file__).parents[1]
_USUAL: Final = ("--headless", "--only-summary", "--users", "40", "--run-time", "30s")
_END_S: Final = 15.0
"""How long Locust may take to end."""


def main(flags: Sequence[str] | None = None) -> int:
    """Runs Locust with these flags and the usual ones, and gives its exit status."""
    parser = argparse.ArgumentParser(prog="make load", description=__doc__, add_help=False, allow_abbrev=False)
    parser.add_argument("--host", "-H")
    parser.add_argument("--metrics", default="")
    parser.add_argument("--redis", default="")
    parser.add_argument("--worker", action="store_true")
    parser.add_argument("--report", default="load-report")
    asked, others = parser.parse_known_args(flags)
    if not asked.worker:
        Path(asked.report).mkdir(parents=True, exist_ok=True)
    try:
        return asyncio.run(_run(asked, others))
    except KeyboardInterrupt:  # a second one
        return 128 + signal.SIGINT
    except TimeoutError:
        print(f"load: Locust did not end within {_END_S:.0f} s", file=sys.stderr)
        return 1
    except (StartError, EmbeddedRedisError, OSError) as error:
        print(f"load: {error}", file=sys.stderr)
        return 1


async def _run(asked: argparse.Namespace, others: Sequence[str]) -> int:
    if asked.worker:
        return await _locust("--worker", *others)
    folder = Path(asked.report)
    report = ("--html", str(folder / "report.html"), "--csv", str(folder / "load"))
    if asked.host:
        status = await _locust(*_USUAL, *report, *_of(asked.host, asked.metrics, asked.redis), *others)
    else:
        async with serving(Where()) as server:
            status = await _locust(*_USUAL, *report, *_of(server.rest, server.metrics, server.redis), *others)
    if (folder / "report.html").exists():
        print(f"load: the report is {folder / 'report.html'}", file=sys.stderr)
    return status


def _of(host: str, metrics: str, redis_url: str) -> tuple[str, ...]:
    """Of whom Locust is told: whom to call, and who tells of the CPU time that it took."""
    return ("--host", host, "--metrics", metrics, "--redis", redis_url)


async def _locust(*flags: str) -> int:
    command = (sys.executable, "-m", "locust", "--locustfile", str(_ROOT / "load" / "locustfile.py"), *flags)
    paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    process = await asyncio.create_subprocess_exec(*command, env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)})
    try:
        return await process.wait()
    except asyncio.CancelledError:  # Ctrl-C is for Locust, too, which says what it has found
        return await asyncio.wait_for(process.wait(), _END_S)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


if __name__ == "__main__":
    sys.exit(main())
