"""The dashboard of rummyd, as Grafana reads it: what is shown stands in ROWS, how Grafana wants it comes after.

Written into deploy/grafana/rummyd.json by `tools/monitoring.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["ROWS", "Panel", "dashboard"]

Json = dict[str, object]


@dataclass(frozen=True)
class Panel:
    """A graph: `lines` has an expression for each legend. `unit` is one of Grafana's: s, reqps, percentunit, bytes …"""

    title: str
    unit: str
    says: str
    lines: dict[str, str]
    stacked: bool = False


def _rate(counter: str, by: str = "", where: str = "") -> str:
    """How often a second a counter counts, over the servers that are looked at."""
    chosen = ",".join(part for part in (_SERVERS, where) if part)
    return f"sum{f' by ({by}) ' if by else ''}(rate({counter}{{{chosen}}}[$__rate_interval]))"


def _quantiles(histogram: str, by: str = "") -> dict[str, str]:
    """The median, and what one of a hundred exceeds."""
    grouped = _rate(f"{histogram}_bucket", f"le, {by}" if by else "le")
    legend = f" {{{{{by}}}}}" if by else ""
    return {
        f"{name}{legend}": f"histogram_quantile({share}, {grouped})" for name, share in (("p50", 0.5), ("p99", 0.99))
    }


def _gauge(name: str, by: str, how: str = "sum") -> str:
    return f"{how} by ({by}) ({name}{{{_SERVERS}}})"


def _burnt(what: str, allowed: float) -> dict[str, str]:
    """How many times as fast as in a month the budget of a promise goes, by the windows that alerts look at."""
    return {
        f"{window} {_WHOSE}": f"rummyd:calls_{what}:ratio_rate{window}{{{_ALL}}} / {allowed}"
        for window in ("5m", "1h", "6h", "3d")
    }


def _left(what: str, allowed: float) -> str:
    """The share of a month's budget that is left. What was recorded is added up, each time of five minutes."""
    spent, calls = (f"sum_over_time(rummyd:{name}:increase5m{{{_ALL}}}[30d])" for name in (f"calls_{what}", "calls"))
    return f"clamp_min(1 - {spent} / {calls} / {allowed}, 0)"


_ALL: Final = 'job=~"$job",namespace=~"$namespace"'
_SERVERS: Final = f'{_ALL},instance=~"$instance"'
_WHOSE: Final = "{{job}} {{namespace}}"
_CALLS: Final = "rummyd_calls_total"
_UNARY: Final = 'method!~".*Observe"'
_FAULTS: Final = f'code=~"INTERNAL|UNAVAILABLE|UNKNOWN",reason!="SERVER_DRAINING",{_UNARY}'

