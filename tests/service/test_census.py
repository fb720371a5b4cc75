"""What a server counts of all tables, beside its calls."""

import asyncio
from typing import cast

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from service import census
from service.games.desk import Desk
from service.observability import metrics
from service.store.census import Counted
from service.store.store import Store


async def test_a_fault_of_ours_is_no_end_of_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any other exception than the store's is logged and counted, and the next count is made all the same."""
    monkeypatch.setattr(census, "PAUSE_S", 0.0)
    counted, asked, done = metrics.background_faults.labels("census")._value, 0, asyncio.Event()
    before = counted.get()

    class Broken:
        async def census(self, _now_ms: int) -> Counted:
            nonlocal asked
            asked += 1
            if asked == 1:
                raise ZeroDivisionError
            if asked == 3:
                done.set()
            return Counted({"open": 5}, 7000)

    with capture_logs() as lines:
        counting = asyncio.create_task(census.keep_counting(Desk(cast(Store, Broken()))))
        async with asyncio.timeout(60):
            await asyncio.wait([counting, asyncio.create_task(done.wait())], return_when=asyncio.FIRST_COMPLETED)
    assert not counting.done()
    counting.cancel()
    await asyncio.wait([counting])
    assert [(line["event"], line["log_level"], line["work"]) for line in lines] == [
        ("background_fault", "error", "census")
    ]
    assert counted.get() == before + 1
    assert REGISTRY.get_sample_value("rummyd_tables", {"state": "open"}) == 5
    assert REGISTRY.get_sample_value("rummyd_overdue_seconds") == 7
