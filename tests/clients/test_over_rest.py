"""What the REST client makes of answers, whole and broken."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest
from google.protobuf.duration_pb2 import Duration
from rummy.v1 import game_service_pb2 as pb

from clients.api import CallError
from clients.over_rest import RestApi

REFUSAL = {
    "error": {
        "code": 409,
        "status": "ABORTED",
        "message": "the game is at version 3, not 1",
        "details": [
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "VERSION_MISMATCH",
                "domain": "rummyd",
                "metadata": {"current_version": "3"},
            }
        ],
    }
}

Answer = Callable[[httpx.Request], httpx.Response]


@contextmanager
def answering(monkeypatch: pytest.MonkeyPatch, answer: Answer, api_key: str = "") -> Iterator[RestApi]:
    """A client whose server is `answer`."""
    client = httpx.AsyncClient

    def mocked(**options: object) -> httpx.AsyncClient:
        return client(base_url="http://rummyd", transport=httpx.MockTransport(answer))

    with monkeypatch.context() as patched:
        patched.setattr(httpx, "AsyncClient", mocked)
        yield RestApi("http://rummyd", api_key)


async def streamed(api: RestApi, **request: object) -> list[pb.ObserveResponse]:
    return [message async for message in api.observe(pb.ObserveRequest(name="games/a", **request))]  # type: ignore[arg-type]


def chunks(*parts: bytes | Exception) -> Callable[[httpx.Request], httpx.Response]:
    """A stream that arrives in these parts."""

    async def body() -> AsyncIterator[bytes]:
        for part in parts:
            if isinstance(part, Exception):
                raise part
            yield part

    return lambda _request: httpx.Response(200, content=body())


async def test_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events are read wherever the network cuts them, with every character that a name may hold."""
    name = "A\u2028da\x85"
    joined = {"batch": {"version": 2, "events": [{"seatJoined": {"seat": 0, "displayName": name}}]}}
    wire = (
        "retry: 1000\n\nid: e.2\nevent: batch\ndata: "
        + json.dumps(joined, ensure_ascii=False)
        + '\n\n: a comment\n\nevent: heartbeat\ndata: {"heartbeat":{"version":2}}\n\nevent: end\ndata: {}\n\n'
    ).encode()
    for size in (1, 7, len(wire)):
        parts = [wire[start : start + size] for start in range(0, len(wire), size)]
        with answering(monkeypatch, chunks(*parts)) as api:
            batch, beat = await streamed(api)
        assert batch.batch.events[0].seat_joined.display_name == name
        assert beat.heartbeat.version == 2


