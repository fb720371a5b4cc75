"""rummyd over REST: JSON for calls, server-sent events for streams.

It reads and writes the messages of `rummy.v1`, so that a program may change the way it speaks without another word. A
client without generated code sends the same JSON by hand: docs/api.md has it.
"""

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import httpx
from google.api import annotations_pb2, http_pb2
from google.protobuf.json_format import MessageToDict, Parse, ParseError
from google.protobuf.message import Message
from rummy.v1 import game_service_pb2 as pb

from clients.api import Answer, Api, CallError
from clients.methods import headers_of, method_of, timeout_of

__all__ = ["RestApi"]

_STREAM_TIMEOUT: Final = httpx.Timeout(10.0, read=40.0)
"""A server that is alive sends a heartbeat every 15 seconds."""
_IN_PATH: Final = re.compile(r"\{(\w+)=[^}]*\}")
"""A field in the path of an annotation: `{name=games/*}`."""


class RestApi(Api):
    """The `Api` at `http://HOST:PORT`. `api_key` is for creating tables.

    `http` is a client of that URL to use instead of a usual one, and is closed at the end.
    """

    def __init__(self, url: str, api_key: str = "", *, http: httpx.AsyncClient | None = None) -> None:
        self._api_key = api_key
        self._http = http or httpx.AsyncClient(base_url=url, trust_env=False)

    async def call(self, request: Message, answer: type[Answer], token: str = "") -> Answer:
        """One call, and its answer."""
        with _errors():
            response = await self._http.send(self._request(request, token, timeout_of(request)))
            if not response.is_success:
                raise _call_error(response.status_code, response.content)
            return Parse(response.content, answer(), ignore_unknown_fields=True)

    async def observe(self, request: pb.ObserveRequest, token: str = "") -> AsyncGenerator[pb.ObserveResponse]:
        """Watches a table."""
        sent = self._request(request, token, _STREAM_TIMEOUT)
        sent.headers["accept"] = "text/event-stream"
        with _errors():
            response = await self._http.send(sent, stream=True)
            try:
                if not response.is_success:
                    raise _call_error(response.status_code, await response.aread())
                async for event in _events(_lines(response.aiter_bytes())):
                    if event.name == "end":
                        return
                    if event.name == "failure":
                        raise _call_error(response.status_code, event.data.encode())
                    yield Parse(event.data, pb.ObserveResponse(), ignore_unknown_fields=True)
            finally:
                await response.aclose()
        raise CallError("UNAVAILABLE", "the stream broke off")

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    def _request(self, request: Message, token: str, timeout: float | httpx.Timeout) -> httpx.Request:
        """The request as its method's annotation wants it: fields in the path, the body and the query."""
        rule: http_pb2.HttpRule = method_of(request).GetOptions().Extensions[annotations_pb2.http]  # type: ignore[index]
        fields = MessageToDict(request)
        path = _IN_PATH.sub(lambda field: quote(fields.pop(field[1], "")), rule.get or rule.post)
        headers = headers_of(request, token, self._api_key)
        if rule.get:
            return self._http.build_request("GET", path, params=fields, headers=headers, timeout=timeout)
        body, query = (fields, {}) if rule.body == "*" else (fields.pop(rule.body, {}), fields)
        return self._http.build_request("POST", path, json=body, params=query, headers=headers, timeout=timeout)


@contextmanager
def _errors() -> Iterator[None]:
    """Turns what the network does to a call into CallError, and what answers that is no rummyd."""
    try:
        yield
    except httpx.TimeoutException as error:
        raise CallError("DEADLINE_EXCEEDED", "no answer in time") from error
    except httpx.RequestError as error:
        raise CallError("UNAVAILABLE", str(error) or type(error).__name__) from error
    except (ParseError, UnicodeError) as error:
        raise CallError("UNKNOWN", "the answer is none of rummyd's") from error


def _call_error(http_status: int, body: bytes) -> CallError:
    """The error that a body in the form of AIP-193 tells; one that a proxy made up counts as UNAVAILABLE."""
    try:
        error = json.loads(body)["error"]
        told = {detail["@type"].rpartition(".")[2]: detail for detail in error["details"]}
        info, retry_s = told["ErrorInfo"], float(told.get("RetryInfo", {}).get("retryDelay", "0s").removesuffix("s"))
        return CallError(error["status"], error["message"], info["reason"], info.get("metadata"), retry_s=retry_s)
    except (ValueError, KeyError, TypeError, AttributeError):
        gone = http_status >= 500 or http_status in {408, 429}
        return CallError("UNAVAILABLE" if gone else "UNKNOWN", f"HTTP status {http_status}")


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