ROWS: Final[dict[str, tuple[Panel, ...]]] = {
    "What callers get": (
        Panel("Calls", "reqps", "Calls that ended, by method.", {"{{method}}": _rate(_CALLS, "method")}),
        Panel(
            "Calls that failed by our fault",
            "percentunit",
            "The share of calls, streams left out, that failed. One in a thousand is allowed.",
            {"failed": f"{_rate(_CALLS, where=_FAULTS)} / {_rate(_CALLS, where=_UNARY)}"},
        ),
        Panel(
            "Time to answer",
            "s",
            "Streams, and the time that a call waited for news, are left out.",
            _quantiles("rummyd_call_duration_seconds", "front"),
        ),
        Panel(
            "Codes",
            "reqps",
            "Calls by the code that they ended with, and the reason of an error.",
            {"{{code}} {{reason}}": _rate(_CALLS, "code, reason")},
        ),
    ),
    "Promises": (
        Panel(
            "Budget left",
            "percentunit",
            "What is left of the failures and slow calls allowed in 30 days, as far back as Prometheus has data.",
            {
                f"failed {_WHOSE}": _left("failed", 0.001),
                f"slow {_WHOSE}": _left("slow", 0.01),
            },
        ),
        Panel(
            "Burn rate of failures",
            "none",
            "At 1 the budget lasts 30 days. 14.4 over one hour, or 6 over six hours, pages somebody.",
            _burnt("failed", 0.001),
        ),
        Panel(
            "Burn rate of slow calls",
            "none",
            "At 1 the budget lasts 30 days. 14.4 over one hour, or 6 over six hours, pages somebody.",
            _burnt("slow", 0.01),
        ),
    ),
    "At the tables": (
        Panel(
            "Acts accepted",
            "ops",
            "By preset.",
            {"{{preset}}": _rate("rummyd_acts_total", "preset", 'outcome="accepted"')},
            stacked=True,
        ),
        Panel(
            "Refused and repeated",
            "ops",
            "Refused acts by reason, retries of accepted acts, and calls of any kind by the limit that they met.",
            {
                "{{outcome}}": _rate("rummyd_acts_total", "outcome", 'outcome!="accepted"'),
                "limit: {{limit}}": _rate("rummyd_limited_total", "limit"),
            },
        ),
        Panel(
            "Tables",
            "short",
            "By state. Every server counts all tables.",
            {"{{state}}": _gauge("rummyd_tables", "state", "max")},
        ),
        Panel(
            "Bots and timeouts",
            "ops",
            "Moves of bots, and turns whose player ran out of time.",
            {"bots": _rate("rummyd_bot_moves_total"), "timeouts": _rate("rummyd_timeouts_total")},
        ),
    ),
    "Watching": (
        Panel(
            "Open streams",
            "short",
            "By server.",
            {"{{instance}}": _gauge("rummyd_open_streams", "instance")},
            stacked=True,
        ),
        Panel(
            "Events delivered", "ops", "Batches handed to watchers.", {"events": _rate("rummyd_events_delivered_total")}
        ),
        Panel(
            "From commit to watcher",
            "s",
            "How old an event is when it is handed to a watcher.",
            _quantiles("rummyd_delivery_delay_seconds"),
        ),
    ),
    "Due work": (
        Panel(
            "Lag",
            "s",
            "How late work was done; undone: the age of the oldest work that no server has taken.",
            _quantiles("rummyd_due_lag_seconds") | {"undone": f"max(rummyd_overdue_seconds{{{_SERVERS}}})"},
        ),
        Panel(
            "Done",
            "ops",
            "Bots' moves and timeouts, and failures that are tried again.",
            {"done": _rate("rummyd_ticks_total"), "to be tried again": _rate("rummyd_tick_failures_total")},
        ),
    ),
    "Redis": (
        Panel(
            "Time of operations",
            "s",
            "As the servers see them.",
            _quantiles("rummyd_store_duration_seconds", "operation"),
        ),
        Panel(
            "Operations",
            "ops",
            "By name.",
            {"{{operation}}": _rate("rummyd_store_duration_seconds_count", "operation")},
        ),
        Panel("Errors", "ops", "By operation.", {"{{operation}}": _rate("rummyd_store_errors_total", "operation")}),
        Panel(
            "Sent again",
            "ops",
            "Operations whose connection was lost, and which were sent a second time.",
            {"{{operation}}": _rate("rummyd_store_resends_total", "operation")},
        ),
        Panel(
            "Conflicts",
            "ops",
            "Commits refused because another call had changed the table meanwhile.",
            {"conflicts": _rate("rummyd_commit_conflicts_total")},
        ),
    ),
    "Servers": (
        Panel(
            "Ready", "short", "1: the server takes calls.", {"{{instance}}": _gauge("rummyd_ready", "instance", "min")}
        ),
        Panel(
            "Shards lost",
            "short",
            "Shards of the store that take no commit, as each server sees them.",
            {"{{instance}}": _gauge("rummyd_shards_lost", "instance", "max")},
        ),
        Panel(
            "Releases",
            "short",
            "Servers by release.",
            {"{{version}}": _gauge("rummyd_build_info", "version", "count")},
            stacked=True,
        ),
        Panel(
            "Restarts",
            "short",
            "Starts of servers, and workers that were replaced, within an hour.",
            {
                "{{instance}}": f"max by (instance) (changes(process_start_time_seconds{{{_SERVERS}}}[1h]))",
                "workers of {{instance}}": (
                    f"sum by (instance) (increase(rummyd_worker_restarts_total{{{_SERVERS}}}[1h]))"
                ),
            },
        ),
        Panel(
            "Background faults",
            "ops",
            "Unforeseen faults in the servers' background work, which goes on; `background_fault` in the log has each.",
            {"{{work}}": _rate("rummyd_background_faults_total", "work")},
        ),
    ),
    "Processes": (
        Panel("CPU", "percentunit", "1: one core.", {"{{instance}}": _rate("process_cpu_seconds_total", "instance")}),
        Panel(
            "Memory", "bytes", "Resident memory.", {"{{instance}}": _gauge("process_resident_memory_bytes", "instance")}
        ),
        Panel("Event loop", "s", "How late it wakes.", _quantiles("rummyd_loop_lag_seconds", "instance")),
    ),
}


def dashboard() -> Json:
    """All of it: a row of panels for each of ROWS."""
    return {
        "uid": "rummyd",
        "title": "rummyd",
        "description": "Written by tools/monitoring.py: a change made in Grafana is lost.",
        "tags": ["rummyd"],
        "schemaVersion": 39,
        "editable": False,
        "refresh": "15s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [_SOURCE, *_CHOSEN]},
        "panels": list(_panels()),
    }


_WIDTH: Final = 24
_HEIGHT: Final = 8
_DATA: Final[Json] = {"type": "prometheus", "uid": "${source}"}
_SOURCE: Final[Json] = {"type": "datasource", "name": "source", "label": "Prometheus", "query": "prometheus"}
_CHOSEN: Final[tuple[Json, ...]] = tuple(
    {
        "type": "query",
        "name": name,
        "label": label,
        "datasource": _DATA,
        "query": {"query": f"label_values({series}, {name})", "refId": name},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",  # a job of static targets has no namespace
        "current": {"text": "All", "value": "$__all"},
    }
    for name, label, series in (
        ("job", "Job", "rummyd_ready"),
        ("namespace", "Namespace", 'rummyd_ready{job=~"$job"}'),
        ("instance", "Server", f"rummyd_ready{{{_ALL}}}"),
    )
)


def _panels() -> Iterator[Json]:
    """Each row's head and its panels side by side, with the place of each."""
    number, top = 0, 0
    for title, panels in ROWS.items():
        number += 1
        yield {"id": number, "type": "row", "title": title, "gridPos": _place(0, top, _WIDTH, 1), "panels": []}
        width = _WIDTH // len(panels)
        for column, panel in enumerate(panels):
            number += 1
            yield {"id": number, "gridPos": _place(column * width, top + 1, width, _HEIGHT)} | _graph(panel)
        top += 1 + _HEIGHT


def _graph(panel: Panel) -> Json:
    drawn = {"fillOpacity": 10, "showPoints": "never"}
    stacking = {"stacking": {"mode": "normal"}} if panel.stacked else {}
    return {
        "type": "timeseries",
        "title": panel.title,
        "description": panel.says,
        "datasource": _DATA,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0, "custom": drawn | stacking}, "overrides": []},
        "options": {
            "legend": {"displayMode": "list", "placement": "bottom"},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": _DATA, "expr": expression, "legendFormat": legend}
            for index, (legend, expression) in enumerate(panel.lines.items())
        ],
    }


def _place(x: int, y: int, w: int, h: int) -> Json:
    return {"x": x, "y": y, "w": w, "h": h}
