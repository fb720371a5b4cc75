"""Streams over HTTP: server-sent events, how they resume and how they end."""

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from google.protobuf.message import Message
from rummy.v1.event_pb2 import Event, EventBatch
from rummy.v1.game_pb2 import Game
from rummy.v1.game_service_pb2 import ObserveResponse

from service.api.calls import Caller, Calls
from service.api.errors import ApiError
from service.api.rest import sse
from tests.service.api.fronts import new_app
from tests.service.api.rest.conftest import Backend
from tests.service.api.rest.messages import SERVICES

SNAPSHOT = ObserveResponse(snapshot=Game(name="games/a", epoch="e1", version=4, display_name="two\nlines"))
MARK = "5b0e91c2d4f80a37"
DISCARDED = Event(discarded=Event.Discarded(seat=1, card="7H"))
BATCH = ObserveResponse(batch=EventBatch(version=5, epoch="e1", events=[DISCARDED]), mark=MARK)
BEAT = ObserveResponse(heartbeat=ObserveResponse.Heartbeat(version=5))


def events(text: str) -> list[dict[str, str]]:
    """The events of a stream, taken apart as a browser does it: blocks that end with a blank line, one field a line."""
    assert text.endswith("\n\n")
    blocks = [dict(line.split(": ", 1) for line in block.split("\n")) for block in text[:-2].split("\n\n")]
    return [block for block in blocks if "data" in block]


async def test_each_message_is_an_event(client: httpx.AsyncClient, backend: Backend) -> None:
    """An event has the name of what it holds, the message on one line, and an id where a stream may resume after it."""
    backend.answers["Observe"] = [SNAPSHOT, BATCH, BEAT]
    answer = await client.get("/v1/games/a:observe")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.text.startswith("retry: 1000\n\n")
    found = events(answer.text)
    assert [event["event"] for event in found] == ["snapshot", "batch", "heartbeat", "end"]
    assert [event.get("id") for event in found] == ["e1.4", f"e1.5.{MARK}", None, None]
    assert json.loads(found[0]["data"])["snapshot"]["displayName"] == "two\nlines"
    assert json.loads(found[1]["data"])["batch"]["events"] == [{"discarded": {"seat": 1, "card": "7H"}}]


@pytest.mark.parametrize(
    ("header", "query", "resumed"),
    [
        (f"e1.4.{MARK}", "", (4, "e1", MARK)),
        ("e1.4", "", (4, "e1", "")),
        ("4", "", (4, "", "")),
        (f"4.{MARK}", "", (4, "", MARK)),
        ("e1.4", f"?after=2&epoch=e0&mark={MARK}", (4, "e1", "")),
        ("", f"?after=4&epoch=e1&mark={MARK}", (4, "e1", MARK)),
        ("", "?after=4", (4, "", "")),
    ],
)
async def test_a_stream_resumes_after_the_last_event(
    client: httpx.AsyncClient, backend: Backend, header: str, query: str, resumed: tuple[int, str, str]
) -> None:
    """`Last-Event-ID`, which a browser sends when it comes back, counts for more than what the page once asked for.

    However it was resumed, the ids have the epoch.
    """
    backend.answers["Observe"] = [BATCH]
    answer = await client.get(f"/v1/games/a:observe{query}", headers={"Last-Event-ID": header} if header else {})
    request = backend.seen[0][1]
    assert (request.after, request.epoch, request.mark) == resumed
    assert events(answer.text)[0]["id"] == f"e1.5.{MARK}"


@pytest.mark.parametrize("header", ["x", "-1", "e1.", ".1", "e1.99999999999", "e 1.2.3", "e1.4.0A", "e1.4.", "é.1"])
async def test_an_id_that_no_stream_has_given_is_refused(client: httpx.AsyncClient, header: str) -> None:
    """A bad `Last-Event-ID` is named like a bad field."""
    answer = await client.get("/v1/games/a:observe", headers={b"Last-Event-ID": header.encode()})
    assert answer.status_code == 400
    assert answer.json()["error"]["details"][1]["fieldViolations"][0]["field"] == "Last-Event-ID"


async def test_a_stream_that_fails_at_once_is_a_plain_error(client: httpx.AsyncClient, backend: Backend) -> None:
    """Before the first message an error has its own status and body."""
    backend.answers["Observe"] = [ApiError("GAME_NOT_FOUND", "no such game")]
    answer = await client.get("/v1/games/a:observe")
    assert answer.status_code == 404
    assert answer.json()["error"]["details"][0]["reason"] == "GAME_NOT_FOUND"


