"""Every metric of a live server, and what moves it."""

import asyncio
import time
from contextlib import AsyncExitStack
from typing import cast

import httpx
import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from service.embedded import EmbeddedRedis
from service.observability import metrics
from service.store.keys import Keys
from tests import servers
from tests.e2e.clients import Client, Failure
from tests.e2e.conftest import Start
from tests.e2e.live import LONGEST_S, Rummyd
from tests.e2e.players import client_of, game_of, sit_down, watching

ELSEWHERE = {"rummyd_worker_restarts_total"}
"""What only several workers move: tests/service/test_workers.py."""
UNFORESEEN = {"rummyd_background_faults_total"}
"""What only faults move that nobody foresees, each in the tests of its work: test_census.py, clock/test_clock.py,
store/test_feed.py, store/test_line.py and test_readiness.py in tests/service."""


def names() -> set[str]:
    """Every metric of rummyd's own, as it is shown."""
    told = [told for metric in metrics.every() for told in metric.describe()]
    endings = {"counter": "_total", "histogram": "_count", "gauge": ""}
    return {told.name + endings[told.type] for told in told} - ELSEWHERE - UNFORESEEN


async def shown(server: Rummyd) -> dict[str, float]:
    """The sum of the samples of each metric."""
    async with httpx.AsyncClient(timeout=LONGEST_S) as http:
        text = (await http.get(server.metrics)).text
    sums: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            sums[sample.name] = sums.get(sample.name, 0.0) + sample.value
    return sums


async def moved(server: Rummyd, before: dict[str, float], *wanted: str) -> None:
    """Waits until each of these metrics has moved."""
    deadline = time.monotonic() + LONGEST_S
    while left := [name for name in wanted if (await shown(server)).get(name, 0.0) == before.get(name, 0.0)]:
        assert time.monotonic() < deadline, f"{left} have not moved"
        await asyncio.sleep(0.1)


async def test_every_metric_moves_when_its_thing_happens(start: Start, embedded_redis: EmbeddedRedis) -> None:
    """Each metric has another value once what it counts has happened, and none is left out here."""
    flags = ("--bot-think-ms", "0", "--limit-tables-per-minute", "8")
    server = start(*flags, redis_url=embedded_redis.url)
    still = await shown(server)
    seen: set[str] = set()

    async def moves(*wanted: str) -> None:
        await moved(server, still, *wanted)
        seen.update(wanted)

    async with AsyncExitStack() as stack:
        match = await sit_down(stack, server, game_of(2), ["grpc", "rest"])
        await stack.enter_async_context(watching(match.players[0], match.name))
        await match.play(6)
        await moves(
            "rummyd_calls_total", "rummyd_call_duration_seconds_count", "rummyd_acts_total", "rummyd_open_streams"
        )
        await moves("rummyd_events_delivered_total", "rummyd_delivery_delay_seconds_count")
        await moves("rummyd_store_duration_seconds_count", "rummyd_loop_lag_seconds_count", "rummyd_tables")
        client = await stack.enter_async_context(client_of(server, "grpc"))
        sister = await stack.enter_async_context(client_of(start(redis_url=embedded_redis.url), "rest"))
        await meanwhile(client, sister)
        await moves("rummyd_commit_conflicts_total")
        await bot_against_the_clock(client)
        await moves(
            "rummyd_ticks_total", "rummyd_due_lag_seconds_count", "rummyd_bot_moves_total", "rummyd_timeouts_total"
        )
        of_a_newer_release(embedded_redis, await bot_against_the_clock(match.players[0]))
        await moves("rummyd_tick_failures_total")
        await too_many_tables(client)
        await moves("rummyd_limited_total")
        stand_still(embedded_redis)
        await moves("rummyd_overdue_seconds")
    assert still["rummyd_build_info"] == still["rummyd_ready"] == 1
    seen.add("rummyd_build_info")
    await asyncio.to_thread(embedded_redis.kill)
    await moves("rummyd_ready", "rummyd_shards_lost", "rummyd_store_errors_total", "rummyd_store_resends_total")
    await asyncio.to_thread(embedded_redis.start)
    assert seen == names()


async def test_what_will_be_counted_is_shown_from_the_start(start: Start) -> None:
    """Open streams, failures by method, refusals by limit, errors and resends of the store are shown from the first."""
    server = start()
    async with httpx.AsyncClient(timeout=LONGEST_S) as http:
        text = (await http.get(server.metrics)).text
    found = {
        (sample.name, *(sample.labels.get(label, "") for label in ("front", "reason", "limit", "operation")))
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.value == 0
    }
    for front in ("grpc", "rest"):
        assert ("rummyd_open_streams", front, "", "", "") in found
        assert ("rummyd_calls_total", front, "STORE_UNAVAILABLE", "", "") in found
        assert ("rummyd_calls_total", front, "INTERNAL", "", "") in found
    assert ("rummyd_limited_total", "", "", "acts_per_second", "") in found
    assert ("rummyd_store_errors_total", "", "", "", "probe") in found
    assert ("rummyd_store_resends_total", "", "", "", "probe") in found


async def meanwhile(client: Client, sister: Client) -> None:
    """A table that has moved on by another server since this one saw it last."""
    name = (await client.create(game_of(4))).name
    await sister.join(name)
    await client.join(name)


async def bot_against_the_clock(client: Client) -> str:
    """A table of a bot and of a player who does not move in time; its name."""
    game = game_of(2)
    game.turn_limit.turn.FromSeconds(1)
    game.turn_limit.misses = 100
    name = (await client.create(game)).name
    await client.join(name)
    await client.add_bot(name)
    return name


async def too_many_tables(client: Client) -> None:
    """More tables than one caller may create in a minute."""
    with pytest.raises(Failure, match="LIMIT_EXCEEDED"):
        await asyncio.gather(*(client.create(game_of(2)) for _ in range(9)))


def stand_still(redis: EmbeddedRedis) -> None:
    """Has something due in a shard at which no server can look any more."""
    keys = Keys("rummyd").due(0)
    with servers.client(redis.url) as commands, commands.pipeline() as at_once:  # a server that looks writes it anew
        at_once.delete(keys.pulse)
        at_once.hset(keys.pulse, "not a", "number")
        at_once.execute()
        commands.zadd(keys.due, {"a": 1})


def of_a_newer_release(redis: EmbeddedRedis, name: str) -> None:
    """Has a table look as if a newer release had stored it, so that this one cannot do what is due there."""
    with servers.client(redis.url) as commands:
        (key,) = commands.scan_iter(match=f"*:game:{name.removeprefix('games/')}")
        fields = msgspec.msgpack.decode(cast(bytes, commands.hget(key, "table")))
        table = msgspec.msgpack.encode([fields[0] + 1000, *fields[1:]])
        commands.hset(key, mapping={"table": table, "version": 1000, "commit": b"a newer one"})
