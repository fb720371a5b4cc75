"""A rummyd under load, from one process on one core: what an act costs, and how long it and the news of it take.

    python -m bench.load                    as fast as 32 tables go, for ten seconds
    python -m bench.load --rate 200         200 acts a second on a schedule; latency counts from when an act was due
    python -m bench.load --capacity         `make capacity`: some runs, and their figures into docs/operations.md

    python -m bench.load --front rest       the same over REST, with server-sent events

It starts a server of its own, or measures one that runs (`--server`), where it leaves its tables behind. All is bounded
in time and number. It ends with 1 where a call failed, with 2 for a bad flag.
"""

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import uvloop
from redis import RedisError
from rich.console import Console

from bench.load import capacity
from bench.load.connection import FRONTS
from bench.load.report import as_json, drawn
from bench.load.run import Outcome, Plan, measure
from bench.load.server import Where, serving
from clients.api import CallError
from clients.demo.rummyd import StartError
from engine.presets import PRESETS
from service import descriptors
from service.embedded import EmbeddedRedisError

_WIDTH: Final = 120
"""Of a table that goes into a file."""


def main(flags: Sequence[str] | None = None) -> int:
    """Measures as the flags say, and gives the process's exit status."""
    parser = _parser()
    asked = parser.parse_args(flags)
    if not (asked.tables and asked.acts and asked.workers):
        parser.error("--tables, --acts and --workers are at least 1")
    if asked.server and (asked.workers > 1 or asked.capacity):
        parser.error("--workers and --capacity are for a server that is started here, and --server names another")
    if asked.server and asked.front == "rest" and not asked.rest:
        parser.error("--front rest is of a server that --rest names, where --server does")
    where = Where(asked.server, asked.rest, asked.metrics, asked.redis, asked.workers)
    plan = Plan(
        tables=asked.tables,
        seats=asked.seats,
        preset=asked.preset,
        streams=not asked.no_streams,
        seconds=asked.seconds,
        most=asked.acts,
        rate=asked.rate,
        connections=asked.connections,
        front=asked.front,
    )
    descriptors.raise_limit()  # a connection takes one, here and in the server
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            outcomes = runner.run(_measured(where, capacity.PLANS if asked.capacity else [plan]))
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except (StartError, EmbeddedRedisError, OSError, RedisError, CallError) as error:
        return _complain(str(error))
    if asked.json:
        Path(asked.json).write_text(json.dumps([*map(as_json, outcomes)], indent=2) + "\n")
    failed = any(outcome.tally.errors for outcome in outcomes)
    if asked.capacity and not failed:
        try:
            capacity.write(outcomes)
        except capacity.TooBusyError as error:
            return _complain(f"{error}: nothing is written. The machine has too much else to do")
    return int(failed)


async def _measured(where: Where, plans: Sequence[Plan]) -> list[Outcome]:
    """What came of each plan, on a server of its own, and told as soon as it is known."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH)
    outcomes = []
    for plan in plans:
        async with serving(where) as server:
            outcomes.append(await measure(server, plan))
        console.print(drawn(outcomes[-1]))
    return outcomes


def _complain(line: str) -> int:
    print(f"load: {line}", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    plan = Plan()
    parser = argparse.ArgumentParser(prog="python -m bench.load", description="Measures a rummyd under load.")
    add = parser.add_argument
    add("--rate", type=_positive, metavar="N", help="acts a second, on a schedule (default: as fast as it goes)")
    add("--seconds", type=_positive, default=plan.seconds, metavar="N", help=f"how long ({plan.seconds:g})")
    add("--acts", type=_count, default=plan.most, metavar="N", help=f"and how many at most ({plan.most:,})")
    add("--tables", type=_count, default=plan.tables, metavar="N", help=f"tables at a time ({plan.tables})")
    add("--seats", type=int, choices=range(2, 9), default=plan.seats, metavar="2-8", help=f"at each ({plan.seats})")
    add("--preset", choices=tuple(PRESETS), default=plan.preset, help=f"what is played ({plan.preset})")
    add("--front", choices=FRONTS, default=plan.front, help=f"how players speak to it ({plan.front})")
    add("--no-streams", action="store_true", help="nobody watches; else each seat does")
    add("--connections", type=_count, default=plan.connections, metavar="N", help=f"0: one a seat ({plan.connections})")
    add("--workers", type=_count, default=1, metavar="N", help="processes of the server that is started (1)")
    add("--redis", type=_single, default="", metavar="URL", help="its Redis, one server (default: one of its own)")
    add("--server", default="", metavar="HOST:PORT", help="a server that runs, by its gRPC port")
    add("--rest", default="", metavar="URL", help="that server by its REST port, for --front rest")
    add("--metrics", default="", metavar="URL", help="that server's metrics, for what it uses")
    add("--json", default="", metavar="FILE", help="where to write it all as JSON, too")
    add("--capacity", action="store_true", help="the runs behind docs/operations.md, and their figures into it")
    return parser


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return number


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0")
    return int(text)


def _single(text: str) -> str:
    if text and not text.startswith(("redis://", "rediss://", "unix://")):
        raise argparse.ArgumentTypeError(f"{text!r} is not the URL of one server: redis://, rediss:// or unix://")
    return text


if __name__ == "__main__":
    sys.exit(main())
