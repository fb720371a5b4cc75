"""Traces by OpenTelemetry, told to a collector by OTLP over HTTP. What it takes comes with the extra `otel`.

tracer = OtelTracer("http://collector:4318/v1/traces", share=0.1, trust_parents=False, instance="a", release="1.0")
traces.use(tracer)
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Final

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio
from opentelemetry.trace import Link, Span, SpanKind, StatusCode, format_trace_id, get_current_span, use_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from service.observability.traces import CallSpan, Values

__all__ = ["OtelTracer"]

_PARENTS: Final = TraceContextTextMapPropagator()


class OtelTracer:
    """Sends spans to the endpoint, in batches, from a thread of its own, until `close`.

    Of all calls a share from 0 to 1 is traced. With `trust_parents` a caller who has a trace decides for himself, and
    his trace goes on; else each call begins one, linked to the caller's.
    """

    def __init__(self, endpoint: str, *, share: float, trust_parents: bool, instance: str, release: str) -> None:
        about = {"service.name": "rummyd", "service.instance.id": instance, "service.version": release}
        self._provider = TracerProvider(
            sampler=ParentBasedTraceIdRatio(share), resource=Resource.create(about), shutdown_on_exit=False
        )
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
        self._tracer = self._provider.get_tracer("rummyd", release)
        self._trust_parents = trust_parents

    def close(self) -> None:
        """Sends what is left; it may take as long as the collector does."""
        self._provider.shutdown()

    def begin(self, method: str, traceparent: str, values: Values) -> CallSpan:
        """The trace of a call."""
        parent, links = _PARENTS.extract({"traceparent": traceparent}, Context()), []
        callers = get_current_span(parent).get_span_context()
        if callers.is_valid and not self._trust_parents:
            # Not even its id is gone on with: the share goes by that, so that callers could choose what is traced.
            parent, links = Context(), [Link(callers)]
        span = self._tracer.start_span(method, context=parent, kind=SpanKind.SERVER, attributes=values, links=links)
        told = callers if callers.is_valid and not span.is_recording() else span.get_span_context()
        return _CallSpan(span, format_trace_id(told.trace_id))

    def span(self, name: str) -> AbstractContextManager[object]:
        """A part of the call that runs; nothing outside of a call, and in one that is not traced."""
        if not get_current_span().is_recording():
            return nullcontext()
        return self._tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False)


class _CallSpan:
    def __init__(self, span: Span, trace_id: str) -> None:
        self._span, self.trace_id = span, trace_id

    def active(self) -> AbstractContextManager[object]:
        return use_span(self._span, record_exception=False, set_status_on_exception=False)

    def end(self, values: Values, *, failed: bool) -> None:
        self._span.set_attributes(values)
        if failed:
            self._span.set_status(StatusCode.ERROR)
        self._span.end()
