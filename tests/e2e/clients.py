"""Clients of rummyd over gRPC and over REST, alike, so that a test can be run over either.

    async with GrpcClient(server) as ann, RestClient(server) as bob:
        game = await ann.create(Game(seat_count=2))
        joined = await bob.join(game.name, "Bob")          from now on Bob calls with his token
        async with bob.observe(game.name) as stream:
            message = await stream.next()

What comes back is read strictly: what the protos do not describe, as JSON or as bytes, fails the test. All of it is
kept in `heard`, for those who look for secrets. So they share nothing with `clients/`, which forgives as a client
should: it skips what it does not know, and finds the paths by the annotations that are to be tested.
"""

import asyncio
import json
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

import grpc
import httpx
from google.protobuf import json_format
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from rummy.v1 import game_service_pb2 as pb
from rummy.v1 import rule_set_service_pb2 as rules_pb
from rummy.v1.action_pb2 import Action
from rummy.v1.game_pb2 import Game
from rummy.v1.replay_pb2 import Replay
from rummy.v1.rule_set_pb2 import RuleSet

from tests.e2e.live import LONGEST_S, Listening

DOMAIN = "rummyd"
Answer = TypeVar("Answer", bound=Message)


@dataclass(eq=False)
class Failure(Exception):
    """An error that a server answered with: the same whichever way it came."""

    code: str
    reason: str
    text: str
    metadata: Mapping[str, str] = field(default_factory=dict)
    fields: tuple[tuple[str, str], ...] = ()
    """Path and reason of each bad field."""
    retry_s: float = 0.0
    """Seconds after which the server wants to be asked again, if it says so."""

    def __str__(self) -> str:
        return f"{self.code} {self.reason}: {self.text} {dict(self.metadata)} {self.fields}"


class Heard(NamedTuple):
    """Bytes that came back, whoever `token` made the caller.

    Where they are a message it is `answer`, a `google.rpc.Status` for an error, and nothing is in them that is not in
    it; `asked` is the request. Else they are headers and the like.
    """

    data: bytes
    token: str | None
    asked: Message | None = None
    answer: Message | None = None


class LostError(Exception):
    """The connection broke, or could not be had: nobody knows what became of the call."""


class Stream:
    """The messages of one Observe, each to be had within a deadline. `ids` are those of SSE."""

    def __init__(self, messages: AsyncGenerator[tuple[pb.ObserveResponse, str | None]]) -> None:
        self._messages = messages
        self.ids: list[str] = []

    async def next(self) -> pb.ObserveResponse:
        """The next message. Raises Failure, LostError, or StopAsyncIteration where the stream has ended well."""
        async with asyncio.timeout(LONGEST_S):
            message, event_id = await anext(self._messages)
        if event_id:
            self.ids.append(event_id)
        return message

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> pb.ObserveResponse:
        return await self.next()


