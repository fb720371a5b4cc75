"""Every metric of rummyd, and the port that shows them.

    calls, call_seconds, open_streams    what clients asked for         moved by `observability.account`
    limited                              what they had too much of      moved by `api`
    acts, bot_moves, timeouts            what happened at the tables    moved by `games`
    events_delivered, delivery_seconds   what watchers were told        moved by `games`
    ticks, tick_failures, due_lag_seconds  what fell due                moved by `clock` and `games`
    tables, overdue_seconds              what there is, of all servers  moved by `census`
    commit_conflicts, store_call(), store_resends  what the store did   moved by `store`
    background_faults                    what went wrong beside calls   moved by `background`
    ready, shards_lost                   what the server is fit for     moved by `readiness`
    loop_lag_seconds, describe()         what the server is             moved by the composition root

With several workers each writes its values to a folder, and the process that keeps them adds them up (`shared`).

Labels are names from the code or the protos, never a client's words: their number is bounded.
"""

import asyncio
import platform
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from socketserver import BaseRequestHandler
from typing import Final, Never
from wsgiref.simple_server import WSGIServer

from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    start_http_server,
)
from prometheus_client.metrics import MetricWrapperBase

from service.observability.traces import span

__all__ = [
    "MetricsServer",
    "acts",
    "background_faults",
    "bot_moves",
    "call_seconds",
    "calls",
    "commit_conflicts",
    "delivery_seconds",
    "describe",
    "due_lag_seconds",
    "events_delivered",
    "every",
    "limited",
    "loop_lag_seconds",
    "open_streams",
    "overdue_seconds",
    "ready",
    "shards_lost",
    "store_call",
    "store_resends",
    "tables",
    "tick_failures",
    "ticks",
    "timeouts",
    "watch_loop",
    "worker_restarts",
]

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each, which nobody reads

_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Buckets for work that takes a millisecond on a good day and a timeout on a bad one."""

calls: Final = Counter(
    "rummyd_calls",
    "Calls that ended, by status code (OK, NOT_FOUND …) and the reason of an error.",
    ("method", "front", "code", "reason"),
)
call_seconds: Final = Histogram(
    "rummyd_call_duration_seconds",
    "Time from a unary call's request to its answer, without the time that it waited for news. Streams are left out.",
    ("method", "front"),
    buckets=_SECONDS,
)
limited: Final = Counter("rummyd_limited", "Calls refused because of a limit, by its name.", ("limit",))
open_streams: Final = Gauge(
    "rummyd_open_streams", "Server streams that are open now.", ("method", "front"), multiprocess_mode="livesum"
)

acts: Final = Counter(
    "rummyd_acts",
    "Acts by the table's preset (custom: none) and outcome: accepted, repeated (a retry of an accepted act), or the "
    "reason of the refusal.",
    ("preset", "outcome"),
)
bot_moves: Final = Counter("rummyd_bot_moves", "Moves of bots: a draw, or the rest of a turn.")
timeouts: Final = Counter("rummyd_timeouts", "Turns whose player ran out of time.")
ticks: Final = Counter("rummyd_ticks", "Tables whose due work (a bot's move, a timeout) this server did.")
tick_failures: Final = Counter(
    "rummyd_tick_failures", "Tables whose due work this server could not do; it is tried again."
)
due_lag_seconds: Final = Histogram(
    "rummyd_due_lag_seconds",
    "Time from when a table's work fell due until it was done.",
    buckets=(*_SECONDS, 10.0, 30.0, 60.0),
)
overdue_seconds: Final = Gauge(
    "rummyd_overdue_seconds",
    "Age of the oldest overdue work that no server has claimed; every server reports the same value.",
    multiprocess_mode="livemostrecent",
)
events_delivered: Final = Counter("rummyd_events_delivered", "Event batches handed to watchers.")
delivery_seconds: Final = Histogram(
    "rummyd_delivery_delay_seconds",
    "Time from a commit until its event batch was handed to a watcher who was waiting for it by a stream. ListEvents "
    "calls that wait for news are left out.",
    buckets=_SECONDS,
)

tables: Final = Gauge(
    "rummyd_tables",
    "Tables in the store, by state (open, playing, finished, abandoned); every server reports the same value.",
    ("state",),
    multiprocess_mode="livemostrecent",
)
commit_conflicts: Final = Counter(
    "rummyd_commit_conflicts", "Commits refused because another call had changed the table meanwhile."
)
_store_seconds: Final = Histogram(
    "rummyd_store_duration_seconds", "Time that an operation of the store took.", ("operation",), buckets=_SECONDS
)
_store_errors: Final = Counter("rummyd_store_errors", "Operations of the store that raised an error.", ("operation",))
store_resends: Final = Counter(
    "rummyd_store_resends",
    "Operations of the store that were sent a second time, as their connection had been lost.",
    ("operation",),
)

background_faults: Final = Counter(
    "rummyd_background_faults",
    "Unforeseen faults in a server's background work, by that work. It goes on, and the log has each of them.",
    ("work",),
)
ready: Final = Gauge(
    "rummyd_ready",
    "1 while the server takes new calls and its store takes commits, otherwise 0.",
    multiprocess_mode="livemin",
)
shards_lost: Final = Gauge(
    "rummyd_shards_lost",
    "Shards of the store that take no commit, as the server found when it looked last.",
    multiprocess_mode="livemax",
)
loop_lag_seconds: Final = Histogram(
    "rummyd_loop_lag_seconds", "How late the event loop woke from a sleep; measured twice a second.", buckets=_SECONDS
)
_build: Final = Gauge(
    "rummyd_build_info",
    "1; the labels name the release that runs, and its Python.",
    ("version", "python"),
    multiprocess_mode="livemax",
)


worker_restarts: Final = Counter("rummyd_worker_restarts", "Workers that ended and were replaced.", registry=None)


def every() -> list[MetricWrapperBase]:
    """Every metric of rummyd's own, in the order above."""
    return [metric for metric in globals().values() if isinstance(metric, MetricWrapperBase)]


