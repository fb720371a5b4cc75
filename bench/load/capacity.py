"""The figures that docs/operations.md tells of capacity: four runs, each on a server of its own."""

import math
import os
import platform
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from bench.load.report import FROM_DUE, figures
from bench.load.run import Outcome, Plan
from service.store.keys import SHARDS

__all__ = ["KEPT_S", "PAGE", "PLANS", "TooBusyError", "masters", "write"]

PAGE: Final = Path(__file__).parents[2] / "docs" / "operations.md"
_PLACE: Final = re.compile(r"(?<=<!-- capacity: written by `make capacity` -->\n).*?(?=<!-- /capacity -->)", re.DOTALL)

_PLAYERS: Final = Plan(tables=500, rate=250.0, seconds=20.0, connections=0)
PLANS: Final = (Plan(streams=False), Plan(), _PLAYERS, replace(_PLAYERS, front="rest"))
"""As fast as it goes, without streams and with them; and a thousand players, each of whom acts every four seconds, and
has a connection and a stream of its own: over gRPC, and over REST."""

_OF_PLAYERS: Final = (
    "acts",
    "server, idle",
    "server",
    "server, memory",
    "server, per connection",
    "server, per table",
    "server, per stream",
    "event loop late",
    "commit to hand-over",
    "Redis, idle",
    "Redis, looks",
    "Redis",
    "Redis, commands",
    "Redis, network",
    "Redis, per table",
)
_OF_AN_ACT: Final = (
    "server, per act",
    "one act, in null calls",
    "Redis, per act",
    "Redis, commands",
    "Redis, per table",
)
"""The figures that are told of each."""

_KEPT: Final = 0.95
"""The share of a rate that has to be kept, for figures to be those of the rate."""
_TIMES: Final = 100
_FULL: Final = 0.7
"""How busy a core may be that still has room for a bad minute."""
KEPT_S: Final = 3600
"""How long tables that are over are kept where there are so many (`RUMMYD_KEEP_OVER_SECONDS`)."""


class TooBusyError(Exception):
    """The players did not act as often as they should have: what was measured is the machine, and not the server."""


def write(outcomes: Sequence[Outcome], page: Path = PAGE) -> None:
    """Puts the figures of what came of the plans into the page.

    Raises TooBusyError where a plan's rate was not kept, and ValueError where the page has no place for them.
    """
    for outcome in outcomes:
        plan, rate = outcome.plan, outcome.tally.acts / outcome.used.wall_s
        if plan.rate and rate < _KEPT * plan.rate:
            raise TooBusyError(f"over {plan.front} there were {rate:.0f} acts a second, not {plan.rate:.0f}")
    fresh = "".join(f"{line}\n" for line in _lines(*outcomes))
    text, places = _PLACE.subn(lambda _: fresh, page.read_text())
    if places != 1:
        raise ValueError(f"{page} has {places} places for the figures of capacity")
    page.write_text(text)


def _lines(alone: Outcome, watched: Outcome, *players: Outcome) -> Iterator[str]:
    cores, python = _cores(), platform.python_version()
    load = os.getloadavg()[0]
    yield f"Measured with Python {python} on {cores}, where the driver and other work ran, too: a load of {load:.0f}."
    yield from ("", "| 1,000 active players | over gRPC | over REST, with server-sent events |", "|---|---|---|")
    found = [figures(outcome) for outcome in players]
    for name in _OF_PLAYERS:
        yield _row(name, *(_told(*of_one[name]) for of_one in found))
    for name, latencies in (
        ("act", [outcome.tally.from_due for outcome in players]),
        ("act to observer", [outcome.tally.to_observer_from_due for outcome in players]),
    ):
        yield _row(f"{name}, {FROM_DUE}: median, 99 %", *(_ms(*latency.ms((50, 99))) for latency in latencies))
    yield from _scaled(players)
    yield from ("", "| per act | nobody watches | one stream per seat |", "|---|---|---|")
    both = [figures(outcome) for outcome in (alone, watched)]
    for name in _OF_AN_ACT:
        yield _row(name, *(_told(*of_one[name]) for of_one in both))
    yield _row(
        "acts a second that a core can serve", *(f"{1e6 / of_one['server, per act'][0]:,.0f}" for of_one in both)
    )


def _scaled(players: Sequence[Outcome]) -> Iterator[str]:
    """What a hundred times as many take, where it grows as they do."""
    columns = [_taken(outcome) for outcome in players]
    seats = players[0].plan.tables * players[0].plan.seats
    yield from (
        "",
        f"| {_TIMES * seats:,} such players, calculated from these | over gRPC | over REST |",
        "|---|---|---|",
    )
    for name in columns[0]:
        yield _row(name, *(column[name] for column in columns))


def _taken(players: Outcome) -> dict[str, str]:
    found = {name: value for name, (value, _) in figures(players).items()}
    workers = math.ceil(_TIMES * found["server"] / 100 / _FULL)
    looks = found["Redis, idle"] / 100
    cores = _TIMES * (found["Redis"] / 100 - looks) + workers * looks
    under_way = _TIMES * players.plan.tables * players.table_bytes
    over = _TIMES * found["acts"] * KEPT_S * players.table_bytes / players.versions
    few = players.server_bytes.few
    memory = workers * few + _TIMES * (players.server_bytes.streams - few)
    return {
        f"workers, each {100 * _FULL:.0f} % of a core busy": str(workers),
        "memory of all workers": f"{memory / 2**30:.1f} GiB",
        "Redis, all masters together": f"{cores:.1f} cores",
        f"Redis masters, each {100 * _FULL:.0f} % of a core busy": masters(cores),
        "memory of Redis, for tables under way": f"{under_way / 2**30:.1f} GiB",
        "memory of Redis, for tables that were over within the hour": f"{over / 2**30:.1f} GiB",
    }


def masters(cores: float) -> str:
    """How many masters share so much work of Redis, as they share whole shards."""
    each = int(_FULL // (cores / SHARDS))
    return str(math.ceil(SHARDS / each)) if each else f"more than {SHARDS}"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _ms(median: float, p99: float) -> str:
    return f"{median:.1f} ms, {p99:.1f} ms"


def _told(value: float, unit: str) -> str:
    return f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}".rstrip()


def _cores() -> str:
    """The kind of the machine's processor, and how many it has."""
    found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    count = len(re.findall(r"^processor", Path("/proc/cpuinfo").read_text(), re.MULTILINE))
    return f"{count} cores of {found[1]}" if found else f"{platform.machine()}, {count} cores"
