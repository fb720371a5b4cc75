"""`python -m tests.chaos`: every scenario at length, one after the other, and its figures into docs/operations.md.

It ends with 1 where a promise was broken. `--short` plays the short round; `--no-write` leaves the document alone.
"""

import argparse
import asyncio
import re
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tests.chaos import churn, nonsense, scenarios
from tests.chaos.scenarios import LONG, SHORT, Figures, Scale

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"
MARKS = re.compile(r"(<!-- chaos: figures -->\n).*?(<!-- /chaos -->)", re.DOTALL)
HEAD = (
    "| What was done | How often | Tables | Acts acknowledged | By the clock | Sent again | Streams resumed | "
    "Slowest act | Lost |"
)

Scenario = Callable[[Path, Scale], Awaitable[Figures]]

ALL: tuple[Scenario, ...] = (
    scenarios.servers_killed,
    scenarios.redis_killed,
    scenarios.redis_silent,
    scenarios.rolling_restart,
    scenarios.sentinel_failover,
    scenarios.cluster_failover,
    partial(scenarios.stale_failover, replicas=1),
    partial(scenarios.stale_failover, replicas=0),
    nonsense.random_acts,
    churn.tables_expire,
)


def main() -> int:
    """Runs them all, and gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--no-write", action="store_true")
    parser.add_argument("--only", choices=list(dict.fromkeys(map(_name_of, ALL))), help="one scenario; writes nothing")
    parser.add_argument("--most-s", type=float, help="how many seconds random acts are sent: a million take long")
    asked = parser.parse_args()
    scale = SHORT if asked.short else LONG
    if asked.most_s is not None:
        scale = replace(scale, most_s=asked.most_s)
    chosen = [scenario for scenario in ALL if asked.only in {None, _name_of(scenario)}]
    figures, broken = run(chosen, scale)
    table = "\n".join([HEAD, re.sub(r"[^|]+", "---", HEAD), *map(row, figures)])
    Console().print(table, markup=False, soft_wrap=True)
    if not (broken or asked.no_write or asked.only):
        OPERATIONS.write_text(MARKS.sub(lambda found: f"{found[1]}{table}\n{found[2]}", OPERATIONS.read_text()))
    for fault in broken:
        print(fault, file=sys.stderr)
    return 1 if broken else 0


def run(chosen: Sequence[Scenario], scale: Scale) -> tuple[list[Figures], list[str]]:
    """The figures of each scenario that kept its promises, and what went wrong with the others."""
    figures, broken = [], []
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns) as progress:
        task = progress.add_task("", total=len(chosen))
        for scenario in chosen:
            name = _name_of(scenario)
            progress.update(task, description=name)
            started = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="rummyd-chaos-") as folder:
                try:
                    figures.append(asyncio.run(_one(scenario, Path(folder), scale)))
                except Exception as error:  # noqa: BLE001 - whatever it is, the others are still to be run
                    broken.append(f"{name}: {error!r}")
            progress.console.print(f"{name}: {time.monotonic() - started:.0f} s", highlight=False)
            progress.advance(task)
    return figures, broken


async def _one(scenario: Scenario, folder: Path, scale: Scale) -> Figures:
    return await scenario(folder, scale)


def _name_of(scenario: Scenario) -> str:
    name: str = getattr(scenario, "func", scenario).__name__
    return name


def row(figures: Figures) -> str:
    """A line of the table."""
    records = figures.records
    cells = (
        figures.name,
        ", ".join(f"{number} {what}" for what, number in figures.broken.items()),
        f"{figures.tables or len(records):,}",
        f"{figures.acts:,}",
        f"{figures.unasked:,}",
        f"{sum(record.repeated for record in records):,}",
        f"{sum(watched.resumed for record in records for watched in record.watched):,}",
        f"{max((record.slowest_s for record in records), default=0.0):.1f} s",
        f"{figures.lost}",
    )
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    sys.exit(main())