@contextmanager
def store_call(operation: str) -> Iterator[None]:
    """Times one operation of the store (`load`, `commit` …), and counts it when it raises. Cancelled is no error."""
    start = time.perf_counter()
    errors = _store_errors.labels(operation)  # shown from the first call on, and not from the first error
    store_resends.labels(operation)
    try:
        with span(f"redis {operation}"):
            yield
    except Exception:
        errors.inc()
        raise
    finally:
        _store_seconds.labels(operation).observe(time.perf_counter() - start)


def describe(release: str) -> None:
    """Names the release that runs."""
    _build.labels(release, platform.python_version()).set(1)


async def watch_loop() -> Never:
    """Measures how late the event loop is, until it is cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        wanted = loop.time() + 0.5
        await asyncio.sleep(0.5)
        loop_lag_seconds.observe(max(0.0, loop.time() - wanted))


class MetricsServer:
    """Serves `/metrics` from a thread of its own, so that a blocked event loop can still be looked at."""

    def __init__(self, server: WSGIServer, thread: threading.Thread) -> None:
        self.port: Final = server.server_port
        self._server, self._thread = server, thread

    @classmethod
    def start(cls, host: str, port: int, registry: CollectorRegistry = REGISTRY) -> "MetricsServer":
        """Starts it on `host:port`; port 0 is any free one, told by `.port`. Raises OSError where it cannot listen."""
        server, thread = start_http_server(port, host, registry)
        server.RequestHandlerClass = _hurried(server.RequestHandlerClass)
        return cls(server, thread)

    async def stop(self) -> None:
        """Ends it and frees the port."""
        await asyncio.to_thread(self._server.shutdown)
        self._server.server_close()
        await asyncio.to_thread(self._thread.join)


_PATIENCE_S: Final = 10.0
"""How long a client may keep a thread waiting."""


def _hurried(handler: Callable[..., BaseRequestHandler]) -> Callable[..., BaseRequestHandler]:
    """The handler of requests, which hangs up on who does not send one."""

    class Hurried(handler):  # type: ignore[misc, valid-type]  # the library's own, which it does not name
        timeout = _PATIENCE_S

        def handle(self) -> None:
            with suppress(TimeoutError):
                super().handle()

    return Hurried
