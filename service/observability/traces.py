"""Traces: what a call spent its time with. Off, as they are until `use`, each costs a look at a variable.

    with span("decide"):        a part of the call that runs; nothing outside of a call
        ...

Who writes them down is another's business: `otel` tells them to a collector.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Final, Protocol

__all__ = ["CallSpan", "Tracer", "Values", "begin", "span", "use"]

Values = Mapping[str, str | int]


class CallSpan(Protocol):
    """The trace of one call."""

    trace_id: str
    """32 hex digits: of the trace, or of the caller's own where this call is not traced."""

    def active(self) -> AbstractContextManager[object]:
        """Has spans meanwhile be parts of the call's."""
        ...

    def end(self, values: Values, *, failed: bool) -> None:
        """Ends it, with what has become known of the call."""
        ...


class Tracer(Protocol):
    """Writes traces down."""

    def begin(self, method: str, traceparent: str, values: Values) -> CallSpan:
        """The trace of a call, below or linked to the caller's own, which `traceparent` (W3C) names, or empty."""
        ...

    def span(self, name: str) -> AbstractContextManager[object]:
        """A part of the call that runs."""
        ...


def use(tracer: Tracer | None) -> None:
    """Has everything traced from now on, or nothing any more."""
    global _tracer  # noqa: PLW0603  a process has one, as it has one log
    _tracer = tracer


def begin(method: str, traceparent: str, values: Values) -> CallSpan | None:
    """The trace of a call, or None where traces are off."""
    return None if _tracer is None else _tracer.begin(method, traceparent, values)


def span(name: str) -> AbstractContextManager[object]:
    """A part of the call that runs; nothing where traces are off."""
    return _NOTHING if _tracer is None else _tracer.span(name)


_NOTHING: Final = nullcontext()
_tracer: Tracer | None = None
