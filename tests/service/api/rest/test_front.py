"""Calls over HTTP: who calls, what goes in, and what comes out."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from rummy.v1.game_pb2 import Game
from rummy.v1.view_pb2 import View

from service.api.calls import Caller, Calls
from service.api.errors import CODES, ApiError
from service.api.rest.front import Front
from service.observability import metrics
from tests.service.api.fronts import new_app, new_front
from tests.service.api.rest.conftest import Backend
from tests.service.api.rest.messages import SERVICES

GAME = {"seatCount": 2}


def reason(answer: httpx.Response) -> str:
    """The reason that an answer gives, whose body must be in the form of AIP-193."""
    error = answer.json()["error"]
    assert error["code"] == answer.status_code
    assert error["message"]
    assert error["details"][0]["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
    assert error["details"][0]["domain"] == "rummyd"
    assert answer.headers["content-type"] == "application/json"
    return str(error["details"][0]["reason"])


async def test_a_call_reaches_its_handler_and_its_answer_the_client(
    client: httpx.AsyncClient, backend: Backend
) -> None:
    """The handler gets the message and the caller; the client gets the answer with every field that has no presence."""
    backend.answers["CreateGame"] = Game(name="games/a", seat_count=2)
    answer = await client.post("/v1/games", params={"requestId": "6a1c3c0e-0f0f-4f0f-8f0f-0f0f0f0f0f0f"}, json=GAME)
    ((name, request, caller),) = backend.seen
    assert (name, request.game.seat_count, request.request_id[:8]) == ("CreateGame", 2, "6a1c3c0e")
    assert (caller.token, caller.front) == (None, "rest")
    assert answer.status_code == 200
    assert answer.json() == MessageToDict(Game(name="games/a", seat_count=2), always_print_fields_with_no_presence=True)
    assert answer.json()["state"] == "STATE_UNSPECIFIED"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "application/json"


async def test_a_field_with_presence_is_written_only_where_it_is_set(
    client: httpx.AsyncClient, backend: Backend
) -> None:
    """A spectator's view has no seat, and that of seat 0 has."""
    backend.answers["GetGame"] = Game(view=View())
    assert "seat" not in (await client.get("/v1/games/a")).json()["view"]
    backend.answers["GetGame"] = Game(view=View(seat=0))
    assert (await client.get("/v1/games/a")).json()["view"]["seat"] == 0


async def test_the_bearer_token_is_the_callers(client: httpx.AsyncClient, backend: Backend) -> None:
    """The token in `Authorization` goes to the handler as it is."""
    await client.get("/v1/games/a", headers={"Authorization": "Bearer abc.DEF-1_2"})
    assert backend.seen[0][2].token == "abc.DEF-1_2"  # noqa: S105  nobody's


@pytest.mark.parametrize("value", ["", "Bearer", "Basic YTpi", "Bearer a b", "Bearer " + "x" * 5000, "bearer é"])
async def test_an_authorization_that_is_no_bearer_token_is_refused(
    client: httpx.AsyncClient, backend: Backend, value: str
) -> None:
    """Nobody becomes a spectator by a slip in the header: it is 401, with the scheme that is wanted."""
    answer = await client.get("/v1/games/a", headers={b"Authorization": value.encode()})
    assert (answer.status_code, reason(answer)) == (401, "TOKEN_INVALID")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert not backend.seen


async def test_the_call_id_is_the_clients_or_a_new_one(client: httpx.AsyncClient, backend: Backend) -> None:
    """`X-Request-Id` is taken over where it is one, and answered always, with errors, too."""
    answer = await client.get("/v1/games/a", headers={"X-Request-Id": "mine-1"})
    assert answer.headers["x-request-id"] == backend.seen[0][2].call_id == "mine-1"
    other = await client.get("/v1/no", headers={"X-Request-Id": "x" * 65})
    assert other.headers["x-request-id"] not in {"", "x" * 65, "mine-1"}


@pytest.mark.parametrize("why", sorted(CODES))
async def test_every_error_is_answered_with_its_status_and_reason(
    client: httpx.AsyncClient, backend: Backend, why: str
) -> None:
    """Whatever reason a handler gives, the client gets it in the form of AIP-193."""
    error = backend.answers["GetGame"] = ApiError(why, "a sentence", {"k": "v"})
    answer = await client.get("/v1/games/a")
    assert (answer.status_code, reason(answer)) == (error.http_status, why)
    assert answer.json()["error"]["details"][0]["metadata"] == {"k": "v"}
    assert ("retry-after" in answer.headers) == (answer.status_code in {429, 503})


