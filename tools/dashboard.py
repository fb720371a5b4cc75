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
    chosen = ",".join(part for part in ('instance=~"$instance"', where) if part)
    return f"sum{f' by ({by}) ' if by else ''}(rate({counter}{{{chosen}}}[$__rate_interval]))"


def _quantiles(histogram: str, by: str = "") -> dict[str, str]:
    """The median, and what one of a hundred exceeds."""
    grouped = _rate(f"{histogram}_bucket", f"le, {by}" if by else "le")
    legend = f" {{{{{by}}}}}" if by else ""
    return {
        f"{name}{legend}": f"histogram_quantile({share}, {grouped})" for name, share in (("p50", 0.5), ("p99", 0.99))
    }


def _gauge(name: str, by: str, how: str = "sum") -> str:
    return f'{how} by ({by}) ({name}{{instance=~"$instance"}})'


_CALLS: Final = "rummyd_calls_total"
_UNARY: Final = 'method!~".*Observe"'
_FAULTS: Final = f'code=~"UNAVAILABLE|INTERNAL|UNKNOWN|DATA_LOSS",{_UNARY}'

ROWS: Final[dict[str, tuple[Panel, ...]]] = {
    "What callers get": (
        Panel("Calls", "reqps", "Calls that ended, by method.", {"{{method}}": _rate(_CALLS, "method")}),
        Panel(
            "Calls that failed by our fault",
            "percentunit",
            "Of calls other than streams; one of a thousand is allowed.",
            {"failed": f"({_rate(_CALLS, where=_FAULTS)} or vector(0)) / {_rate(_CALLS, where=_UNARY)}"},
        ),
        Panel(
            "Time to answer", "s", "Of calls other than streams.", _quantiles("rummyd_call_duration_seconds", "front")
        ),
        Panel("Codes", "reqps", "What calls ended with.", {"{{code}}": _rate(_CALLS, "code")}),
    ),
    "At the tables": (
        Panel(
            "Acts accepted",
            "ops",
            "By game.",
            {"{{preset}}": _rate("rummyd_acts_total", "preset", 'outcome="accepted"')},
            stacked=True,
        ),
        Panel(
            "Refused",
            "ops",
            "Acts by reason, and calls of any kind by the limit that they ran into.",
            {
                "{{outcome}}": _rate("rummyd_acts_total", "outcome", 'outcome!="accepted"'),
                "limit: {{limit}}": _rate("rummyd_limited_total", "limit"),
            },
        ),
        Panel(
            "Tables",
            "short",
            "By state, as every server sees them.",
            {"{{state}}": _gauge("rummyd_tables", "state", "max")},
        ),
        Panel(
            "Bots and the slow",
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
            "How old an event is when it is handed over.",
            _quantiles("rummyd_delivery_delay_seconds"),
        ),
    ),
    "What falls due": (
        Panel("Lag", "s", "How late what was due was done.", _quantiles("rummyd_due_lag_seconds")),
        Panel(
            "Done",
            "ops",
            "Bots' moves and timeouts.",
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
            "Conflicts",
            "ops",
            "Commits that found another first.",
            {"conflicts": _rate("rummyd_commit_conflicts_total")},
        ),
    ),
    "Servers": (
        Panel("Ready", "short", "1: takes calls.", {"{{instance}}": _gauge("rummyd_ready", "instance", "min")}),
        Panel(
            "Releases",
            "short",
            "Servers by release.",
            {"{{version}}": _gauge("rummyd_build_info", "version", "count")},
            stacked=True,
        ),
        Panel(
            "Workers replaced",
            "short",
            "In an hour.",
            {"{{instance}}": 'sum by (instance) (increase(rummyd_worker_restarts_total{instance=~"$instance"}[1h]))'},
        ),
    ),
    "Processes": (
        Panel("CPU", "percentunit", "1: one core.", {"{{instance}}": _rate("process_cpu_seconds_total", "instance")}),
        Panel("Memory", "bytes", "Resident.", {"{{instance}}": _gauge("process_resident_memory_bytes", "instance")}),
        Panel(
            "Event loop", "s", "How late it is when it should go on.", _quantiles("rummyd_loop_lag_seconds", "instance")
        ),
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
        "templating": {"list": [_SOURCE, _INSTANCE]},
        "panels": list(_panels()),
    }


_WIDTH: Final = 24
_HEIGHT: Final = 8
_DATA: Final[Json] = {"type": "prometheus", "uid": "${source}"}
_SOURCE: Final[Json] = {"type": "datasource", "name": "source", "label": "Prometheus", "query": "prometheus"}
_INSTANCE: Final[Json] = {
    "type": "query",
    "name": "instance",
    "label": "Server",
    "datasource": _DATA,
    "query": {"query": "label_values(rummyd_ready, instance)", "refId": "instance"},
    "refresh": 2,
    "multi": True,
    "includeAll": True,
    "current": {"text": "All", "value": "$__all"},
}


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
