"""The figures that docs/operations.md tells of capacity: three runs, each on a server of its own."""

import math
import os
import platform
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from bench.load.report import figures
from bench.load.run import Outcome, Plan

__all__ = ["PAGE", "PLANS", "write"]

PAGE: Final = Path(__file__).parents[2] / "docs" / "operations.md"
_PLACE: Final = re.compile(r"(?<=<!-- capacity: written by `make capacity` -->\n).*?(?=<!-- /capacity -->)", re.DOTALL)

PLANS: Final = (Plan(streams=False), Plan(), Plan(tables=500, rate=250.0, seconds=20.0, connections=0))
"""As fast as it goes, without streams and with them; and a thousand players, each of whom acts every four seconds, and
has a connection and a stream of its own."""

_OF_PLAYERS: Final = (
    "acts",
    "server, idle",
    "server",
    "server, memory",
    "server, a connection",
    "server, a table",
    "server, a stream",
    "event loop late",
    "commit to hand-over",
    "Redis, idle",
    "Redis",
    "Redis, commands",
    "Redis, network",
    "Redis, a table",
)
_OF_AN_ACT: Final = ("server, an act", "an act, in null calls", "Redis, an act", "Redis, commands", "Redis, a table")
"""The figures that are told of each."""

_TIMES: Final = 100
_FULL: Final = 0.7
"""How busy a core may be that still has room for a bad minute."""


def write(outcomes: Sequence[Outcome], page: Path = PAGE) -> None:
    """Puts the figures of what came of the plans into the page. Raises ValueError where it has no place for them."""
    fresh = "".join(f"{line}\n" for line in _lines(*outcomes))
    text, places = _PLACE.subn(lambda _: fresh, page.read_text())
    if places != 1:
        raise ValueError(f"{page} has {places} places for the figures of capacity")
    page.write_text(text)


def _lines(alone: Outcome, watched: Outcome, players: Outcome) -> Iterator[str]:
    cores, python = _cores(), platform.python_version()
    load = os.getloadavg()[0]
    yield f"Measured with Python {python} on {cores}, where the driver and other work ran, too: a load of {load:.0f}."
    yield from ("", "| 1,000 active players | |", "|---|---|")
    found = figures(players)
    for name in _OF_PLAYERS:
        yield _row(name, *found[name])
    for name, latency in (
        ("act, from when it was due", players.tally.from_due),
        ("act to observer", players.tally.to_observer),
    ):
        p50, p99 = latency.ms((50, 99))
        yield f"| {name}: median, 99 % | {p50:.1f} ms, {p99:.1f} ms |"
    yield from _scaled(players)
    yield from ("", "| an act | nobody watches | a stream a seat |", "|---|---|---|")
    left, right = figures(alone), figures(watched)
    for name in _OF_AN_ACT:
        yield f"{_row(name, *left[name])} {_told(*right[name])} |"
    full = [1e6 / both["server, an act"][0] for both in (left, right)]
    yield f"| acts a second that a core can serve | {full[0]:,.0f} | {full[1]:,.0f} |"


def _scaled(players: Outcome) -> Iterator[str]:
    """What a hundred times as many take, where it grows as they do."""
    found = {name: value for name, (value, _) in figures(players).items()}
    workers = math.ceil(_TIMES * found["server"] / 100 / _FULL)
    masters = math.ceil(_TIMES * found["Redis"] / 100 / _FULL)
    few, seats = players.server_bytes.few, players.plan.tables * players.plan.seats
    memory = workers * few + _TIMES * (players.server_bytes.streams - few)
    yield from ("", f"| {_TIMES * seats:,} such players, reckoned from these | |", "|---|---|")
    yield f"| workers, each {100 * _FULL:.0f} % of a core busy | {workers} |"
    yield f"| memory of all workers | {memory / 2**30:.1f} GiB |"
    yield f"| Redis masters, each {100 * _FULL:.0f} % of a core busy | {masters} |"
    yield f"| memory for their tables | {_TIMES * players.plan.tables * players.table_bytes / 2**30:.1f} GiB |"


def _row(name: str, value: float, unit: str) -> str:
    return f"| {name} | {_told(value, unit)} |"


def _told(value: float, unit: str) -> str:
    return f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}".rstrip()


def _cores() -> str:
    """The kind of the machine's processor, and how many it has."""
    found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    count = len(re.findall(r"^processor", Path("/proc/cpuinfo").read_text(), re.MULTILINE))
    return f"{count} cores of {found[1]}" if found else f"{platform.machine()}, {count} cores"