async def test_a_fault_of_a_handler_tells_the_client_nothing(client: httpx.AsyncClient, backend: Backend) -> None:
    """A crash is INTERNAL with the call's id; its cause stays in the log."""
    backend.answers["GetGame"] = KeyError("the seed is 42")
    answer = await client.get("/v1/games/a", headers={"X-Request-Id": "find-me"})
    assert (answer.status_code, reason(answer)) == (500, "INTERNAL")
    assert "seed" not in answer.text
    assert answer.json()["error"]["details"][0]["metadata"] == {"call_id": "find-me"}


async def test_the_rules_of_the_protos_hold(client: httpx.AsyncClient, backend: Backend) -> None:
    """A value out of its range is named like any other fault."""
    answer = await client.post("/v1/games", json={"seatCount": 2, "turnLimit": {"turn": "30s", "misses": 999}})
    assert (answer.status_code, reason(answer)) == (400, "INVALID_FIELD")
    assert answer.json()["error"]["details"][1]["fieldViolations"][0]["field"] == "turnLimit.misses"
    assert not backend.seen


async def test_curl_needs_no_content_type(client: httpx.AsyncClient, backend: Backend) -> None:
    """`curl -d '{…}'` says that its body is a form; it is read as the JSON that it is."""
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await client.post("/v1/games", content='{"seatCount": 2}', headers=headers)
    assert answer.status_code == 200


async def test_a_body_up_to_the_limit_is_read_and_one_byte_more_is_not(client: httpx.AsyncClient) -> None:
    """The bound of a body is exact, and passing it is 413."""
    body = b'{"seatCount": 2}'
    assert (await client.post("/v1/games", content=body.ljust(2000))).status_code == 200
    answer = await client.post("/v1/games", content=body.ljust(2001))
    assert (answer.status_code, reason(answer)) == (413, "BODY_TOO_LARGE")


async def test_a_body_that_never_ends_is_cut_off(client: httpx.AsyncClient) -> None:
    """A body sent in pieces without a length is refused as soon as it is too long."""
    taken = 0

    async def pieces() -> Any:
        nonlocal taken
        while True:
            taken += 1
            yield b" " * 500

    assert (await client.post("/v1/games", content=pieces())).status_code == 413
    assert taken <= 6


async def test_a_body_that_does_not_come_is_waited_for_so_long(backend: Backend) -> None:
    """A body has its time as a whole; the answer says so, and that the connection ends with it."""
    front = new_front(backend.calls(), max_body_bytes=1_000_000, receive_s=0.2)
    sent = await half_sent(front)
    assert (sent[0]["status"], (b"connection", b"close") in sent[0]["headers"]) == (408, True)
    assert b'"BODY_TOO_SLOW"' in sent[1]["body"]
    assert not backend.seen


async def test_a_body_that_has_not_come_is_not_waited_for_at_the_end(backend: Backend) -> None:
    """When the server stops, a request that is half there is turned away like a call, or as soon as it comes."""
    calls = backend.calls()
    front = new_front(calls, max_body_bytes=1_000_000, receive_s=600)
    answered = asyncio.ensure_future(half_sent(front))
    await asyncio.sleep(0)
    async with asyncio.timeout(30):
        await calls.drain(0.01, 60)
        for sent in (await answered, await half_sent(front)):
            assert sent[0]["status"] == 503
            assert b'"SERVER_DRAINING"' in sent[1]["body"]
    assert not backend.seen


async def test_a_call_that_outlasts_the_server_is_told_so(backend: Backend) -> None:
    """A call that is cancelled as the server ends is answered as turned away."""
    begun = asyncio.Event()

    async def wait(request: Message, caller: Caller, /) -> Message:
        begun.set()
        await asyncio.Event().wait()
        raise NotImplementedError

    handlers = {service: {method.name: wait for method in service.methods} for service in SERVICES}
    scope = {"type": "http", "method": "GET", "path": "/v1/games/a", "query_string": b"", "headers": []}
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        await asyncio.Event().wait()

    call = asyncio.ensure_future(new_front(Calls(handlers), max_body_bytes=100)(scope, receive, send))
    await begun.wait()
    call.cancel()
    await call
    assert sent[0]["status"] == 503
    assert b'"SERVER_DRAINING"' in sent[1]["body"]


async def half_sent(front: Front) -> list[Any]:
    """What is sent to a client that goes on sending a body without an end, a byte now and then."""
    scope = {"type": "http", "method": "POST", "path": "/v1/games", "query_string": b"", "headers": []}
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b" ", "more_body": True}

    async with asyncio.timeout(30):
        await front(scope, receive, send)
    return sent


async def test_a_compressed_body_is_refused(client: httpx.AsyncClient) -> None:
    """What it would grow to is not known before it is too late."""
    answer = await client.post("/v1/games", content=b"x", headers={"Content-Encoding": "gzip"})
    assert (answer.status_code, reason(answer)) == (415, "BODY_COMPRESSED")
    assert answer.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("name", [b"\xff", b"\xff%20", b"%ED%A0%80", "é".encode()])
