"""Whether a server says that it is fit to take calls."""

import asyncio
from dataclasses import dataclass, field

from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from service.observability import metrics
from service.readiness import Readiness
from service.store.keys import SHARDS

ALL = tuple(range(SHARDS))


@dataclass
class Around:
    """A store that has lost shards or not, and somebody who is told."""

    lost: tuple[int, ...] = ()
    told: list[bool] = field(default_factory=list)

    async def lost_shards(self) -> dict[int, str]:
        return dict.fromkeys(self.lost, "Redis: connection refused")

    async def tell(self, *, healthy: bool) -> None:
        self.told.append(healthy)


async def test_not_ready_before_the_store_was_probed() -> None:
    """At first a server is not ready; it is once its store has been found to take commits."""
    around = Around()
    ready = Readiness(around.lost_shards, around.tell)
    assert not ready()
    await ready.refresh()
    assert ready()
    assert REGISTRY.get_sample_value("rummyd_ready") == 1


async def test_changes_are_told_once() -> None:
    """Who listens hears of each change, and of nothing else; each is a line in the log."""
    around = Around()
    ready = Readiness(around.lost_shards, around.tell)
    with capture_logs() as lines:
        for lost in ((), (), ALL, ALL, ()):
            around.lost = lost
            await ready.refresh()
    assert around.told == [True, False, True]
    assert [(line["event"], line["log_level"]) for line in lines] == [
        ("ready", "info"),
        ("not_ready", "warning"),
        ("ready", "info"),
    ]


async def test_ready_while_any_shard_is() -> None:
    """With some shards lost a server is ready for the tables of the others; log and metrics say which, and how many."""
    around = Around()
    ready = Readiness(around.lost_shards, around.tell)
    with capture_logs() as lines:
        for lost in ((3, 4), (3, 4), ALL[1:], ALL, (3,), ()):
            around.lost = lost
            await ready.refresh()
            assert ready() == (lost != ALL)
            assert REGISTRY.get_sample_value("rummyd_shards_lost") == len(lost)
    assert around.told == [True, False, True]
    told = [(line["event"], line["log_level"], line.get("shards")) for line in lines]
    assert told == [
        ("shards_lost", "warning", [3, 4]),
        ("ready", "info", None),
        ("shards_lost", "warning", list(ALL[1:])),
        ("not_ready", "warning", None),
        ("shards_lost", "warning", [3]),
        ("ready", "info", None),
        ("shards_back", "info", None),
    ]


async def test_drained_is_for_good() -> None:
    """Once it drains, a server is not ready any more, however well its store answers."""
    around = Around()
    ready = Readiness(around.lost_shards, around.tell)
    await ready.refresh()
    await ready.drain()
    await ready.refresh()
    assert not ready()
    assert around.told == [True, False]


async def test_a_fault_of_ours_ends_nothing() -> None:
    """Any other exception than the store's is counted, leaves what was found out last, and is no end of looking."""
    counted = metrics.background_faults.labels("pulse")._value
    before, probed_again = counted.get(), asyncio.Event()

    async def broken() -> dict[int, str]:
        if counted.get() > before:
            probed_again.set()
        raise ZeroDivisionError

    keeping = asyncio.create_task(Readiness(broken, Around().tell).keep())
    async with asyncio.timeout(60):
        await probed_again.wait()
    assert not keeping.done()
    keeping.cancel()
    await asyncio.wait([keeping])
