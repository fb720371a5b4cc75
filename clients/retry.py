"""Keeping at it: calls and streams that outlive a lost connection, and the server's end.

await Retrying(api).act(request, token)            the same request id again, so that it is done once at most
async for news in followed(api, name, token): …    every version once and in order, over as many streams as need be
async for news in polled(api, name, token): …      the same, without a stream
await retried(call)                                one call of any kind, as it is, again while that may help
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from functools import partial
from typing import Final, TypeVar
from uuid import uuid4

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.event_pb2 import EventBatch
from rummy.v1.game_pb2 import Game

from clients.api import Answer, Api, CallError

__all__ = ["PATIENCE_S", "Retrying", "followed", "polled", "retried"]

PATIENCE_S: Final = 60.0
"""How long a server may stay away before it is given up."""

_REQUEST_ID: Final = "request_id"

_Result = TypeVar("_Result")


class Retrying(Api):
    """An `Api` that makes each call again while that may help. A request that wants an id, and has none, is given one.

    So nothing is done twice, whatever was lost on the way. Where that does not help either, the last CallError is
    raised. A stream breaks off as it always does: `followed` takes it up again. `patience_s` counts from the first
    failure on.
    """

    def __init__(self, api: Api, *, patience_s: float = PATIENCE_S) -> None:
        self.api: Api = api.api if isinstance(api, Retrying) else api
        self._patience_s = patience_s

    async def call(self, request: Message, answer: type[Answer], token: str = "") -> Answer:
        """One call, as often as it takes, and its answer."""
        return await retried(partial(self.api.call, _identified(request), answer, token), patience_s=self._patience_s)

    def observe(self, request: pb.ObserveRequest, token: str = "") -> AsyncGenerator[pb.ObserveResponse]:
        """Watches a table, by one stream."""
        return self.api.observe(request, token)

    async def close(self) -> None:
        """Hangs up."""
        await self.api.close()


async def retried(call: Callable[[], Awaitable[_Result]], *, patience_s: float = PATIENCE_S) -> _Result:
    """The answer to a call, made again while that may help. Raises the last CallError."""
    pauses = _pauses(patience_s)
    while True:
        try:
            return await call()
        except CallError as error:
            if not error.worth_a_retry:
                raise
            await _pause(pauses, error)


async def followed(
    api: Api,
    name: str,
    token: str = "",
    *,
    resumed: Callable[[int], None] = lambda _after: None,
    patience_s: float = PATIENCE_S,
) -> AsyncGenerator[Game | EventBatch]:
    """The table, then each version that follows, until the match ends. A stream that is lost is taken up where it was.

    Gives the table again where versions that follow are no longer kept, or the last one given is lost. `resumed` hears
    after which version a lost stream goes on, as soon as it does. Raises the last CallError.
    """
    at, lost = pb.ObserveRequest(name=name), False
    pauses = _pauses(patience_s)
    while True:
        try:
            async with aclosing(api.observe(at, token)) as stream:
                async for message in stream:
                    pauses = _pauses(patience_s)
                    if lost:
                        resumed(at.after)
                        lost = False
                    match message.WhichOneof("message"):
                        case "snapshot":
                            at.after, at.epoch, at.mark = message.snapshot.version, message.snapshot.epoch, message.mark
                            yield message.snapshot
                        case "batch":
                            at.after, at.epoch, at.mark = message.batch.version, message.batch.epoch, message.mark
                            yield message.batch
            return
        except CallError as error:
            if not error.worth_a_retry:
                raise
            lost = True
            await _pause(pauses, error)


async def polled(
    api: Api, name: str, token: str = "", *, wait_s: int = 20, patience_s: float = PATIENCE_S
) -> AsyncGenerator[Game | EventBatch]:
    """What `followed` gives, asked for again and again: each call waits for news, `wait_s` seconds from 0 to 30.

    Raises the last CallError.
    """
    api = Retrying(api, patience_s=patience_s)
    request = pb.ListEventsRequest(name=name, wait=Duration(seconds=wait_s))
    while True:
        answer = await api.list_events(request, token)
        if answer.HasField("snapshot"):
            yield answer.snapshot
        for batch in answer.batches:
            yield batch
        if answer.over:
            return
        request.after, request.epoch, request.mark = answer.version, answer.epoch, answer.mark


def _identified(request: Message) -> Message:
    """The request, or a copy that has the id which it lacks: a UUID that nobody can guess."""
    if _REQUEST_ID not in request.DESCRIPTOR.fields_by_name or getattr(request, _REQUEST_ID):
        return request
    copy = type(request)()
    copy.CopyFrom(request)
    setattr(copy, _REQUEST_ID, str(uuid4()))
    return copy


async def _pause(pauses: Iterator[float], error: CallError) -> None:
    """Waits for the next try, for as long as the server asks for. Raises the error where there is none."""
    pause = next(pauses, None)
    if pause is None:
        raise error
    await asyncio.sleep(max(pause, error.retry_s))


def _pauses(patience_s: float) -> Iterator[float]:
    """Seconds between tries, longer and longer, and none after the patience's end.

    A random part keeps many clients from coming back at the same instant.
    """
    deadline = asyncio.get_running_loop().time() + patience_s
    longest = 0.1
    while asyncio.get_running_loop().time() < deadline:
        yield random.uniform(longest / 2, longest)  # noqa: S311  # no secret
        longest = min(2 * longest, 2.0)