@pytest.mark.parametrize(
    "parts",
    [
        [b'event: batch\ndata: {"batch":{"version":2}}\n\n'],
        [b'event: batch\ndata: {"batch":{"version":2}}\n\nevent: ba', httpx.RemoteProtocolError("cut off")],
    ],
    ids=["closed", "broken"],
)
async def test_a_stream_without_end(parts: list[bytes | Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that ends without the event `end` was lost, and is worth going on with."""
    with answering(monkeypatch, chunks(*parts)) as api:
        stream = api.observe(pb.ObserveRequest(name="games/a"))
        assert (await anext(stream)).batch.version == 2
        with pytest.raises(CallError) as raised:
            await anext(stream)
    assert (raised.value.code, raised.value.worth_a_retry) == ("UNAVAILABLE", True)


async def test_an_error_in_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event `failure` is the error that its data tells."""
    wire = b"event: failure\ndata: " + json.dumps(REFUSAL).encode() + b"\n\n"
    with answering(monkeypatch, chunks(wire)) as api, pytest.raises(CallError) as raised:
        await streamed(api)
    assert raised.value.reason == "VERSION_MISMATCH"


async def test_a_stream_is_resumed_by_the_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream is asked for from where the last one broke off."""
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, content=b"event: end\ndata: {}\n\n")

    with answering(monkeypatch, answer) as api:
        assert await streamed(api) == []
        assert await streamed(api, after=7, epoch="e", mark="0f" * 8) == []
    assert [dict(request.url.params) for request in asked] == [{}, {"after": "7", "epoch": "e", "mark": "0f" * 8}]
    assert {request.headers["accept"] for request in asked} == {"text/event-stream"}


@pytest.mark.parametrize(
    ("status", "body", "code", "reason"),
    [
        (409, json.dumps(REFUSAL).encode(), "ABORTED", "VERSION_MISMATCH"),
        (502, b"<html>Bad Gateway</html>", "UNAVAILABLE", ""),
        (503, b"[]", "UNAVAILABLE", ""),
        (504, b"", "UNAVAILABLE", ""),
        (408, b"<html>Request Timeout</html>", "UNAVAILABLE", ""),
        (429, b"slow down", "UNAVAILABLE", ""),
        (404, b'{"error": "no such page"}', "UNKNOWN", ""),
        (302, b"", "UNKNOWN", ""),
    ],
)
async def test_errors(status: int, body: bytes, code: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's errors are told as it tells them; what a proxy makes up in its place is worth a retry."""
    with answering(monkeypatch, lambda _request: httpx.Response(status, content=body)) as api:
        for call in (api.get_game(pb.GetGameRequest(name="games/a")), streamed(api)):
            with pytest.raises(CallError) as raised:
                await call
            assert (raised.value.code, raised.value.reason) == (code, reason)


async def test_when_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait that a refusal asks for is told with it, to the millisecond."""
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.250s"}
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "LIMIT_EXCEEDED", "domain": "rummyd"}
    error = {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "too often", "details": [info, retry]}
    with (
        answering(monkeypatch, lambda _request: httpx.Response(429, json={"error": error})) as api,
        pytest.raises(CallError) as raised,
    ):
        await api.get_game(pb.GetGameRequest(name="games/a"))
    assert (raised.value.reason, raised.value.retry_s, raised.value.worth_a_retry) == ("LIMIT_EXCEEDED", 1.25, True)


async def test_events_are_asked_for_by_the_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that waits has until then, and longer, before it counts as lost."""
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json={"version": 4, "epoch": "e"})

    with answering(monkeypatch, answer) as api:
        request = pb.ListEventsRequest(name="games/a", after=4, epoch="e", wait=Duration(seconds=20))
        assert (await api.list_events(request, "token")).version == 4
    assert dict(asked[0].url.params) == {"after": "4", "epoch": "e", "wait": "20s"}
    assert asked[0].headers["authorization"] == "Bearer token"
    assert asked[0].extensions["timeout"]["read"] > 20


@pytest.mark.parametrize("body", [b"<html>Sign in, please</html>", b"\xff"])
async def test_an_answer_of_somebody_else(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """What something on the way answers in the server's place, as if all were well, is an error like any other."""
    with (
        answering(monkeypatch, lambda _request: httpx.Response(200, content=body)) as api,
        pytest.raises(CallError) as raised,
    ):
        await api.get_game(pb.GetGameRequest(name="games/a"))
    assert (raised.value.code, raised.value.worth_a_retry) == ("UNKNOWN", False)


async def test_a_name_stays_in_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a table's name holds is part of the name, and leads to no other path."""
    asked: list[httpx.URL] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url)
        return httpx.Response(200, json={})

    with answering(monkeypatch, answer) as api:
        await api.act(pb.ActRequest(name="games/a?b#c d", request_id="one"), "token")
    assert asked[0].raw_path == b"/v1/games/a%3Fb%23c%20d:act"


@pytest.mark.parametrize(
    ("error", "code"),
    [(httpx.ConnectError("refused"), "UNAVAILABLE"), (httpx.ReadTimeout("too slow"), "DEADLINE_EXCEEDED")],
)
async def test_no_answer(error: Exception, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that cannot be reached, or does not answer, is worth a retry."""

    def answer(_request: httpx.Request) -> httpx.Response:
        raise error

    with answering(monkeypatch, answer) as api:
        for call in (api.get_game(pb.GetGameRequest(name="games/a")), streamed(api)):
            with pytest.raises(CallError) as raised:
                await call
            assert (raised.value.code, raised.value.worth_a_retry) == (code, True)
