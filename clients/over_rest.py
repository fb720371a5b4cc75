"""rummyd over REST: JSON for calls, server-sent events for streams.

It reads and writes the messages of `rummy.v1`, so that a program may change the way it speaks without another word. A
client without generated code sends the same JSON by hand: docs/api.md has it.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import Final, Self, TypeVar

import httpx
from google.protobuf.json_format import MessageToDict, Parse
from google.protobuf.message import Message
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.game_pb2 import Game

from clients.api import CallError

__all__ = ["RestApi"]

_TIMEOUT_S: Final = 10.0
_STREAM_TIMEOUT: Final = httpx.Timeout(10.0, read=40.0)
"""A server that is alive sends a heartbeat every 15 seconds."""
_NONE: Final[Mapping[str, str]] = MappingProxyType({})

_Answer = TypeVar("_Answer", bound=Message)


class RestApi(AbstractAsyncContextManager["RestApi"]):
    """The `Api` at `http://HOST:PORT`. `api_key` is for creating tables.

    `http` is a client of that URL to use instead of a usual one, and is closed at the end.
    """

    def __init__(self, url: str, api_key: str = "", *, http: httpx.AsyncClient | None = None) -> None:
        self._keyed = {"x-api-key": api_key} if api_key else {}
        self._http = http or httpx.AsyncClient(base_url=url, timeout=_TIMEOUT_S, trust_env=False)

    async def create_game(self, request: pb.CreateGameRequest) -> Game:
        """Creates a table."""
        query = {"requestId": request.request_id}
        return await self._send("POST", "/v1/games", Game(), body=request.game, query=query, headers=self._keyed)

    async def find_game(self, request: pb.FindGameRequest) -> Game:
        """Finds a private table by its code."""
        return await self._send("GET", "/v1/games:find", Game(), query={"code": request.code})

    async def join_game(self, request: pb.JoinGameRequest) -> pb.JoinGameResponse:
        """Takes a seat."""
        return await self._send("POST", f"/v1/{request.name}:join", pb.JoinGameResponse(), body=request)

    async def quick_join(self, request: pb.QuickJoinRequest) -> pb.JoinGameResponse:
        """Takes a seat at an open table that fits, or at a new one."""
        return await self._send("POST", "/v1/games:quickJoin", pb.JoinGameResponse(), body=request)

    async def add_bot(self, request: pb.AddBotRequest, token: str) -> Game:
        """Puts a bot on a free seat."""
        return await self._send("POST", f"/v1/{request.name}:addBot", Game(), token, body=request)

    async def resume_seat(self, request: pb.ResumeSeatRequest, token: str) -> Game:
        """Takes the seat back from the bot."""
        return await self._send("POST", f"/v1/{request.name}:resumeSeat", Game(), token, body=request)

    async def leave_game(self, request: pb.LeaveGameRequest, token: str) -> Game:
        """Gives up the seat."""
        return await self._send("POST", f"/v1/{request.name}:leave", Game(), token, body=request)

    async def rematch(self, request: pb.RematchRequest, token: str) -> pb.JoinGameResponse:
        """Takes the seat's place at the table where those who played here play again."""
        return await self._send("POST", f"/v1/{request.name}:rematch", pb.JoinGameResponse(), token, body=request)

    async def get_game(self, request: pb.GetGameRequest, token: str = "") -> Game:
        """Gets a table, as the caller may see it."""
        return await self._send("GET", f"/v1/{request.name}", Game(), token)

    async def act(self, request: pb.ActRequest, token: str) -> pb.ActResponse:
        """Plays."""
        return await self._send("POST", f"/v1/{request.name}:act", pb.ActResponse(), token, body=request)

    async def list_legal_actions(self, request: pb.ListLegalActionsRequest, token: str) -> pb.ListLegalActionsResponse:
        """Lists what the rules allow the caller now."""
        query = {"pageSize": str(request.page_size), "pageToken": request.page_token}
        path = f"/v1/{request.name}:legalActions"
        return await self._send("GET", path, pb.ListLegalActionsResponse(), token, query=query)

    async def list_events(self, request: pb.ListEventsRequest, token: str = "") -> pb.ListEventsResponse:
        """Lists what has happened at a table after a version."""
        query = {name: str(value) for name, value in MessageToDict(request).items() if name != "name"}
        path, timeout_s = f"/v1/{request.name}/events", _TIMEOUT_S + request.wait.seconds
        return await self._send("GET", path, pb.ListEventsResponse(), token, query=query, timeout_s=timeout_s)

    async def observe(self, request: pb.ObserveRequest, token: str = "") -> AsyncGenerator[pb.ObserveResponse]:
        """Watches a table. It resumes as a browser does, by the id of the last event."""
        headers = _as(token) | {"accept": "text/event-stream"}
        if request.after:
            headers["last-event-id"] = ".".join(filter(None, [request.epoch, str(request.after), request.mark]))
        path = f"/v1/{request.name}:observe"
        with _errors():
            async with self._http.stream("GET", path, headers=headers, timeout=_STREAM_TIMEOUT) as response:
                if response.status_code == httpx.codes.NO_CONTENT:
                    return
                if response.is_error:
                    raise _call_error(response.status_code, await response.aread())
                async for event in _events(_lines(response.aiter_bytes())):
                    if event.name == "end":
                        return
                    if event.name == "error":
                        raise _call_error(response.status_code, event.data.encode())
                    yield Parse(event.data, pb.ObserveResponse(), ignore_unknown_fields=True)
        raise CallError("UNAVAILABLE", "the stream broke off")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def _send(
        self,
        method: str,
        path: str,
        answer: _Answer,
        token: str = "",
        *,
        body: Message | None = None,
        query: dict[str, str] | None = None,
        headers: Mapping[str, str] = _NONE,
        timeout_s: float = _TIMEOUT_S,
    ) -> _Answer:
        """One request, and its answer read into `answer`."""
        content = None if body is None else json.dumps(MessageToDict(body))
        with _errors():
            headers = {**headers, **_as(token), "content-type": "application/json"}
            response = await self._http.request(
                method, path, content=content, params=query, headers=headers, timeout=timeout_s
            )
        if response.is_error:
            raise _call_error(response.status_code, response.content)
        return Parse(response.content, answer, ignore_unknown_fields=True)


