"""The account of each call: one log line and the metrics, whichever front it came by.

    with recorded("rummy.v1.GameService.Act", "grpc", call_id) as call:
        note(game="games/7k2m", seat=1)     # anywhere below: added to the call's line
        with waiting():                     # for what the caller wants to hear of: no time that we take
            ...
        call.failed("NOT_FOUND", "GAME_NOT_FOUND")

Any line logged within carries the call's id, method and front (`add_call`, in the chain of `logs`).
"""

import asyncio
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

import structlog
from structlog.typing import EventDict, WrappedLogger

from service.observability import metrics, traces

__all__ = ["FAULTS", "CallRecord", "add_call", "expect", "note", "recorded", "waiting"]

_log: Final = structlog.get_logger(__name__)


_LEVELS: Final = {"INTERNAL": "error", "UNKNOWN": "error", "UNAVAILABLE": "warning"}
"""The level of a call's line, by code, where it isn't info: a refusal is the client's business, these are ours."""

FAULTS: Final = frozenset(_LEVELS)
"""The codes of calls that fail by a fault of the service."""


@dataclass(slots=True)
class CallRecord:
    """What is known of a call so far. `code` is a name of `google.rpc.Code`; `reason` says more where it isn't OK."""

    method: str
    front: str
    call_id: str
    code: str = "OK"
    reason: str | None = None
    game: str | None = None
    seat: int | None = None
    version: int | None = None
    limit: str | None = None
    api_key: str | None = None
    """The name of the key, never the key."""
    trace_id: str | None = None
    """Of the trace that the call is a part of, 32 hex digits, if there is one."""
    why: str | None = None
    """What lies behind the reason, for the operator alone."""
    waited_s: float = 0.0
    """How much of its time the call has waited for something to happen that its caller wants to hear of."""

    def failed(self, code: str, reason: str, why: str | None = None) -> None:
        """Says that the call ends with an error."""
        self.code, self.reason, self.why = code, reason, why

    def known(self) -> dict[str, str | int]:
        """What is known of it beyond what every call has."""
        names = ("api_key", "game", "seat", "version", "reason", "why", "limit")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


@contextmanager
def recorded(
    method: str, front: str, call_id: str, *, stream: bool = False, traceparent: str = ""
) -> Iterator[CallRecord]:
    """Accounts for a call: at its end, one line and the metrics, whatever it ends with. Lets every exception through.

    `method` is the method's full name. A call that its client gave up ends with CANCELLED. A stream counts as open
    meanwhile, and is left out of the latency, as is what any call has waited. `traceparent` names the caller's trace,
    as W3C has it.
    """
    record = CallRecord(method, front, call_id)
    span = traces.begin(method, traceparent, {"rpc.method": method, "rummyd.front": front, "rummyd.call_id": call_id})
    record.trace_id = span.trace_id if span else traceparent[3:35] or None
    start = time.perf_counter()
    outer = _current.get()
    _current.set(record)
    try:
        # A stream may be closed in another context than it was begun in, so that nothing can be a part of its span.
        with (
            metrics.open_streams.labels(method, front).track_inprogress() if stream else nullcontext(),
            nullcontext() if span is None or stream else span.active(),
        ):
            yield record
    except (asyncio.CancelledError, GeneratorExit):
        record.code, record.reason, record.why = "CANCELLED", None, None
        raise
    except BaseException:
        if record.code == "OK":
            record.failed("UNKNOWN", "UNKNOWN")
        raise
    finally:
        seconds = time.perf_counter() - start
        metrics.calls.labels(method, front, record.code, record.reason or "").inc()
        if not stream:
            metrics.call_seconds.labels(method, front).observe(max(0.0, seconds - record.waited_s))
        _write(record, seconds)
        if span is not None:
            told = {f"rummyd.{name}": value for name, value in record.known().items()}
            span.end({"rpc.response.status_code": record.code, **told}, failed=record.code in _LEVELS)
        # No reset token: a stream may be closed in another context than it was begun in, where a token is refused.
        if _current.get() is record:
            _current.set(outer)


def note(
    *,
    game: str | None = None,
    seat: int | None = None,
    version: int | None = None,
    limit: str | None = None,
    api_key: str | None = None,
) -> None:
    """Adds what has become known to the line of the call that this code runs for. Outside of any, it does nothing."""
    record = _current.get()
    if record is None:
        return
    news = {"game": game, "seat": seat, "version": version, "limit": limit, "api_key": api_key}
    for name, value in news.items():
        if value is not None:
            setattr(record, name, value)


@contextmanager
def waiting() -> Iterator[None]:
    """What the call that this code runs for waits in here is left out of its latency. Its line has both."""
    record, start = _current.get(), time.perf_counter()
    try:
        yield
    finally:
        if record is not None:
            record.waited_s += time.perf_counter() - start


def expect(method: str, front: str, failures: Iterable[tuple[str, str]], *, stream: bool) -> None:
    """Shows from the start what is counted of a method, at nought: a series that begins with its first failure has no
    rate then, and an autoscaler asks for streams before there are any.

    `failures` are those to show, each a code and a reason.
    """
    for code, reason in (("OK", ""), *failures):
        metrics.calls.labels(method, front, code, reason)
    if stream:
        metrics.open_streams.labels(method, front)


def add_call(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """A structlog processor: adds the id, method and front of the call that a line was logged for."""
    record = _current.get()
    if record is not None:
        event.setdefault("call_id", record.call_id)
        event.setdefault("method", record.method)
        event.setdefault("front", record.front)
    return event


_current: Final[ContextVar[CallRecord | None]] = ContextVar("call", default=None)


def _write(record: CallRecord, seconds: float) -> None:
    """Logs the call's one line. It names the call outright: it may be written in a context that isn't the call's."""
    getattr(_log, _LEVELS.get(record.code, "info"))(
        "call",
        call_id=record.call_id,
        method=record.method,
        front=record.front,
        code=record.code,
        duration_ms=round(seconds * 1000, 3),
        **({"waited_ms": round(record.waited_s * 1000, 3)} if record.waited_s else {}),
        **({"trace_id": record.trace_id} if record.trace_id else {}),
        **record.known(),
    )