class Client(ABC):
    """One person at a server: a spectator until `token` is a seat's."""

    front: str

    def __init__(self, server: Listening, token: str | None = None) -> None:
        self.server = server
        self.token = token
        self.heard: list[Heard] = []
        self.patient = False
        """Whether what may be tried again is, as clients should: while a server is away."""
        self.headers: dict[str, str] = {}
        """What else goes with each call, by names in lower case."""

    async def create(self, game: Game, request_id: str = "") -> Game:
        """CreateGame."""
        return await self.ask(pb.CreateGameRequest(game=game, request_id=request_id), Game)

    async def get(self, name: str) -> Game:
        """GetGame."""
        return await self.ask(pb.GetGameRequest(name=name), Game)

    async def find(self, code: str) -> Game:
        """FindGame."""
        return await self.ask(pb.FindGameRequest(code=code), Game)

    async def games(self, page_size: int = 0, page_token: str = "") -> pb.ListGamesResponse:
        """ListGames."""
        request = pb.ListGamesRequest(page_size=page_size, page_token=page_token)
        return await self.ask(request, pb.ListGamesResponse)

    async def join(
        self, name: str, display_name: str = "Somebody", *, seat: int | None = None, request_id: str = ""
    ) -> pb.JoinGameResponse:
        """JoinGame; the token is this client's from now on."""
        request = pb.JoinGameRequest(name=name, display_name=display_name, seat=seat, request_id=request_id)
        joined = await self.ask(request, pb.JoinGameResponse)
        self.token = joined.token
        return joined

    async def quick_join(
        self, game: Game, display_name: str = "Somebody", *, request_id: str = ""
    ) -> pb.JoinGameResponse:
        """QuickJoin; the token is this client's from now on."""
        request = pb.QuickJoinRequest(game=game, display_name=display_name, request_id=request_id)
        joined = await self.ask(request, pb.JoinGameResponse)
        self.token = joined.token
        return joined

    async def rematch(self, name: str, request_id: str = "") -> pb.JoinGameResponse:
        """Rematch; the token is this client's from now on."""
        joined = await self.ask(pb.RematchRequest(name=name, request_id=request_id), pb.JoinGameResponse)
        self.token = joined.token
        return joined

    async def add_bot(self, name: str, request_id: str = "") -> Game:
        """AddBot."""
        return await self.ask(pb.AddBotRequest(name=name, request_id=request_id), Game)

    async def resume(self, name: str, request_id: str = "") -> Game:
        """ResumeSeat."""
        return await self.ask(pb.ResumeSeatRequest(name=name, request_id=request_id), Game)

    async def leave(self, name: str, request_id: str = "") -> Game:
        """LeaveGame."""
        return await self.ask(pb.LeaveGameRequest(name=name, request_id=request_id), Game)

    async def start(self, name: str, request_id: str = "") -> Game:
        """StartGame."""
        return await self.ask(pb.StartGameRequest(name=name, request_id=request_id), Game)

    async def act(
        self,
        name: str,
        actions: Sequence[Action],
        *,
        request_id: str = "",
        expected_version: int | None = None,
        validate_only: bool = False,
    ) -> pb.ActResponse:
        """Act."""
        request = pb.ActRequest(
            name=name,
            actions=actions,
            request_id=request_id,
            expected_version=expected_version,
            validate_only=validate_only,
        )
        return await self.ask(request, pb.ActResponse)

    async def suggestion(self, name: str) -> pb.SuggestActionResponse:
        """SuggestAction."""
        return await self.ask(pb.SuggestActionRequest(name=name), pb.SuggestActionResponse)

    async def legal(self, name: str, page_size: int = 0, page_token: str = "") -> pb.ListLegalActionsResponse:
        """ListLegalActions."""
        request = pb.ListLegalActionsRequest(name=name, page_size=page_size, page_token=page_token)
        return await self.ask(request, pb.ListLegalActionsResponse)

    async def replay(self, name: str) -> Replay:
        """GetReplay."""
        return await self.ask(pb.GetReplayRequest(name=name), Replay)

    async def rule_sets(self) -> rules_pb.ListRuleSetsResponse:
        """ListRuleSets."""
        return await self.ask(rules_pb.ListRuleSetsRequest(), rules_pb.ListRuleSetsResponse)

    async def check(self, rule_set: RuleSet) -> rules_pb.CheckRuleSetResponse:
        """CheckRuleSet."""
        return await self.ask(rules_pb.CheckRuleSetRequest(rule_set=rule_set), rules_pb.CheckRuleSetResponse)

    async def events(
        self, name: str, *, after: int = 0, epoch: str = "", page_size: int = 0, wait_s: int = 0
    ) -> pb.ListEventsResponse:
        """ListEvents."""
        wait = Duration(seconds=wait_s) if wait_s else None
        request = pb.ListEventsRequest(name=name, after=after, epoch=epoch, page_size=page_size, wait=wait)
        return await self.ask(request, pb.ListEventsResponse)

    @asynccontextmanager
    async def observe(self, name: str, *, after: int = 0, epoch: str = "") -> AsyncIterator[Stream]:
        """Observe."""
        async with aclosing(self._observe(pb.ObserveRequest(name=name, after=after, epoch=epoch))) as messages:
            yield Stream(messages)

    async def ask(self, request: Message, answer: type[Answer]) -> Answer:
        """Any unary call. Raises Failure or LostError."""
        deadline = time.monotonic() + LONGEST_S
        while True:
            try:
                return await self._call(request, answer)
            except (LostError, Failure) as error:
                lost = isinstance(error, LostError) or error.code == "UNAVAILABLE"
                if not (self.patient and lost and time.monotonic() < deadline):
                    raise
            await asyncio.sleep(0.05)

    def hear(self, data: bytes, token: str | None, asked: Message | None = None, answer: Message | None = None) -> None:
        """Keeps what came back to who called with this token."""
        if data:
            self.heard.append(Heard(data, token, asked, answer))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @abstractmethod
    async def close(self) -> None:
        """Hangs up."""

    @abstractmethod
    async def _call(self, request: Message, answer: type[Answer]) -> Answer: ...

    @abstractmethod
    def _observe(self, request: pb.ObserveRequest) -> AsyncGenerator[tuple[pb.ObserveResponse, str | None]]: ...


