"""Traces, as a collector gets them."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc
import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.game_pb2 import Game
from rummy.v1.game_service_pb2_grpc import GameServiceStub

from tests.e2e.conftest import Start
from tests.patience import LONGEST_S

TRACES = {"grpc": "0af7651916cd43dd8448eb211c80319c", "rest": "1bf7651916cd43dd8448eb211c80319d"}
PARENT = "b7ad6b7169203331"


def traceparent(front: str, *, sampled: bool = True) -> str:
    return f"00-{TRACES[front]}-{PARENT}-{'01' if sampled else '00'}"


@contextmanager
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """A collector's endpoint, and the bodies that were sent there."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base's name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1/traces", bodies
        finally:
            server.shutdown()
            thread.join()


def spans_in(bodies: list[bytes]) -> list[Span]:
    requests = [ExportTraceServiceRequest.FromString(body) for body in bodies]
    return [
        span
        for request in requests
        for of in request.resource_spans
        for scope in of.scope_spans
        for span in scope.spans
    ]


def test_a_call_is_a_part_of_its_callers_trace(start: Start) -> None:
    """A call's span is below that of a trusted caller, with its parts below it; neither it nor the log has a token."""
    with collector() as (endpoint, bodies):
        server = start("--traces-endpoint", endpoint, "--traces-trust-parents")
        with (
            httpx.Client(base_url=server.rest, timeout=LONGEST_S) as http,
            grpc.insecure_channel(server.grpc) as channel,
        ):
            name = http.post("/v1/games", json={"seatCount": 2}, headers={"traceparent": traceparent("rest")}).json()[
                "name"
            ]
            about = (("traceparent", traceparent("grpc")),)
            joined = GameServiceStub(channel).JoinGame(
                pb.JoinGameRequest(name=name, display_name="Ada"), metadata=about
            )
        assert server.stop() == 0
    spans = spans_in(bodies)
    for front, method in (("rest", "CreateGame"), ("grpc", "JoinGame")):
        own = [span for span in spans if span.trace_id.hex() == TRACES[front]]
        (call,) = [span for span in own if span.kind == Span.SPAN_KIND_SERVER]
        assert call.name == f"rummy.v1.GameService.{method}"
        assert call.parent_span_id.hex() == PARENT
        parts = {span.name for span in own if span.parent_span_id == call.span_id}
        assert "redis commit" in parts
        assert ("decide" in parts) == (method == "JoinGame")
        values = {value.key: value.value.string_value for value in call.attributes}
        assert (values["rummyd.game"], values["rpc.response.status_code"]) == (name, "OK")
    lines = [json.loads(line) for line in server.log()]
    assert [line["trace_id"] for line in lines if line["event"] == "call"] == [TRACES["rest"], TRACES["grpc"]]
    assert not any(joined.token.encode() in sent for sent in (*bodies, *(line.encode() for line in server.log())))


def test_a_trusted_caller_decides_what_is_traced(start: Start) -> None:
    """A call whose caller does not record its trace is not recorded, and yet found in the log by the trace's id."""
    with collector() as (endpoint, bodies):
        server = start("--traces-endpoint", endpoint, "--traces-share", "1", "--traces-trust-parents")
        with httpx.Client(base_url=server.rest, timeout=LONGEST_S) as http:
            http.get("/v1/games", headers={"traceparent": traceparent("rest", sampled=False)})
            http.get("/v1/games")
        assert server.stop() == 0
    (call,) = [span for span in spans_in(bodies) if span.kind == Span.SPAN_KIND_SERVER]
    assert not call.parent_span_id
    lines = [json.loads(line) for line in server.log()]
    assert [line["trace_id"] for line in lines if line["event"] == "call"] == [TRACES["rest"], call.trace_id.hex()]


@pytest.mark.parametrize("share", [0, 1])
def test_whoever_calls_does_not_decide_what_is_traced(start: Start, share: int) -> None:
    """By itself a server traces its share, whatever callers say of their traces; a call's own is linked to theirs."""
    with collector() as (endpoint, bodies):
        server = start("--traces-endpoint", endpoint, "--traces-share", str(share))
        with (
            httpx.Client(base_url=server.rest, timeout=LONGEST_S) as http,
            grpc.insecure_channel(server.grpc) as channel,
        ):
            for sampled in (True, False):
                http.get("/v1/games", headers={"traceparent": traceparent("rest", sampled=sampled)})
                about = (("traceparent", traceparent("grpc", sampled=sampled)),)
                GameServiceStub(channel).ListGames(pb.ListGamesRequest(), metadata=about)
        assert server.stop() == 0
    calls = [span for span in spans_in(bodies) if span.kind == Span.SPAN_KIND_SERVER]
    assert len(calls) == 4 * share
    assert not any(call.parent_span_id for call in calls)
    assert {link.trace_id.hex() for call in calls for link in call.links} == (set(TRACES.values()) if share else set())
    own = {call.trace_id.hex() for call in calls}
    assert not own & set(TRACES.values())
    lines = [json.loads(line) for line in server.log()]
    told = {line["trace_id"] for line in lines if line["event"] == "call"}
    assert told == (own if share else set(TRACES.values()))


def test_what_the_server_is_to_blame_for_is_an_error(start: Start) -> None:
    """A refused call is no error of the server's; a stream is a span from beginning to end, and has none below it."""
    with collector() as (endpoint, bodies):
        server = start("--traces-endpoint", endpoint)
        with grpc.insecure_channel(server.grpc) as channel:
            stub = GameServiceStub(channel)
            name = stub.CreateGame(pb.CreateGameRequest(game=Game(seat_count=2))).name
            with pytest.raises(grpc.RpcError):
                stub.GetGame(pb.GetGameRequest(name="games/none"))
            stream = stub.Observe(pb.ObserveRequest(name=name))
            assert next(iter(stream)).HasField("snapshot")
            assert server.stop() == 0
    spans = spans_in(bodies)
    calls = {span.name.rpartition(".")[2]: span for span in spans if span.kind == Span.SPAN_KIND_SERVER}
    below = {name for name, call in calls.items() if any(span.parent_span_id == call.span_id for span in spans)}
    assert below == {"CreateGame", "GetGame"}
    codes = {
        name: next(v.value.string_value for v in span.attributes if v.key == "rpc.response.status_code")
        for name, span in calls.items()
    }
    assert codes == {"CreateGame": "OK", "GetGame": "NOT_FOUND", "Observe": "UNAVAILABLE"}
    assert calls["GetGame"].status.code == Status.STATUS_CODE_UNSET
    assert calls["Observe"].status.code == Status.STATUS_CODE_ERROR
