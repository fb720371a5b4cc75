"""A short round of what `make chaos` does at length: nothing that was acknowledged is lost, whatever is killed.

Failovers in which replicas are waited for are left to `make chaos`; `tests/service/store/test_failover.py` has the
store's part in them.
"""

import sys
from pathlib import Path

import pytest
from rummy.v1.game_pb2 import Game

from tests.chaos import churn, nonsense, scenarios
from tests.chaos.scenarios import SHORT


async def test_servers_are_killed(tmp_path: Path) -> None:
    """While one of three servers is killed every second, every promise is kept and every match comes to its end."""
    figures = await scenarios.servers_killed(tmp_path, SHORT)
    assert figures.lost == 0
    assert figures.broken["servers killed"] >= 2


async def test_redis_is_killed(tmp_path: Path) -> None:
    """While Redis is killed every two seconds, no acknowledged act is lost, and no table is stuck."""
    figures = await scenarios.redis_killed(tmp_path, SHORT)
    assert figures.lost == 0
    assert figures.broken["Redis killed"] >= 2


async def test_redis_is_silent(tmp_path: Path) -> None:
    """While Redis stalls for seconds at a time and goes on, no turn is shorter by that, and no act is lost."""
    figures = await scenarios.redis_silent(tmp_path, SHORT)
    assert figures.lost == 0
    assert figures.broken["silences"] >= 1


async def test_servers_are_restarted(tmp_path: Path) -> None:
    """While three servers are restarted one after the other, no act fails."""
    figures = await scenarios.rolling_restart(tmp_path, SHORT)
    assert figures.given_up == 0
    assert figures.broken["servers restarted"] >= 2


async def test_a_stale_replica_takes_over(tmp_path: Path) -> None:
    """Acts that no replica has are lost with their master where none is waited for; every watcher who was told of them
    is shown the table again, and follows it to its end.
    """
    figures = await scenarios.stale_failover(tmp_path, SHORT, replicas=0)
    assert figures.lost == 4 * SHORT.tables
    tables = [told for record in figures.records for watched in record.watched for told in watched.told]
    assert sum(isinstance(told, Game) for told in tables) == 2 * 3 * SHORT.tables


@pytest.mark.skipif(sys.platform != "linux", reason="a process's memory is read from /proc")
async def test_tables_leave_nothing_behind(tmp_path: Path) -> None:
    """Of tables that were played and have expired, nothing is left in the server's memory or in Redis."""
    assert (await churn.tables_expire(tmp_path, SHORT)).tables == SHORT.churn


@pytest.mark.skipif(sys.platform != "linux", reason="a process's memory is read from /proc")
async def test_random_acts_are_refused_or_legal(tmp_path: Path) -> None:
    """Of random acts, most of them nonsense, each is refused for a reason and changes nothing, or is played."""
    figures = await nonsense.random_acts(tmp_path, SHORT)
    assert figures.acts > 0
    assert sum(figures.broken.values()) > figures.acts
