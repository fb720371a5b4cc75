"""Whether a server says that it is fit to take calls."""

from dataclasses import dataclass, field

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from service.readiness import Readiness
from service.store.errors import StoreUnavailable


@dataclass
class Around:
    """A store that is there or not, and somebody who is told."""

    there: bool = True
    told: list[bool] = field(default_factory=list)

    async def ping(self) -> None:
        if not self.there:
            raise StoreUnavailable("Redis: connection refused")

    async def tell(self, *, healthy: bool) -> None:
        self.told.append(healthy)


async def test_not_ready_before_the_store_has_answered() -> None:
    """At first a server is not ready; it is once its store has answered."""
    around = Around()
    ready = Readiness(around.ping, around.tell)
    assert not ready()
    await ready.refresh()
    assert ready()
    assert REGISTRY.get_sample_value("rummyd_ready") == 1


async def test_changes_are_told_once() -> None:
    """Who listens hears of each change, and of nothing else; each is a line in the log."""
    around = Around()
    ready = Readiness(around.ping, around.tell)
    with capture_logs() as lines:
        for there in (True, True, False, False, True):
            around.there = there
            await ready.refresh()
    assert around.told == [True, False, True]
    assert [(line["event"], line["log_level"]) for line in lines] == [
        ("ready", "info"),
        ("not_ready", "warning"),
        ("ready", "info"),
    ]


async def test_drained_is_for_good() -> None:
    """Once it drains, a server is not ready any more, however well its store answers."""
    around = Around()
    ready = Readiness(around.ping, around.tell)
    await ready.refresh()
    await ready.drain()
    await ready.refresh()
    assert not ready()
    assert around.told == [True, False]


async def test_a_fault_of_ours_is_not_taken_for_a_lost_store() -> None:
    """Any other exception than the store's is let through: it ends the server instead of being asked for again."""

    async def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await Readiness(broken, Around().tell).keep()
