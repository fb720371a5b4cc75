"""How the silence of a worker is counted. What comes of it is in test_workers.py."""

import asyncio
import time
from asyncio.subprocess import Process
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest
from structlog.testing import capture_logs

from service import keeper
from service.observability.shared import Shared
from service.settings import Settings

SILENCE = 5


@dataclass
class Silent:
    """A process that says what it is fed."""

    pid: int = 4711
    stdout: asyncio.StreamReader = field(default_factory=asyncio.StreamReader)
    killed: bool = False

    def kill(self) -> None:
        self.killed = True

    def heard(self) -> asyncio.Task[bytes]:
        """What a keeper hears of it next."""
        keeps = keeper.Keeper(0, Settings(worker_silence_seconds=SILENCE), Shared(Path("nowhere")))
        return asyncio.create_task(keeps._said(cast(Process, self)))


class Ended(Silent):
    """A process that has ended."""

    def __post_init__(self) -> None:
        self.stdout.feed_eof()

    async def wait(self) -> int:
        return 1


async def test_a_worker_that_says_nothing_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that has been silent for as long as it may is killed, and the log tells of it."""
    monkeypatch.setattr(keeper, "BEAT_S", 0.001)
    worker = Silent()
    with capture_logs() as lines:
        assert await worker.heard() == b""
    assert worker.killed
    assert [(line["event"], line["worker"], line["pid"]) for line in lines] == [("worker_hangs", 0, 4711)]


async def test_a_pause_of_the_whole_machine_is_no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the keeper stood still, too, for longer than a worker may be silent, the worker has its time after that."""
    monkeypatch.setattr(keeper, "BEAT_S", 0.2)
    worker = Silent()
    heard = worker.heard()
    await asyncio.sleep(0)
    time.sleep(0.2 * SILENCE + 0.1)  # noqa: ASYNC251 - nothing goes on meanwhile
    await asyncio.sleep(0)  # all that has become due is noted
    worker.stdout.feed_data(b"alive\n")
    assert await heard == b"alive\n"
    assert not worker.killed


async def test_the_end_of_a_worker_is_no_silence() -> None:
    """A worker that has ended has nothing to say, and needs no killing."""
    worker = Silent()
    worker.stdout.feed_eof()
    assert await worker.heard() == b""
    assert not worker.killed


async def test_a_worker_that_cannot_be_started_is_started_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system has no process to give, the keeper lives, and tries it again."""
    monkeypatch.setattr(keeper, "_STEADY_S", 0.0)
    keeps = keeper.Keeper(0, Settings(worker_silence_seconds=SILENCE), Shared(Path("nowhere")))
    tried: asyncio.Queue[None] = asyncio.Queue()

    async def start() -> bool:
        tried.put_nowait(None)
        raise BlockingIOError("no process to be had")

    monkeypatch.setattr(keeps, "start", start)
    monkeypatch.setattr(keeps, "_process", Ended())
    monkeypatch.setattr(keeps._shared, "ended", lambda _pid: None)
    keeping = asyncio.create_task(keeps.keep())
    async with asyncio.timeout(60):
        for _ in range(3):
            await tried.get()
    assert not keeping.done()
    keeping.cancel()
    await asyncio.wait([keeping])
