"""The account of each call."""

import asyncio
import contextvars
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from service.observability.account import add_call, expect, note, recorded, waiting

METHOD = "rummy.v1.GameService.Act"
STREAM = "rummy.v1.GameService.Observe"


def _counted(method: str, code: str, reason: str = "") -> float:
    labels = {"method": method, "front": "test", "code": code, "reason": reason}
    return REGISTRY.get_sample_value("rummyd_calls_total", labels) or 0.0


def _open() -> float:
    return REGISTRY.get_sample_value("rummyd_open_streams", {"method": STREAM, "front": "test"}) or 0.0


def test_a_call_is_one_line_and_one_count() -> None:
    """A call that goes well logs one line with all that became known of it, and is counted as OK."""
    before = _counted(METHOD, "OK")
    with capture_logs() as lines, recorded(METHOD, "test", "id-1"):
        note(game="games/7k2m", seat=0)
        note(version=4)
    (line,) = lines
    assert line.pop("duration_ms") >= 0
    assert line == {
        "event": "call",
        "log_level": "info",
        "method": METHOD,
        "front": "test",
        "call_id": "id-1",
        "code": "OK",
        "game": "games/7k2m",
        "seat": 0,
        "version": 4,
    }
    assert _counted(METHOD, "OK") == before + 1


@pytest.mark.parametrize(
    ("code", "level"), [("NOT_FOUND", "info"), ("UNAVAILABLE", "warning"), ("INTERNAL", "error"), ("ABORTED", "info")]
)
def test_failed_call_says_how(code: str, level: str) -> None:
    """A call that fails has its code and reason in the line, at a level that tells our faults from the client's."""
    before = _counted(METHOD, code, "WHY")
    with capture_logs() as lines, suppress(LookupError), recorded(METHOD, "test", "id-2") as call:
        call.failed(code, "WHY", "what lies behind it")
        raise LookupError
    (line,) = lines
    assert (line["code"], line["reason"], line["why"], line["log_level"]) == (code, "WHY", "what lies behind it", level)
    assert _counted(METHOD, code, "WHY") == before + 1


def test_what_a_call_waits_is_no_latency(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a call waits for is in its line, which says how much of its time that was, and not in the latency."""
    now = 100.0
    monkeypatch.setattr("service.observability.account.time.perf_counter", lambda: now)

    def counted() -> float:
        labels = {"method": METHOD, "front": "waiting"}
        return REGISTRY.get_sample_value("rummyd_call_duration_seconds_sum", labels) or 0.0

    before = counted()
    with capture_logs() as lines, suppress(LookupError), recorded(METHOD, "waiting", "id-7"):
        now += 0.25
        with waiting():
            now += 8.0
        now += 0.5
        with waiting():
            now += 16.0
            raise LookupError
    (line,) = lines
    assert (line["duration_ms"], line["waited_ms"]) == (24_750, 24_000)
    assert counted() - before == 0.75


def test_code_that_waits_outside_of_a_call_does_so() -> None:
    """Where no call runs there is nothing to be left out."""
    with capture_logs() as lines, waiting():
        pass
    assert not lines


def test_what_is_expected_is_shown_at_nought() -> None:
    """Successes, failures and open streams of a method are shown before there are any."""
    expect(STREAM, "expecting", [("UNAVAILABLE", "STORE_UNAVAILABLE")], stream=True)
    labels = {"method": STREAM, "front": "expecting"}
    for code, reason in (("OK", ""), ("UNAVAILABLE", "STORE_UNAVAILABLE")):
        assert REGISTRY.get_sample_value("rummyd_calls_total", {**labels, "code": code, "reason": reason}) == 0
    assert REGISTRY.get_sample_value("rummyd_open_streams", labels) == 0
    expect(METHOD, "expecting", [], stream=False)
    assert REGISTRY.get_sample_value("rummyd_open_streams", {**labels, "method": METHOD}) is None


def test_unexplained_exception_is_unknown() -> None:
    """An exception that nobody put into a code is UNKNOWN, an error of ours."""
    with capture_logs() as lines, pytest.raises(ZeroDivisionError), recorded(METHOD, "test", "id-3"):
        raise ZeroDivisionError
    assert (lines[0]["code"], lines[0]["log_level"]) == ("UNKNOWN", "error")


async def test_call_given_up_by_its_client_is_cancelled() -> None:
    """A call whose task is cancelled ends with CANCELLED."""

    async def call() -> None:
        with recorded(METHOD, "test", "id-4"):
            await asyncio.Event().wait()

    with capture_logs() as lines:
        task = asyncio.create_task(call())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert [line["code"] for line in lines] == ["CANCELLED"]


async def _stream() -> AsyncGenerator[int]:
    with recorded(STREAM, "test", "id-5", stream=True):
        note(game="games/7k2m")
        for number in range(3):
            yield number


async def test_stream_is_one_line_at_its_end() -> None:
    """A stream counts as open until its end, and is one line then."""
    before = _open()
    with capture_logs() as lines:
        async with aclosing(_stream()) as numbers:
            async for _ in numbers:
                assert _open() == before + 1
                assert not lines
    assert _open() == before
    (line,) = lines
    assert (line["code"], line["game"]) == ("OK", "games/7k2m")


async def test_stream_may_be_closed_in_another_context() -> None:
    """A stream that is begun in one task and closed in another is accounted for all the same, as cancelled."""
    before = _open()
    numbers = _stream()
    with capture_logs() as lines:
        await asyncio.create_task(anext(numbers))
        await asyncio.create_task(numbers.aclose(), context=contextvars.Context())
    (line,) = lines
    assert (line["code"], line["call_id"], line["game"]) == ("CANCELLED", "id-5", "games/7k2m")
    assert _open() == before


def test_lines_within_a_call_carry_its_id() -> None:
    """Whatever is logged while a call runs can be found by the call's id; afterwards nothing is added."""
    with recorded(METHOD, "test", "id-6"):
        within = add_call(None, "info", {"event": "x"})
    assert within == {"event": "x", "call_id": "id-6", "method": METHOD, "front": "test"}
    assert add_call(None, "info", {"event": "x"}) == {"event": "x"}


def test_note_outside_of_a_call_does_nothing() -> None:
    """Code that runs for no call may note what it likes."""
    with capture_logs() as lines:
        note(game="games/7k2m", seat=1, version=2)
    assert not lines


async def test_calls_at_once_do_not_mix() -> None:
    """Two calls in two tasks each keep their own notes."""

    async def call(seat: int) -> None:
        with recorded(METHOD, "test", f"id-{seat}"):
            await asyncio.sleep(0)
            note(seat=seat)
            await asyncio.sleep(0)

    with capture_logs() as lines:
        await asyncio.gather(call(1), call(2))
    assert {(line["call_id"], line["seat"]) for line in lines} == {("id-1", 1), ("id-2", 2)}