async def test_a_path_of_bytes_that_are_no_url_is_refused(backend: Backend, name: bytes) -> None:
    """A client that does not encode its path gets an answer, not a crash."""
    path = b"/v1/games/" + name
    scope = {"type": "http", "method": "GET", "path": "", "raw_path": path, "query_string": b"", "headers": []}
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    await new_front(backend.calls(), max_body_bytes=100)(scope, receive, send)
    assert sent[0]["status"] == 400
    assert b'"field":"name"' in sent[1]["body"]


async def test_a_client_that_goes_away_waits_no_longer(backend: Backend) -> None:
    """A call that waits for events is given up when nobody is there any more to hear of them, and nothing is sent."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def wait(request: Message, caller: Caller, /) -> Message:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise NotImplementedError

    handlers = {service: {method.name: wait for method in service.methods} for service in SERVICES}
    scope = {"type": "http", "method": "GET", "path": "/v1/games/a/events", "query_string": b"", "headers": []}
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    messages: Iterator[dict[str, Any]] = iter(
        [{"type": "http.request", "body": b"", "more_body": False}, {"type": "http.disconnect"}]
    )

    async def receive() -> Any:
        message = next(messages)
        if message["type"] == "http.disconnect":
            await begun.wait()
        return message

    async with asyncio.timeout(60):
        await new_front(Calls(handlers), max_body_bytes=100)(scope, receive, send)
    assert ended.is_set()
    assert sent == []


async def test_unknown_paths_and_verbs_have_the_body_of_every_error(client: httpx.AsyncClient) -> None:
    """Answers of 404 and 405 are in the form of AIP-193; the latter says what is allowed."""
    assert reason(await client.get("/v1/nothing")) == "METHOD_NOT_FOUND"
    answer = await client.delete("/v1/games/a")
    assert (answer.status_code, answer.headers["allow"], reason(answer)) == (405, "GET", "VERB_NOT_ALLOWED")


async def test_a_call_that_cannot_be_read_is_counted_like_any_other(client: httpx.AsyncClient) -> None:
    """What is refused before it reaches a handler is in the metrics under its method."""
    count = metrics.calls.labels("rummy.v1.GameService.CreateGame", "rest", "INVALID_ARGUMENT", "INVALID_FIELD")
    before = count._value.get()
    await client.post("/v1/games", content="{")
    assert count._value.get() == before + 1


async def test_no_answer_repeats_what_was_sent_as_a_value(client: httpx.AsyncClient) -> None:
    """A token that went into the wrong place does not come back in an error."""
    for answer in (
        await client.post("/v1/games", json={"seatCount": "s3cret"}),
        await client.get("/v1/games", params={"token": "s3cret"}),
        await client.get("/v1/games", headers={"Authorization": "Token s3cret"}),
    ):
        assert answer.status_code in {400, 401}
        assert "s3cret" not in answer.text


@pytest.mark.parametrize(("wait_s", "header", "detail"), [(0.25, "1", "0.250s"), (30.001, "31", "30.001s")])
async def test_a_limit_says_when_to_come_again(
    client: httpx.AsyncClient, backend: Backend, wait_s: float, header: str, detail: str
) -> None:
    """A refusal for a limit has the wait in whole seconds for HTTP, and to the millisecond for those who read it."""
    backend.answers["GetGame"] = ApiError("LIMIT_EXCEEDED", "too often", {"limit": "x"}, retry_s=wait_s)
    answer = await client.get("/v1/games/a")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, header)
    retry = answer.json()["error"]["details"][1]
    assert retry == {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": detail}


@pytest.mark.parametrize(("why", "challenge"), [("TOKEN_INVALID", "Bearer"), ("API_KEY_REQUIRED", "ApiKey")])
async def test_what_is_wanted_is_told_by_the_challenge(
    client: httpx.AsyncClient, backend: Backend, why: str, challenge: str
) -> None:
    """An answer of 401 says whether a token or an API key would do."""
    backend.answers["GetGame"] = ApiError(why, "who?")
    assert (await client.get("/v1/games/a")).headers["www-authenticate"] == challenge


@pytest.mark.parametrize(("proxies", "address"), [(0, "127.0.0.1"), (1, "198.51.100.7")])
async def test_the_caller_is_known_by_address_and_key(backend: Backend, proxies: int, address: str) -> None:
    """The address is the connection's, or what a trusted proxy says; the key is in a header of its own."""
    app = new_app(backend.calls(), trusted_proxies=proxies)
    headers = {"X-Forwarded-For": "198.51.100.7", "X-Api-Key": "k"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://rummyd") as http:
        await http.get("/v1/games/a", headers=headers)
    caller = backend.seen[0][2]
    assert (caller.address, caller.api_key, caller.unseen_proxy) == (address, "k", not proxies)
