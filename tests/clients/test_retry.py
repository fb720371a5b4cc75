"""Calls and streams that outlive what the network does to them."""

from collections.abc import AsyncGenerator, Sequence
from functools import partial

import pytest
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.event_pb2 import EventBatch
from rummy.v1.game_pb2 import Game

from clients.api import CallError
from clients.retry import followed, polled, retried

GONE = CallError("UNAVAILABLE", "no way")
CUT_OFF = CallError("CANCELLED", "the server ended")
BUSY = CallError("ABORTED", "others came between", "CONTENTION")
LATE = CallError("DEADLINE_EXCEEDED", "no answer in time")
STALE = CallError("ABORTED", "another version", "VERSION_MISMATCH", {"current_version": "9"})
TOO_LARGE = CallError("RESOURCE_EXHAUSTED", "Received message larger than max")
REFUSED = CallError("FAILED_PRECONDITION", "not now", "NOT_YOUR_TURN")


class Scripted:
    """Answers with what it is given, in order, and remembers what it was asked."""

    def __init__(self, *answers: object) -> None:
        self._answers = list(answers)
        self.asked: list[object] = []

    async def act(self, request: pb.ActRequest) -> object:
        self.asked.append(request.request_id)
        answer = self._answers.pop(0)
        if isinstance(answer, CallError):
            raise answer
        return answer


class Streams:
    """An api whose streams are written down: each is a list of messages, the last of which may be an error."""

    def __init__(self, *streams: Sequence[pb.ObserveResponse | CallError]) -> None:
        self._streams = list(streams)
        self.asked: list[tuple[int, str, str, str]] = []

    async def observe(self, request: pb.ObserveRequest, token: str = "") -> AsyncGenerator[pb.ObserveResponse]:
        self.asked.append((request.after, request.epoch, request.mark, token))
        for message in self._streams.pop(0):
            if isinstance(message, CallError):
                raise message
            yield message


class Pages:
    """An api whose answers to ListEvents are written down."""

    def __init__(self, *answers: pb.ListEventsResponse | CallError) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[int, str, int, str]] = []

    async def list_events(self, request: pb.ListEventsRequest, token: str = "") -> pb.ListEventsResponse:
        self.asked.append((request.after, request.epoch, request.wait.seconds, token))
        answer = self._answers.pop(0)
        if isinstance(answer, CallError):
            raise answer
        return answer


def snapshot(version: int, epoch: str = "e") -> pb.ObserveResponse:
    return pb.ObserveResponse(snapshot=Game(version=version, epoch=epoch), mark=f"m{version}")


def batch(version: int, epoch: str = "e") -> pb.ObserveResponse:
    return pb.ObserveResponse(batch=EventBatch(version=version, epoch=epoch), mark=f"m{version}")


BEAT = pb.ObserveResponse(heartbeat=pb.ObserveResponse.Heartbeat(version=1))


@pytest.mark.parametrize("error", [GONE, CUT_OFF, BUSY, LATE], ids=lambda error: error.code)
async def test_a_call_is_sent_again(error: CallError) -> None:
    """A call that may do better is sent again, as it was: with the same request id."""
    api = Scripted(error, error, "done")
    assert await retried(partial(api.act, pb.ActRequest(request_id="one"))) == "done"
    assert api.asked == ["one"] * 3


async def test_who_is_told_when_to_come_again_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a limit the next try comes when the server said, not sooner, and with the same request id."""
    slept = list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("clients.retry.asyncio.sleep", sleep)
    api = Scripted(CallError("RESOURCE_EXHAUSTED", "too often", "LIMIT_EXCEEDED", retry_s=7.5), GONE, "done")
    assert await retried(partial(api.act, pb.ActRequest(request_id="one"))) == "done"
    assert slept[0] == 7.5
    assert slept[1] < 7.5
    assert api.asked == ["one"] * 3


@pytest.mark.parametrize("error", [STALE, REFUSED, TOO_LARGE], ids=lambda error: error.reason or error.code)
async def test_a_refusal_stands(error: CallError) -> None:
    """A refusal is not tried again, nor is a call for a version that is over."""
    api = Scripted(error)
    with pytest.raises(CallError) as raised:
        await retried(partial(api.act, pb.ActRequest()))
    assert raised.value is error
    assert len(api.asked) == 1


async def test_patience_ends() -> None:
    """Who does not come back is given up, with what was heard of him last."""
    api = Scripted(*[GONE] * 100)
    with pytest.raises(CallError) as raised:
        await retried(partial(api.act, pb.ActRequest()), patience_s=0.3)
    assert raised.value is GONE
    assert 2 <= len(api.asked) < 100


async def test_a_stream_is_taken_up_again() -> None:
    """A stream that is lost goes on after the last version, of the same epoch and mark, as the same seat."""
    api = Streams([snapshot(3), batch(4), GONE], [GONE], [BUSY], [batch(5), BEAT, batch(6)])
    resumed: list[int] = []
    seen = [item.version async for item in followed(api, "games/a", "token", resumed=resumed.append)]  # type: ignore[arg-type]
    assert seen == [3, 4, 5, 6]
    assert api.asked == [(0, "", "", "token"), *[(4, "e", "m4", "token")] * 3]
    assert resumed == [4]


async def test_another_epoch() -> None:
    """Where a snapshot comes in between, the stream goes on from there, in its epoch."""
    api = Streams([snapshot(3), GONE], [snapshot(1, "f"), GONE], [batch(2)])
    assert [item.version async for item in followed(api, "games/a")] == [3, 1, 2]  # type: ignore[arg-type]
    assert api.asked == [(0, "", "", ""), (3, "e", "m3", ""), (1, "f", "m1", "")]


async def test_a_stream_that_is_refused() -> None:
    """A stream that is refused is not asked for again."""
    api = Streams([snapshot(1), CallError("UNAUTHENTICATED", "who?", "TOKEN_INVALID")])
    seen = list[Game | EventBatch]()
    with pytest.raises(CallError, match="TOKEN_INVALID"):
        await _read(followed(api, "games/a"), seen)  # type: ignore[arg-type]
    assert [item.version for item in seen] == [1]
    assert len(api.asked) == 1


async def test_a_table_is_polled_to_its_end() -> None:
    """Each answer says where the next call goes on; one that is lost is asked for again, and the last ends it."""
    api = Pages(
        pb.ListEventsResponse(snapshot=Game(version=3), version=3, epoch="e"),
        GONE,
        pb.ListEventsResponse(version=3, epoch="e"),
        pb.ListEventsResponse(batches=[EventBatch(version=4), EventBatch(version=5)], version=5, epoch="e", more=True),
        pb.ListEventsResponse(batches=[EventBatch(version=6)], version=6, epoch="e", over=True),
    )
    assert [item.version async for item in polled(api, "games/a", "token", wait_s=7)] == [3, 4, 5, 6]  # type: ignore[arg-type]
    assert [asked[:2] for asked in api.asked] == [(0, ""), (3, "e"), (3, "e"), (3, "e"), (5, "e")]
    assert {asked[2:] for asked in api.asked} == {(7, "token")}


async def _read(news: AsyncGenerator[Game | EventBatch], into: list[Game | EventBatch]) -> None:
    """Reads a stream, so that what came before an error is kept."""
    async for item in news:
        into.append(item)  # noqa: PERF401  # a comprehension would keep nothing
