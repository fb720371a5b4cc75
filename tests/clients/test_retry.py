"""Calls and streams that outlive what the network does to them."""

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.event_pb2 import EventBatch
from rummy.v1.game_pb2 import Game

from clients.api import Answer, Api, CallError
from clients.retry import Retrying, followed, polled, retried

RETRIES = (Path(__file__).parents[2] / "docs" / "api.md").read_text().split("\n## Retries\n")[1].split("\n## ")[0]
GONE = CallError("UNAVAILABLE", "no way")
CUT_OFF = CallError("CANCELLED", "the server ended")
BUSY = CallError("ABORTED", "others came between", "CONTENTION")
LATE = CallError("DEADLINE_EXCEEDED", "no answer in time")
STALE = CallError("ABORTED", "another version", "VERSION_MISMATCH", {"current_version": "9"})
TOO_LARGE = CallError("RESOURCE_EXHAUSTED", "Received message larger than max")
REFUSED = CallError("FAILED_PRECONDITION", "not now", "NOT_YOUR_TURN")


class Scripted(Api):
    """Answers each call with what it is given, in order, and remembers what it was asked, with which token."""

    def __init__(self, *answers: Message | CallError) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[Message, str]] = []
        self.closed = False

    async def call(self, request: Message, answer: type[Answer], token: str = "") -> Answer:
        asked = type(request)()
        asked.CopyFrom(request)  # it may be changed for the next one
        self.asked.append((asked, token))
        told = self._answers.pop(0)
        if isinstance(told, CallError):
            raise told
        assert isinstance(told, answer)
        return told

    def observe(self, request: pb.ObserveRequest, token: str = "") -> AsyncGenerator[pb.ObserveResponse]:
        raise NotImplementedError

    async def close(self) -> None:
        self.closed = True


class Streams(Scripted):
    """An api whose streams are written down: each is a list of messages, the last of which may be an error."""

    def __init__(self, *streams: Sequence[pb.ObserveResponse | CallError]) -> None:
        super().__init__()
        self._streams = list(streams)

    async def observe(self, request: pb.ObserveRequest, token: str = "") -> AsyncGenerator[pb.ObserveResponse]:
        asked = pb.ObserveRequest()
        asked.CopyFrom(request)
        self.asked.append((asked, token))
        for message in self._streams.pop(0):
            if isinstance(message, CallError):
                raise message
            yield message


def snapshot(version: int, epoch: str = "e") -> pb.ObserveResponse:
    return pb.ObserveResponse(snapshot=Game(version=version, epoch=epoch), mark=f"m{version}")


def batch(version: int, epoch: str = "e") -> pb.ObserveResponse:
    return pb.ObserveResponse(batch=EventBatch(version=version, epoch=epoch), mark=f"m{version}")


BEAT = pb.ObserveResponse(heartbeat=pb.ObserveResponse.Heartbeat(version=1))


DONE = pb.ActResponse(version=2)


@pytest.mark.parametrize("error", [GONE, CUT_OFF, BUSY, LATE], ids=lambda error: error.code)
async def test_a_call_is_sent_again(error: CallError) -> None:
    """A call that may do better is sent again, as it was: with the same request id, as the same seat."""
    api, request = Scripted(error, error, DONE), pb.ActRequest(name="games/a", request_id="one")
    assert await Retrying(api).act(request, "token") == DONE
    assert api.asked == [(request, "token")] * 3


async def test_a_request_is_given_the_id_that_it_wants() -> None:
    """A request without an id keeps a new one for all its tries; the caller's own stays as it was, for another deed."""
    api, request = Scripted(GONE, DONE, DONE), pb.ActRequest(name="games/a")
    for _ in range(2):
        await Retrying(api).act(request, "token")
    first, again, second = (UUID(asked.request_id) for asked, _ in api.asked if isinstance(asked, pb.ActRequest))
    assert first == again != second
    assert {first.version, second.version} == {4}
    assert request == pb.ActRequest(name="games/a")


async def test_what_only_looks_has_no_id() -> None:
    """A request that has no id is sent as it is."""
    api, request = Scripted(GONE, Game(version=1)), pb.GetGameRequest(name="games/a")
    assert (await Retrying(api).get_game(request)).version == 1
    assert api.asked == [(request, "")] * 2


async def test_a_retry_is_not_retried() -> None:
    """An api that retries, made to retry once more, has the patience that it was given last; it hangs up as its own."""
    api = Scripted(*[GONE] * 100)
    async with Retrying(Retrying(api), patience_s=0.0) as retrying:
        with pytest.raises(CallError):
            await retrying.get_game(pb.GetGameRequest())
    assert len(api.asked) == 1
    assert api.closed


async def test_a_retry_watches() -> None:
    """A stream of an api that retries is the api's own."""
    api = Streams([snapshot(3), batch(4)])
    assert [item.version async for item in followed(Retrying(api), "games/a", "token")] == [3, 4]
    assert api.asked == [(pb.ObserveRequest(name="games/a"), "token")]


