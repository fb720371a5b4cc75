"""What came of a measurement, as a table for a person and as JSON for a program."""

from collections.abc import Iterator
from typing import Final

from rich.console import Group
from rich.table import Table

from bench.load.run import Outcome, Plan
from bench.load.tally import PERCENTILES

__all__ = ["FROM_DUE", "as_json", "drawn", "figures"]

FROM_DUE: Final = "from when it was due"
"""By the schedule: what waited for a slow server, before it was sent, is in the figure (coordinated omission)."""

_NAMES: Final = {50.0: "p50", 90.0: "p90", 99.0: "p99", 99.9: "p99.9", 100.0: "max"}
_ENOUGH: Final = 100
"""So many tables it takes until the memory of one can be told from noise."""


def drawn(outcome: Outcome) -> Group:
    """Two tables: latencies, and what was used."""
    times = Table(title=_title(outcome.plan), title_justify="left")
    for name in ("milliseconds", *_NAMES.values(), "number"):
        times.add_column(name, justify="left" if name == "milliseconds" else "right", no_wrap=True)
    for name, (count, found) in _latencies(outcome).items():
        times.add_row(name, *(f"{ms:.2f}" for ms in found), f"{count:,}")
    facts = Table(show_header=False)
    for name, (value, unit) in figures(outcome).items():
        facts.add_row(name, f"{value:,.{_digits(value)}f} {unit}")
    for error, count in outcome.tally.errors.most_common():
        facts.add_row(f"error: {error}", f"{count:,}")
    return Group(times, facts)


def as_json(outcome: Outcome) -> dict[str, object]:
    """The same, with the plan: latencies in ms, figures as `[value, unit]`, errors by code."""
    plan = {name: getattr(outcome.plan, name) for name in Plan.__dataclass_fields__}
    latencies = {
        name: dict(zip(_NAMES.values(), found, strict=True)) | {"count": count}
        for name, (count, found) in _latencies(outcome).items()
    }
    return {
        "plan": plan,
        "latencies_ms": latencies,
        "figures": figures(outcome),
        "errors": dict(outcome.tally.errors),
    }


def figures(outcome: Outcome) -> dict[str, tuple[float, str]]:
    """What was used and done, each with its unit."""
    return dict(_figures(outcome))


def _figures(outcome: Outcome) -> Iterator[tuple[str, tuple[float, str]]]:
    tally, used, acts = outcome.tally, outcome.used, max(1, outcome.tally.acts)
    act, null = used.server_s / acts, outcome.null.server_s / max(1, tally.nulls)
    yield "acts", (tally.acts / used.wall_s, "a second")
    yield "tables created", (tally.tables, "")
    yield "messages by streams", (tally.delivered / acts, "per act")
    yield "driver", (100 * used.driver_s / used.wall_s, "% of a core")
    if used.server_s:
        yield "server, idle", (100 * outcome.idle.server_s / outcome.idle.wall_s, "% of a core")
        yield "server", (100 * used.server_s / used.wall_s, "% of a core")
        yield "server, per act", (1e6 * act, "µs of CPU")
        yield "server, per null call", (1e6 * null, "µs of CPU")
        yield "one act, in null calls", (act / null if null else 0.0, "")
        yield "event loop late", (1e3 * used.lag_s / max(1.0, used.looks), "ms on average")
        yield "commit to hand-over", (1e3 * used.delay_s / max(1.0, used.delivered), "ms on average")
        yield from _memory(outcome)
    if used.redis_s:
        yield "Redis, idle", (100 * outcome.idle.redis_s / outcome.idle.wall_s, "% of a core")
        yield "Redis, looks", (outcome.idle.redis_commands / outcome.idle.wall_s, "commands a second")
        yield "Redis", (100 * used.redis_s / used.wall_s, "% of a core")
        yield "Redis, per act", (1e6 * used.redis_s / acts, "µs of CPU")
        yield "Redis, scripts", (used.redis_scripts / acts, "per act")
        yield "Redis, commands", (used.redis_commands / acts, "per act, including those in scripts")
        yield "Redis, network", (used.redis_bytes / acts / 2**10, "KiB per act, both ways")
        yield "Redis, per table", (outcome.table_bytes / 2**10, f"KiB after {outcome.versions:.0f} versions")


def _memory(outcome: Outcome) -> Iterator[tuple[str, tuple[float, str]]]:
    memory, tables, seats = outcome.server_bytes, outcome.plan.tables, outcome.plan.tables * outcome.plan.seats
    yield "server, memory", (memory.streams / 2**20, "MiB")
    if tables >= _ENOUGH:
        if not outcome.plan.connections:
            yield "server, per connection", ((memory.connections - memory.few) / seats / 2**10, "KiB")
        yield "server, per table", ((memory.tables - memory.connections) / tables / 2**10, "KiB")
        if outcome.plan.streams:
            yield "server, per stream", ((memory.streams - memory.tables) / seats / 2**10, "KiB")


def _latencies(outcome: Outcome) -> dict[str, tuple[int, list[float]]]:
    tally = outcome.tally
    act = {"act": tally.from_send, "act to observer": tally.to_observer}
    due = {f"act, {FROM_DUE}": tally.from_due, f"act to observer, {FROM_DUE}": tally.to_observer_from_due}
    all_ = (due if outcome.plan.rate else {}) | act | {"null call": tally.null}
    return {name: (found.count, found.ms(PERCENTILES)) for name, found in all_.items() if found.count}


def _title(plan: Plan) -> str:
    pace = f"{plan.rate:g} acts a second" if plan.rate else "each as soon as it may"
    streams = "a stream per seat" if plan.streams else "no streams"
    return f"{plan.tables} tables of {plan.seats}, {plan.preset}, {plan.front}, {streams}; {pace}, {plan.seconds:g} s"


def _digits(value: float) -> int:
    return 0 if value == int(value) or abs(value) >= 100 else 1 if abs(value) >= 10 else 2
