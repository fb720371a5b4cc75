"""Tables that come and go: what they took of the server's memory, and of Redis, is given back."""

import asyncio
import random
import re
import time
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

from rummy.v1 import game_service_pb2 as pb

from clients.api import Api
from service.embedded import EmbeddedRedis
from tests import servers
from tests.chaos.fleet import fleet
from tests.chaos.load import Hand
from tests.chaos.record import TableRecord
from tests.chaos.scenarios import SHORT, Figures, Scale
from tests.e2e.players import game_of

KEPT_S: Final = 60
"""The shortest time for which a table can be kept."""
AT_ONCE: Final = 16
GROWTH: Final = 1.10
"""What the second half of the tables may leave of memory, compared with the first: noise of the allocator."""


async def tables_expire(folder: Path, scale: Scale) -> Figures:
    """Tables are created, played at, watched and left; when they have expired, nothing is left of them.

    Memory is compared after the first and after the second half: after the first, caches are full. The tables of the
    second half are waited for; the end of the first, and of all in the short round, is made to come at once.
    """
    figures = Figures(f"Tables created, played and expired: {scale.churn:,}")
    flags = [word for phase in ("open", "playing", "over") for word in (f"--keep-{phase}-seconds", str(KEPT_S))]
    with EmbeddedRedis() as redis:
        async with fleet(folder, redis.url, *flags, size=1) as ours:
            (server,) = ours.up
            used: list[int] = []
            for half in range(2):
                await _play(ours.any, scale.churn // 2, half, figures)
                await _expired(redis.url, at_once=scale is SHORT or half == 0)
                used.append(memory_of(server.pid))
    first, second = used
    assert second <= first * GROWTH, f"memory grew from {first:,} to {second:,} bytes"
    figures.broken |= {"keys left in Redis": 0, "MiB after one half": first >> 20, "MiB after both": second >> 20}
    return figures


async def _play(api: Api, tables: int, half: int, figures: Figures) -> None:
    numbers = iter(range(tables))

    async def one_after_the_other() -> None:
        for number in numbers:
            record = TableRecord()
            hand = Hand(api, random.Random(half * tables + number), record)  # noqa: S311 - a player
            await hand.sit_down(game_of(2), repeats=0.0)
            await hand.act_some(1)
            async with aclosing(api.observe(pb.ObserveRequest(name=record.name))) as stream:
                await anext(stream)
            assert not record.faults
            figures.tables += 1
            figures.other_acts += len(record.acknowledged)

    await asyncio.gather(*(one_after_the_other() for _ in range(AT_ONCE)))


async def _expired(url: str, *, at_once: bool) -> None:
    """Waits until Redis holds no game any more."""
    with servers.client(url) as client:
        commands: Any = client
        if at_once:
            for key in commands.scan_iter(match="rummyd:*:*:*", count=1000):
                commands.pexpire(key, 1)
        deadline = time.monotonic() + 2 * KEPT_S
        while left := [key for key in commands.scan_iter(count=1000) if re.search(rb":(game|history|record):", key)]:
            assert time.monotonic() < deadline, f"{len(left)} keys are left, such as {left[0]!r}"
            await asyncio.sleep(1.0)
        assert commands.dbsize() <= 4 * 16, "the indexes of the shards are more than they can be"


def memory_of(pid: int) -> int:
    """The resident memory of a process, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)[0]) * 1024
