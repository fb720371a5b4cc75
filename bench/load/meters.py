"""What a server and its Redis say of themselves: CPU time, memory, and what they did.

before = await meters.read(); …; used = await meters.read() - before
"""

import asyncio
import operator
import time
import urllib.request
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Final

import redis
from prometheus_client.parser import text_string_to_metric_families

from service.store.keys import Keys

__all__ = ["Meters", "Reading"]

_TIMEOUT_S: Final = 10.0
_KEYS: Final = Keys("rummyd")


@dataclass(frozen=True, slots=True)
class Reading:
    """What had been used at a moment, or between two. Seconds, bytes and numbers; of Redis 0 where it is not known."""

    wall_s: float
    driver_s: float
    """CPU time of this process."""
    server_s: float
    """CPU time of the server, all its workers together."""
    server_bytes: float
    """Its resident memory."""
    acts: float
    """Acts that it accepted."""
    delivered: float
    """Event batches that it handed to watchers who waited for them."""
    delay_s: float
    """The sum of their delays."""
    lag_s: float
    """The sum of what its event loops were late, at `looks` looks."""
    looks: float
    redis_s: float
    """CPU time of Redis."""
    redis_scripts: float
    """Scripts that it ran: one a commit."""
    redis_commands: float
    """Commands that it did, those within scripts among them."""
    redis_bytes: float
    """What went to it and came from it over the network."""

    def __sub__(self, earlier: "Reading") -> "Reading":
        """What was used since."""
        return Reading(*map(operator.sub, astuple(self), astuple(earlier)))

    def __add__(self, other: "Reading") -> "Reading":
        """What was used in two times together."""
        return Reading(*map(operator.add, astuple(self), astuple(other)))


class Meters:
    """Reads a server's metrics, at a URL, and its Redis; each may be empty: then what they tell is 0."""

    def __init__(self, metrics: str, redis_url: str) -> None:
        self._metrics = metrics
        self._redis = redis.Redis.from_url(redis_url) if redis_url else None

    async def read(self) -> Reading:
        """What has been used up to now. Raises OSError where the metrics are not to be had."""
        return await asyncio.to_thread(self.read_now)

    def read_now(self) -> Reading:
        """The same for whoever has no event loop to keep free."""
        server, store = self._server(), self._store()
        return Reading(
            wall_s=time.monotonic(),
            driver_s=time.process_time(),
            server_s=server.get("process_cpu_seconds_total", 0.0),
            server_bytes=server.get("process_resident_memory_bytes", 0.0),
            acts=server.get("accepted", 0.0),
            delivered=server.get("rummyd_delivery_delay_seconds_count", 0.0),
            delay_s=server.get("rummyd_delivery_delay_seconds_sum", 0.0),
            lag_s=server.get("rummyd_loop_lag_seconds_sum", 0.0),
            looks=server.get("rummyd_loop_lag_seconds_count", 0.0),
            redis_s=store.get("used_cpu_sys", 0.0) + store.get("used_cpu_user", 0.0),
            redis_scripts=store.get("evalsha", 0.0),
            redis_commands=store.get("total_commands_processed", 0.0),
            redis_bytes=store.get("total_net_input_bytes", 0.0) + store.get("total_net_output_bytes", 0.0),
        )

    async def table_bytes(self, names: Iterable[str]) -> list[int]:
        """What each of these tables (`games/…`) takes in Redis, with the keys themselves."""
        return await asyncio.to_thread(lambda: [self._table_bytes(name.removeprefix("games/")) for name in names])

    def close(self) -> None:
        """Ends the connection to Redis."""
        if self._redis:
            self._redis.close()

    def _server(self) -> dict[str, float]:
        """Each of the server's metrics, added up over its labels, workers among them; and the acts that it accepted."""
        if not self._metrics:
            return {}
        with urllib.request.urlopen(self._metrics, timeout=_TIMEOUT_S) as answer:  # noqa: S310  # who runs it says where
            text = answer.read().decode()
        found: dict[str, float] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                found[sample.name] = found.get(sample.name, 0.0) + sample.value
                if sample.name == "rummyd_acts_total" and sample.labels["outcome"] == "accepted":
                    found["accepted"] = found.get("accepted", 0.0) + sample.value
        return found

    def _store(self) -> dict[str, float]:
        if self._redis is None:
            return {}
        told: dict[str, float | str | dict[str, float]] = self._redis.info("all")
        numbers = {name: value for name, value in told.items() if isinstance(value, int | float)}
        scripts = told.get("cmdstat_evalsha")
        return numbers | {"evalsha": scripts["calls"] if isinstance(scripts, dict) else 0.0}

    def _table_bytes(self, game: str) -> int:
        if self._redis is None:
            return 0
        keys = _KEYS.of(game)
        return sum(self._redis.memory_usage(key, samples=0) or 0 for key in (keys.game, keys.history, keys.record))
