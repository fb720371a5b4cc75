"""How long acts and the news of them took: in rows of Locust's of their own, and in HDR histograms of all processes.

tell(environment, ACT, seconds, every_s=think)
summary(path)                                     the percentiles, for a person and for a program

A row here is none of the requests in Locust's total: it tells of several, or of what no request is. A user waits for an
answer before he goes on, so that those whom a slow server would have held up meanwhile are in no row (coordinated
omission). The histograms are corrected for that: an act that took longer than its player thinks counts for those, too,
that would have come after it.
"""

import json
from pathlib import Path
from typing import Any, Final

from locust import events
from locust.env import Environment
from locust.stats import StatsError

try:
    from hdrh.histogram import HdrHistogram
except ImportError:  # there is no wheel of it for this machine
    HdrHistogram = None

__all__ = ["ACT", "COMMIT", "NEWS", "RESUMED", "STREAM", "STREAMS", "requests", "summary", "tell"]

ACT: Final = ("ACT", "act, from due to answer")
NEWS: Final = ("NEWS", "act, from due to observer")
COMMIT: Final = ("EVENT", "commit to arrival")
STREAM: Final = ("STREAM", "observe")
RESUMED: Final = ("STREAM", "observe, resumed")
STREAMS: Final = (STREAM, RESUMED)
"""Kinds of rows, each with its method and its name."""

_LONGEST_US: Final = 120_000_000
_PERCENTILES: Final = (50.0, 90.0, 99.0, 99.9, 100.0)
_kept: Final[dict[str, Any]] = {}
"""A histogram a name: what this process has measured since it last told the master, or what all have told it."""


def tell(
    environment: Environment,
    kind: tuple[str, str],
    seconds: float,
    error: Exception | None = None,
    *,
    every_s: float = 0.0,
) -> None:
    """Counts one that took so long, and perhaps failed; in a histogram, too, where one like it comes `every_s`."""
    (method, name), stats = kind, environment.stats
    row = stats.get(name, method)
    row.log(round(max(0.0, seconds) * 1e3), 0)
    if error is not None:
        row.log_error(error)
        key = StatsError.create_key(method, name, error)
        stats.errors.setdefault(key, StatsError(method, name, error)).occurred()
    if every_s and HdrHistogram:
        _of(name).record_corrected_value(min(_LONGEST_US, max(1, round(seconds * 1e6))), round(every_s * 1e6))


def requests(environment: Environment) -> tuple[int, int]:
    """How many requests there were, streams among them, and how many of them failed."""
    counted = [environment.stats.total, *(environment.stats.get(name, method) for method, name in STREAMS)]
    return sum(row.num_requests for row in counted), sum(row.num_failures for row in counted)


def summary(path: Path | None) -> list[str]:
    """The percentiles in lines, and as JSON in a file: milliseconds by name and percentile, and how many there are."""
    found = {
        name: {f"p{percentile:g}": histogram.get_value_at_percentile(percentile) / 1e3 for percentile in _PERCENTILES}
        | {"count": histogram.get_total_count()}
        for name, histogram in _kept.items()
    }
    if path:
        path.write_text(json.dumps(found, indent=2) + "\n")
    lines = [
        f"{name}: " + ", ".join(f"{key} {ms:,.1f} ms" for key, ms in of_one.items() if key != "count")
        for name, of_one in found.items()
    ]
    return lines if HdrHistogram else ["no hdrhistogram is here: there are no latencies corrected for omission"]


def _of(name: str) -> Any:
    return _kept.setdefault(name, HdrHistogram(1, _LONGEST_US, 3))


@events.report_to_master.add_listener
def _send(data: dict[str, Any], **_: Any) -> None:
    """Of several processes each tells the master what is new."""
    data["latencies"] = {name: histogram.encode() for name, histogram in _kept.items()}
    _kept.clear()


@events.worker_report.add_listener
def _add(data: dict[str, Any], **_: Any) -> None:
    for name, encoded in data.get("latencies", {}).items():
        _of(name).decode_and_add(encoded)