class GrpcClient(Client):
    """Over gRPC."""

    front = "grpc"

    def __init__(self, server: Listening, token: str | None = None, *, read_ahead: bool = True) -> None:
        """Without `read_ahead` nothing is taken from the network before it is asked for."""
        super().__init__(server, token)
        # No pool shared with other channels, and a server that comes back is found again soon.
        backoff = [(f"grpc.{which}_reconnect_backoff_ms", 100) for which in ("initial", "max")]
        options = [("grpc.use_local_subchannel_pool", 1), *backoff]
        if not read_ahead:
            options += [("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 1)]
        self._channel = grpc.aio.insecure_channel(server.grpc, options=options)

    async def close(self) -> None:
        await self._channel.close()

    async def _call(self, request: Message, answer: type[Answer]) -> Answer:
        call: grpc.aio.UnaryUnaryMultiCallable[Message, bytes] = self._channel.unary_unary(
            _path(request), request_serializer=type(request).SerializeToString
        )
        token = self.token
        sent = call(request, metadata=self._metadata(), timeout=LONGEST_S)
        try:
            data = await sent
        except grpc.aio.AioRpcError as error:
            raise self._failure(error, token, request) from error
        self._hear_metadata(token, await sent.initial_metadata(), await sent.trailing_metadata())
        return self._read(data, answer, token, request)

    async def _observe(self, request: pb.ObserveRequest) -> AsyncGenerator[tuple[pb.ObserveResponse, str | None]]:
        call: grpc.aio.UnaryStreamMultiCallable[Message, bytes] = self._channel.unary_stream(
            _path(request), request_serializer=type(request).SerializeToString
        )
        token = self.token
        stream = call(request, metadata=self._metadata())
        try:
            async for data in stream:
                yield self._read(data, pb.ObserveResponse, token, request), None
            self._hear_metadata(token, await stream.initial_metadata(), await stream.trailing_metadata())
        except grpc.aio.AioRpcError as error:
            raise self._failure(error, token, request) from error
        finally:
            stream.cancel()

    def _metadata(self) -> tuple[tuple[str, str], ...]:
        return (*self.headers.items(), *((("authorization", f"Bearer {self.token}"),) if self.token else ()))

    def _read(self, data: bytes, kind: type[Answer], token: str | None, asked: Message) -> Answer:
        """The message of these bytes, in which nothing is that the protos do not describe."""
        message = kind.FromString(data)
        message.DiscardUnknownFields()
        assert message.ByteSize() == len(data), f"more than a {kind.__name__}: {data!r}"
        self.hear(data, token, asked, message)
        return message

    def _failure(self, error: grpc.aio.AioRpcError, token: str | None, asked: Message) -> Exception:
        self._hear_metadata(token, error.initial_metadata(), error.trailing_metadata())
        details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin")
        if not isinstance(details, bytes):
            if error.code() is grpc.StatusCode.UNAVAILABLE:
                return LostError(str(error))
            return AssertionError(f"an error without details: {error!r}")
        status = self._read(details, status_pb2.Status, token, asked)
        assert (status.code, status.message) == (error.code().value[0], error.details())
        return failure_of(error.code().name, status.message, status.details)

    def _hear_metadata(self, token: str | None, *metadata: Iterable[tuple[str, str | bytes]] | None) -> None:
        """Hears all but the details of an error, which are read as what they are."""
        pairs = [pair for part in metadata for pair in part or () if pair[0] != "grpc-status-details-bin"]
        lines = [name.encode() + b": " + (text if isinstance(text, bytes) else text.encode()) for name, text in pairs]
        self.hear(b"\n".join(lines), token)


class RestClient(Client):
    """Over REST, its streams as server-sent events."""

    front = "rest"

    def __init__(self, server: Listening, token: str | None = None) -> None:
        super().__init__(server, token)
        self.last_event_id = ""
        """What the next stream resumes by, if anything: as a browser does."""
        self.last_status = 0
        """The HTTP status of the last answer."""
        self.last_retry_after = ""
        """The header of the last answer that says when to come again."""
        self.answers: list[tuple[str, bytes]] = []
        """Each answer, and each event of a stream, as JSON, with the name of its message (`Error` for an error)."""
        self._http = httpx.AsyncClient(base_url=server.rest, timeout=LONGEST_S, trust_env=False, verify=_NO_TLS)

    async def close(self) -> None:
        await self._http.aclose()

    async def _call(self, request: Message, answer: type[Answer]) -> Answer:
        token = self.token
        try:
            response = await self._http.send(self._request(request))
        except httpx.TransportError as error:
            raise LostError(repr(error)) from error
        self._hear_headers(response, token)
        self.answers.append((answer.__name__ if response.status_code == 200 else "Error", response.content))
        if response.status_code != 200:
            raise self._failure(response.content, token, request, response.status_code)
        return self._read(response.content, answer, token, request)

    async def _observe(self, request: pb.ObserveRequest) -> AsyncGenerator[tuple[pb.ObserveResponse, str | None]]:
        token, sent = self.token, self._request(request)
        if self.last_event_id:
            sent.headers["last-event-id"] = self.last_event_id
        try:
            response = await self._http.send(sent, stream=True)
            try:
                async with aclosing(self._events(response, token, request)) as events:
                    async for event in events:
                        yield event
            finally:
                await response.aclose()
        except httpx.TransportError as error:
            raise LostError(repr(error)) from error

    async def _events(
        self, response: httpx.Response, token: str | None, asked: Message
    ) -> AsyncGenerator[tuple[pb.ObserveResponse, str | None]]:
        self._hear_headers(response, token)
        if response.status_code == 204:
            return
        if response.status_code != 200:
            raise self._failure(await response.aread(), token, asked, response.status_code)
        assert response.headers["content-type"] == "text/event-stream"
        async for block in _blocks(response):
            head, _, data = block.partition(b"data: ")
            self.hear(head, token)
            event = dict(line.split(": ", 1) for line in block.decode().splitlines())
            match event.get("event"):
                case None:
                    assert event.keys() == {"retry"}
                case "end":
                    assert data == b"{}"
                    return
                case "failure":
                    raise self._failure(data, token, asked)
                case name:
                    self.answers.append(("ObserveResponse", data))
                    message = self._read(data, pb.ObserveResponse, token, asked)
                    assert message.WhichOneof("message") == name
                    yield message, event.get("id")
        raise LostError("the stream stopped without an end")

    def _read(self, data: bytes, kind: type[Answer], token: str | None, asked: Message) -> Answer:
        """The message of this JSON, in which nothing is that the protos do not describe."""
        message = json_format.Parse(data, kind())
        self.hear(data, token, asked, message)
        return message

    def _failure(self, body: bytes, token: str | None, asked: Message, http_status: int | None = None) -> Failure:
        """The failure in the body of AIP-193, which must tell the same status as HTTP does."""
        told = json.loads(body)
        error = told["error"]
        assert told.keys() == {"error"}
        assert error.keys() == {"code", "status", "message", "details"}
        assert http_status in (None, error["code"])
        status = json_format.ParseDict({"message": error["message"], "details": error["details"]}, status_pb2.Status())
        self.hear(body, token, asked, status)
        return failure_of(error["status"], status.message, status.details)

    def _request(self, request: Message) -> httpx.Request:
        """The request that the annotations in the protos ask for, spelt out here once more."""
        method = type(request).__name__.removesuffix("Request")
        verb, path = _PATHS[method]
        values: dict[str, Any] = json_format.MessageToDict(request)
        path = path.replace("NAME", values.pop("name", ""))
        headers = self.headers | ({"authorization": f"Bearer {self.token}"} if self.token else {})
        if verb == "GET":
            return self._http.build_request(verb, path, params=values, headers=headers)
        if method == "CreateGame":
            body = values.pop("game")
            return self._http.build_request(verb, path, params=values, json=body, headers=headers)
        return self._http.build_request(verb, path, json=values, headers=headers)

    def _hear_headers(self, response: httpx.Response, token: str | None) -> None:
        self.last_status = response.status_code
        self.last_retry_after = response.headers.get("retry-after", "")
        self.hear(b"\n".join(name + b": " + value for name, value in response.headers.raw), token)


async def _blocks(response: httpx.Response) -> AsyncGenerator[bytes]:
    """The blocks of a stream of events, as they come."""
    buffer = b""
    async for data in response.aiter_bytes():
        *blocks, buffer = (buffer + data).split(b"\n\n")
        for block in blocks:
            yield block


_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Spares each client the reading of certificates, which takes longer than a match."""

_PATHS = {
    "CreateGame": ("POST", "/v1/games"),
    "GetGame": ("GET", "/v1/NAME"),
    "FindGame": ("GET", "/v1/games:find"),
    "ListGames": ("GET", "/v1/games"),
    "JoinGame": ("POST", "/v1/NAME:join"),
    "QuickJoin": ("POST", "/v1/games:quickJoin"),
    "AddBot": ("POST", "/v1/NAME:addBot"),
    "ResumeSeat": ("POST", "/v1/NAME:resumeSeat"),
    "LeaveGame": ("POST", "/v1/NAME:leave"),
    "Rematch": ("POST", "/v1/NAME:rematch"),
    "StartGame": ("POST", "/v1/NAME:start"),
    "Act": ("POST", "/v1/NAME:act"),
    "ListLegalActions": ("GET", "/v1/NAME:legalActions"),
    "SuggestAction": ("GET", "/v1/NAME:suggestedAction"),
    "GetReplay": ("GET", "/v1/NAME/replay"),
    "Observe": ("GET", "/v1/NAME:observe"),
    "ListEvents": ("GET", "/v1/NAME/events"),
    "ListRuleSets": ("GET", "/v1/ruleSets"),
    "GetRuleSet": ("GET", "/v1/NAME"),
    "CheckRuleSet": ("POST", "/v1/ruleSets:check"),
}


def _path(request: Message) -> str:
    """The path of the gRPC method that takes this request."""
    method = type(request).__name__.removesuffix("Request")
    service = "RuleSetService" if "RuleSet" in method else "GameService"
    return f"/rummy.v1.{service}/{method}"


def failure_of(code: str, text: str, details: Iterable[Any]) -> Failure:
    """The failure that a status with these packed details stands for. Its first detail is the ErrorInfo."""
    first, *rest = details
    info = error_details_pb2.ErrorInfo()
    assert first.Unpack(info)
    assert info.domain == DOMAIN
    fields: list[tuple[str, str]] = []
    retry = error_details_pb2.RetryInfo()
    for detail in rest:
        bad = error_details_pb2.BadRequest()
        assert detail.Unpack(bad) or detail.Unpack(retry)
        fields += [(violation.field, violation.reason) for violation in bad.field_violations]
    retry_s = retry.retry_delay.ToMilliseconds() / 1000
    return Failure(code, info.reason, text, dict(info.metadata), tuple(fields), retry_s)
