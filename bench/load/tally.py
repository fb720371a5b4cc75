"""What was measured of calls: latencies, and errors by code."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from hdrh.histogram import HdrHistogram

__all__ = ["PERCENTILES", "Latency", "Tally", "now"]

now: Final = time.monotonic
"""Seconds on the clock of all latencies and schedules, the event loop's own."""

PERCENTILES: Final = (50.0, 90.0, 99.0, 99.9, 100.0)
_LONGEST_US: Final = 120_000_000


class Latency:
    """Durations, kept in an HDR histogram: within a thousandth, from a microsecond to two minutes."""

    def __init__(self) -> None:
        self._all = HdrHistogram(1, _LONGEST_US, 3)

    def add(self, seconds: float) -> None:
        """Counts one; what is longer than two minutes counts as that."""
        self._all.record_value(min(_LONGEST_US, max(1, round(seconds * 1e6))))

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self._all.get_total_count())

    def ms(self, percentiles: Iterable[float] = PERCENTILES) -> list[float]:
        """The percentiles, in milliseconds; 100 is the longest. All 0 where there are none."""
        return [self._all.get_value_at_percentile(percentile) / 1e3 for percentile in percentiles]


@dataclass(slots=True)
class Tally:
    """All that was counted while it was measured."""

    acts: int = 0
    nulls: int = 0
    """Calls of the null baseline."""
    delivered: int = 0
    """Messages that came by streams."""
    tables: int = 0
    """Tables that were created."""
    from_due: Latency = field(default_factory=Latency)
    """Acts, from when they were due by the schedule, so that acts which a slow server held up count."""
    from_send: Latency = field(default_factory=Latency)
    """The same acts, from when they were sent."""
    to_observer_from_due: Latency = field(default_factory=Latency)
    """From when an act was due to its arrival at another seat's stream."""
    to_observer: Latency = field(default_factory=Latency)
    """The same arrivals, from when the act was sent."""
    null: Latency = field(default_factory=Latency)
    """Calls of the null baseline, from when they were due."""
    errors: Counter[str] = field(default_factory=Counter)
    """Calls and streams that failed: `Act UNAVAILABLE`."""
