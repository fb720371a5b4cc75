"""One way through for every call, whichever front it came by: let it in, check it, handle it, account for it.

The fronts (`grpc`, `rest`) turn bytes into a request message, and an answer or an `ApiError` into bytes; all else is
here.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import Any, Final, cast

import structlog
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.rpc.code_pb2 import Code

from service.api.callers import Caller
from service.api.checks import check
from service.api.door import Door
from service.api.errors import CODES, answer_to, draining
from service.observability import account
from service.store.errors import StoreUnavailable

__all__ = ["Caller", "Calls", "StreamHandler", "UnaryHandler"]

_log: Final = structlog.get_logger(__name__)


UnaryHandler = Callable[[Any, Caller], Awaitable[Message]]
"""Answers one request with one message, or raises.

The request is of the method's own class, which no type can tell here.
"""

StreamHandler = Callable[[Any, Caller], AsyncGenerator[Message]]
"""Answers one request with a stream of messages, or raises, before or between messages."""


class Calls:
    """Every method of the API with its handler.

    `services` maps each service's descriptor to the handlers of its methods, by method name (`CreateGame`). `door` says
    who may call, and how often; without one, anybody as often as he likes.
    """

    def __init__(
        self, services: Mapping[ServiceDescriptor, Mapping[str, UnaryHandler | StreamHandler]], door: Door | None = None
    ) -> None:
        self.services = tuple(services)
        self._door = door or Door()
        self._handlers = {
            method.full_name: handlers[method.name]
            for service, handlers in services.items()
            for method in service.methods
        }
        self._turned_away: asyncio.Event | None = None
        self._arriving: set[asyncio.Timeout] = set()

    async def drain(self, quiet_s: float, most_s: float) -> None:
        """Turns away every call from now on, with SERVER_DRAINING; those under way go on.

        Returns once none has come for `quiet_s` seconds, or after `most_s`: by then whoever calls has been told, and
        has no call on its way that the end of a front would cut off without a word.
        """
        self._turned_away = asyncio.Event()
        for request in self._arriving:
            if not request.expired():
                request.reschedule(0)
        end = asyncio.get_running_loop().time() + most_s
        while (left := end - asyncio.get_running_loop().time()) > 0:
            self._turned_away.clear()
            try:
                async with asyncio.timeout(min(quiet_s, left)):
                    await self._turned_away.wait()
            except TimeoutError:
                return

    def expect(self, front: str) -> None:
        """Shows from the start what is counted of each method over this front."""
        failures = [(code, reason) for reason, number in CODES.items() if (code := Code.Name(number)) in account.FAULTS]
        for service in self.services:
            for method in service.methods:
                account.expect(method.full_name, front, failures, stream=method.server_streaming)

    @asynccontextmanager
    async def arriving(self, seconds: float) -> AsyncGenerator[None]:
        """While a request is on its way. Raises TimeoutError after so many seconds, SERVER_DRAINING with `drain`."""
        self._turn_away()
        try:
            async with asyncio.timeout(seconds) as patience:
                self._arriving.add(patience)
                yield
        except TimeoutError:
            self._turn_away()
            raise
        finally:
            self._arriving.discard(patience)

    @property
    def keyed(self) -> frozenset[str]:
        """The names of the methods that need an API key."""
        return self._door.keyed

    async def unary(self, method: MethodDescriptor, request: Message, caller: Caller) -> Message:
        """Answers a unary call. Raises nothing but ApiError and CancelledError."""
        handler = cast(UnaryHandler, self._handlers[method.full_name])
        with _accounted(method, caller):
            self._admit(method, request, caller)
            with self._door.inside(method, request, caller):
                return await handler(request, caller)

    async def stream(self, method: MethodDescriptor, request: Message, caller: Caller) -> AsyncGenerator[Message]:
        """Answers a server-streaming call. Raises nothing but ApiError and CancelledError."""
        handler = cast(StreamHandler, self._handlers[method.full_name])
        with _accounted(method, caller):
            self._admit(method, request, caller)
            with self._door.inside(method, request, caller):
                async with aclosing(handler(request, caller)) as messages:
                    async for message in messages:
                        yield message

    def _admit(self, method: MethodDescriptor, request: Message, caller: Caller) -> None:
        """Refuses what comes too late, from whom it must not come, or is no request."""
        self._turn_away()
        self._door.admit(method, request, caller)
        check(request)
        if (name := getattr(request, "name", "")).startswith("games/"):
            account.note(game=name)

    def _turn_away(self) -> None:
        if self._turned_away is not None:
            self._turned_away.set()
            raise draining()


@contextmanager
def _accounted(method: MethodDescriptor, caller: Caller) -> Iterator[None]:
    """Logs and counts the call, and turns what is no ApiError into one."""
    with account.recorded(
        method.full_name,
        caller.front,
        caller.call_id,
        stream=method.server_streaming,
        traceparent=caller.traceparent,
    ) as call:
        try:
            yield
        except Exception as error:
            answer = answer_to(error, caller.call_id)
            call.failed(answer.code_name, answer.reason, str(error) if isinstance(error, StoreUnavailable) else None)
            if answer.reason == "INTERNAL":
                _log.exception("call_crashed")
            if answer is error:
                raise
            raise answer from error
