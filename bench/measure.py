"""Rates, as units per second of CPU time; contestants take turns, so that a slow moment of a machine hits them all."""

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

__all__ = ["Rate", "Work", "rates", "table"]

Work = Callable[[int], int]
"""Does some work, seeded by the number, and says how many units it was."""


class Rate(NamedTuple):
    """Units per CPU second: the median of all rounds, the least and the most."""

    median: float
    least: float
    most: float


def rates(contestants: Mapping[str, Work], rounds: int) -> dict[str, Rate]:
    """How fast each contestant is. A first round, to warm up, does not count."""
    found: dict[str, list[float]] = {name: [] for name in contestants}
    for seed in range(rounds + 1):
        for name, work in contestants.items():
            gc.collect()
            begun = time.process_time()
            units = work(seed)
            found[name].append(units / max(time.process_time() - begun, 1e-9))
    return {name: Rate(statistics.median(all_[1:]), min(all_[1:]), max(all_[1:])) for name, all_ in found.items()}


def table(title: str, unit: str, found: Mapping[str, Rate], *, null: str) -> Iterator[str]:
    """The rates as lines; `net` is what a unit takes beyond the null baseline, in microseconds."""
    yield f"{title}, {unit} per CPU second: median (least to most), and µs each beyond the null baseline"
    for name, rate in found.items():
        net = "" if name == null else f"{1e6 / rate.median - 1e6 / found[null].median:10.2f} µs"
        yield f"  {name:32} {rate.median:12,.0f}  ({rate.least:,.0f} to {rate.most:,.0f}){net}"
