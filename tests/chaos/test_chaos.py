"""A short round of what `make chaos` does at length: nothing that was acknowledged is lost, whatever is killed."""

from pathlib import Path

from tests.chaos import scenarios
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


async def test_servers_are_restarted(tmp_path: Path) -> None:
    """While three servers are restarted one after the other, no act fails."""
    figures = await scenarios.rolling_restart(tmp_path, SHORT)
    assert figures.given_up == 0
    assert figures.broken["servers restarted"] >= 2


async def test_a_sentinel_trio_fails_over(tmp_path: Path) -> None:
    """While the master of a Sentinel trio is killed, no act is lost that a replica has confirmed."""
    figures = await scenarios.sentinel_failover(tmp_path, SHORT)
    assert figures.lost == 0
    assert figures.broken["masters killed"] >= 1


async def test_a_cluster_fails_over(tmp_path: Path) -> None:
    """While a master of a cluster is killed, no act is lost that a replica has confirmed."""
    figures = await scenarios.cluster_failover(tmp_path, SHORT)
    assert figures.lost == 0
    assert figures.broken["masters killed"] >= 1