def _as(token: str) -> dict[str, str]:
    """The headers of a call by the seat with this token."""
    return {"authorization": f"Bearer {token}"} if token else {}


@contextmanager
def _errors() -> Iterator[None]:
    """Turns what the network does to a call into CallError."""
    try:
        yield
    except httpx.TimeoutException as error:
        raise CallError("DEADLINE_EXCEEDED", "no answer in time") from error
    except httpx.TransportError as error:
        raise CallError("UNAVAILABLE", str(error) or type(error).__name__) from error


def _call_error(http_status: int, body: bytes) -> CallError:
    """The error that a body in the form of AIP-193 tells; one that a proxy made up counts as UNAVAILABLE."""
    try:
        error = json.loads(body)["error"]
        told = {detail["@type"].rpartition(".")[2]: detail for detail in error["details"]}
        info, retry_s = told["ErrorInfo"], float(told.get("RetryInfo", {}).get("retryDelay", "0s").removesuffix("s"))
        return CallError(error["status"], error["message"], info["reason"], info.get("metadata"), retry_s=retry_s)
    except (ValueError, KeyError, TypeError, AttributeError):
        return CallError("UNAVAILABLE" if http_status >= 500 else "UNKNOWN", f"HTTP status {http_status}")


@dataclass
class _Event:
    """A server-sent event, as far as it is used here."""

    name: str = "message"
    data: str = ""


async def _events(lines: AsyncIterator[str]) -> AsyncIterator[_Event]:
    """The server-sent events that lines make: `field: value`, and an empty line after each event."""
    event = _Event()
    async for line in lines:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if event.data:
                yield event
            event = _Event()
        elif field == "event":
            event.name = value
        elif field == "data":
            event.data += value


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """The lines of a stream. A name may hold characters that Python, unlike the standard, takes for line breaks."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.decode()