async def test_who_is_told_when_to_come_again_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a limit the next try comes when the server said, not sooner, and with the same request id."""
    slept = list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("clients.retry.asyncio.sleep", sleep)
    api = Scripted(CallError("RESOURCE_EXHAUSTED", "too often", "LIMIT_EXCEEDED", retry_s=7.5), GONE, DONE)
    assert await retried(partial(api.act, pb.ActRequest(request_id="one"), "token")) == DONE
    assert slept[0] == 7.5
    assert slept[1] < 7.5
    assert api.asked == [(pb.ActRequest(request_id="one"), "token")] * 3


@pytest.mark.parametrize("error", [STALE, REFUSED, TOO_LARGE], ids=lambda error: error.reason or error.code)
async def test_a_refusal_stands(error: CallError) -> None:
    """A refusal is not tried again, nor is a call for a version that is over."""
    api = Scripted(error)
    with pytest.raises(CallError) as raised:
        await Retrying(api).act(pb.ActRequest(), "token")
    assert raised.value is error
    assert len(api.asked) == 1


def test_the_guide_tells_what_is_sent_again() -> None:
    """Each code that a row of the guide's table names is sent again, or not, as the row says."""
    sent_again = {}
    for row in re.findall(r"^\| (`[A-Z_]+`.*?) \|.*\| (\S+) .*\|$", RETRIES, re.MULTILINE):
        codes = re.sub(r"except for `\w+`", "", row[0])
        for code, reason in re.findall(r"`([A-Z_]+)`(?: \(`([A-Z_]+)`\))?", codes):
            sent_again[code, reason] = row[1] in {"Pause,", "The"}
    proxied = {("INTERNAL", ""), ("UNKNOWN", "")}  # which a client calls UNAVAILABLE: see its way to speak
    assert sent_again.keys() > proxied
    told = {told: CallError(told[0], "no", told[1]).worth_a_retry for told in sent_again.keys() - proxied}
    assert told == {told: sent_again[told] for told in told}
    assert sorted(set(told.values())) == [False, True]


async def test_pauses_are_those_of_the_guide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses grow from a tenth of a second to two, a random part of each; a minute after the first failure they end."""
    bounds, now = list[tuple[float, float]](), asyncio.get_running_loop().time()

    def uniform(least: float, most: float) -> float:
        bounds.append((least, most))
        return most

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr("clients.retry.random.uniform", uniform)
    monkeypatch.setattr("clients.retry.asyncio.sleep", sleep)
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
    with pytest.raises(CallError):
        await retried(partial(Scripted(*[GONE] * 100).get_game, pb.GetGameRequest()))
    assert [most for _, most in bounds[:7]] == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    assert [least for least, _ in bounds] == [most / 2 for _, most in bounds]
    assert 60 <= sum(most for _, most in bounds) < 62
    figures = "up to 0.1 seconds before the first retry", "at most 2 seconds", "Give up 60 seconds after"
    assert [figure for figure in figures if figure not in RETRIES] == []


async def test_patience_ends() -> None:
    """Who does not come back is given up, with what was heard of him last."""
    api = Scripted(*[GONE] * 100)
    with pytest.raises(CallError) as raised:
        await Retrying(api, patience_s=0.3).act(pb.ActRequest(), "token")
    assert raised.value is GONE
    assert 2 <= len(api.asked) < 100


async def test_a_stream_is_taken_up_again() -> None:
    """A stream that is lost goes on after the last version, of the same epoch and mark, as the same seat."""
    api = Streams([snapshot(3), batch(4), GONE], [GONE], [BUSY], [batch(5), BEAT, batch(6)])
    resumed: list[int] = []
    seen = [item.version async for item in followed(api, "games/a", "token", resumed=resumed.append)]
    assert seen == [3, 4, 5, 6]
    later = pb.ObserveRequest(name="games/a", after=4, epoch="e", mark="m4")
    assert api.asked == [(pb.ObserveRequest(name="games/a"), "token"), *[(later, "token")] * 3]
    assert resumed == [4]


async def test_another_epoch() -> None:
    """Where a snapshot comes in between, the stream goes on from there, in its epoch."""
    api = Streams([snapshot(3), GONE], [snapshot(1, "f"), GONE], [batch(2)])
    assert [item.version async for item in followed(api, "games/a")] == [3, 1, 2]
    places = [{}, {"after": 3, "epoch": "e", "mark": "m3"}, {"after": 1, "epoch": "f", "mark": "m1"}]
    assert api.asked == [(pb.ObserveRequest(name="games/a", **place), "") for place in places]  # type: ignore[arg-type]


async def test_a_stream_that_is_refused() -> None:
    """A stream that is refused is not asked for again."""
    api = Streams([snapshot(1), CallError("UNAUTHENTICATED", "who?", "TOKEN_INVALID")])
    seen = list[Game | EventBatch]()
    with pytest.raises(CallError, match="TOKEN_INVALID"):
        await _read(followed(api, "games/a"), seen)
    assert [item.version for item in seen] == [1]
    assert len(api.asked) == 1


async def test_a_table_is_polled_to_its_end() -> None:
    """Each answer says where the next call goes on; one that is lost is asked for again, and the last ends it."""
    api = Scripted(
        pb.ListEventsResponse(snapshot=Game(version=3), version=3, epoch="e", mark="m3"),
        GONE,
        pb.ListEventsResponse(version=3, epoch="e", mark="m3"),
        pb.ListEventsResponse(batches=[EventBatch(version=4), EventBatch(version=5)], version=5, epoch="e", more=True),
        pb.ListEventsResponse(batches=[EventBatch(version=6)], version=6, epoch="e", over=True),
    )
    assert [item.version async for item in polled(api, "games/a", "token", wait_s=7)] == [3, 4, 5, 6]
    first = pb.ListEventsRequest(name="games/a", wait=Duration(seconds=7))
    third = pb.ListEventsRequest(name="games/a", wait=first.wait, after=3, epoch="e", mark="m3")
    fifth = pb.ListEventsRequest(name="games/a", wait=first.wait, after=5, epoch="e")
    assert api.asked == [(asked, "token") for asked in (first, third, third, third, fifth)]


async def _read(news: AsyncGenerator[Game | EventBatch], into: list[Game | EventBatch]) -> None:
    """Reads a stream, so that what came before an error is kept."""
    async for item in news:
        into.append(item)  # noqa: PERF401  # a comprehension would keep nothing