async def test_a_stream_that_fails_later_ends_with_a_failure(client: httpx.AsyncClient, backend: Backend) -> None:
    """After the first message an error is the last event, with the same body, and a name that no browser makes up."""
    backend.answers["Observe"] = [SNAPSHOT, ApiError("SERVER_DRAINING", "the server stops")]
    found = events((await client.get("/v1/games/a:observe")).text)
    assert [event["event"] for event in found] == ["snapshot", "failure"]
    assert json.loads(found[1]["data"])["error"]["code"] == 503


async def test_a_stream_without_a_message_ends_and_is_not_resumed(client: httpx.AsyncClient, backend: Backend) -> None:
    """Who comes back when all is told gets 204, so that a browser stays away; who asks first is told the end."""
    assert events((await client.get("/v1/games/a:observe")).text) == [{"event": "end", "data": "{}"}]
    again = await client.get("/v1/games/a:observe", headers={"Last-Event-ID": "e1.5"})
    assert (again.status_code, again.content) == (204, b"")
    assert "content-type" not in again.headers


@dataclass
class Stream:
    """One stream, driven by hand: what the server sends is in `sent`, and `leave` is the client's going away."""

    sent: "asyncio.Queue[dict[str, Any]]" = field(default_factory=asyncio.Queue)
    leave: asyncio.Event = field(default_factory=asyncio.Event)
    more: "asyncio.Queue[Message | Exception]" = field(default_factory=asyncio.Queue)
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    async def handler(self, request: Message, caller: Caller, /) -> AsyncGenerator[Message]:
        """Answers with what is put into `more`, and tells when it is closed."""
        try:
            while True:
                item = await self.more.get()
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            self.closed.set()

    async def run(self) -> None:
        """Asks to observe."""

        async def none(request: Message, caller: Caller, /) -> Message:
            raise NotImplementedError

        handlers = {service: {method.name: none for method in service.methods} for service in SERVICES}
        calls = Calls({service: {**found, "Observe": self.handler} for service, found in handlers.items()})
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/v1/games/a:observe",
            "raw_path": b"/v1/games/a:observe",
            "query_string": b"",
            "headers": [],
        }
        await new_app(calls)(scope, self.receive, self.send)

    async def receive(self) -> dict[str, Any]:
        if not hasattr(self, "_asked"):
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.leave.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        await self.sent.put(message)

    async def next(self) -> dict[str, Any]:
        return await asyncio.wait_for(self.sent.get(), 60)


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first message that is not there at once is not waited for."""
    monkeypatch.setattr(sse, "_QUIET_S", 0.01)


async def test_a_message_is_sent_as_soon_as_it_is_there() -> None:
    """Events are not held back until the next one, or until the end."""
    stream = Stream()
    task = asyncio.create_task(stream.run())
    await stream.more.put(SNAPSHOT)
    assert (await stream.next())["status"] == 200
    assert (await stream.next())["body"].startswith(b"retry:")
    assert b"event: snapshot" in (await stream.next())["body"]
    assert stream.sent.empty()
    await stream.more.put(BATCH)
    assert b"event: batch" in (await stream.next())["body"]
    stream.leave.set()
    await asyncio.wait_for(task, 60)


@pytest.mark.usefixtures("quiet")
async def test_a_stream_that_has_nothing_to_tell_yet_is_open_all_the_same() -> None:
    """A client that resumes at the newest version is told at once that it is connected, not with the first event."""
    stream = Stream()
    task = asyncio.create_task(stream.run())
    assert (await stream.next())["status"] == 200
    assert (await stream.next())["body"] == b"retry: 1000\n\n"
    await stream.more.put(ApiError("FELL_BEHIND", "too slow"))
    assert b"event: failure" in (await stream.next())["body"]
    assert await stream.next() == {"type": "http.response.body", "body": b""}
    await asyncio.wait_for(task, 60)


@pytest.mark.parametrize("told", [0, 1])
@pytest.mark.parametrize("begun", [False, True])
async def test_a_client_that_goes_away_ends_its_stream_at_once(
    told: int, begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handler is closed when the client is gone, before or between messages, and nothing is raised."""
    monkeypatch.setattr(sse, "_QUIET_S", 0.01 if begun else 60)
    stream = Stream()
    task = asyncio.create_task(stream.run())
    if told or begun:
        for _ in range(told):
            await stream.more.put(SNAPSHOT)
        await stream.next()
    else:
        await asyncio.sleep(0)
    stream.leave.set()
    await asyncio.wait_for(task, 60)
    assert stream.closed.is_set()


@pytest.mark.usefixtures("quiet")
async def test_a_server_that_stops_may_cancel_a_stream() -> None:
    """A cancellation from outside goes through, since it is not the client's going away; the handler is closed."""
    stream = Stream()
    task = asyncio.create_task(stream.run())
    await stream.next()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stream.closed.is_set()
