"""What operators see of a live server: how it stops, what it logs and counts, and how it does without its Redis."""

import asyncio
import json
import re
import resource
import time
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urljoin

import grpc
import httpx
import pytest
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.game_service_pb2_grpc import GameServiceStub

from service.embedded import EmbeddedRedis
from tests import servers
from tests.e2e.clients import Client, Failure, LostError
from tests.e2e.conftest import Start
from tests.e2e.live import LONGEST_S, Rummyd
from tests.e2e.players import DRAW, client_of, game_of, new_id, sit_down, watching

fronts = pytest.mark.parametrize("front", ["grpc", "rest"])
MOST_LAG_S = 0.1
"""Callers who are held up for longer may come to a server that has ended: it turns them away until none has come for a
fifth of a second.
"""


async def becomes(url: str, wanted: str) -> None:
    """Waits until an address answers with a line like this."""
    async with asyncio.timeout(LONGEST_S), httpx.AsyncClient(timeout=LONGEST_S) as http:
        while not re.search(wanted, (response := await http.get(url)).text, re.MULTILINE):
            assert response.status_code in (200, 503)
            await asyncio.sleep(0.05)


async def test_control_c_stops_it_cleanly(start: Start) -> None:
    """Ctrl-C, with calls and streams under way, and Redis at the same terminal, ends with 0 and no word of trouble."""
    server = start()
    async with AsyncExitStack() as stack:
        match = await sit_down(stack, server, game_of(2), ["grpc", "rest"])
        watchers = [await stack.enter_async_context(watching(player, match.name)) for player in match.players]
        await match.play(4)
        playing = asyncio.create_task(match.play())
        assert await asyncio.to_thread(server.interrupt) == 0
        for watcher in watchers:
            with pytest.raises(Failure) as caught:
                await watcher.ended()
            assert caught.value.reason == "SERVER_DRAINING"
        with pytest.raises((Failure, LostError)):
            await playing
    entries = [json.loads(line) for line in server.log()]
    assert [entry["event"] for entry in entries if entry["event"] != "call"][-1] == "stopped"
    assert {entry["level"] for entry in entries} <= {"info", "warning"}


@fronts
async def test_every_caller_is_told_that_the_server_stops(start: Start, front: str) -> None:
    """Of many who call on and on while the server is asked to stop, each is told so by the server itself."""
    for _ in range(5):
        told, longest_lag_s = await told_at_the_end(start(), front)
        if told == {("UNAVAILABLE", "SERVER_DRAINING")} or longest_lag_s <= MOST_LAG_S:
            break
    assert told == {("UNAVAILABLE", "SERVER_DRAINING")}


async def told_at_the_end(server: Rummyd, front: str) -> tuple[set[tuple[str, str]], float]:
    """What many who call on and on are told when a server stops, and the longest time that they were held up then."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(client_of(server, front)) for _ in range(4)]
        name = (await clients[0].create(game_of(2))).name

        async def call_on(client: Client) -> None:
            while True:
                await client.get(name)

        async def open_streams(client: Client) -> None:
            while True:
                async with client.observe(name) as stream:
                    await stream.next()

        calling = [
            asyncio.create_task(call(client)) for client in clients for call in [call_on] * 4 + [open_streams] * 2
        ]
        await becomes(server.metrics, r'^rummyd_calls_total\{code="CANCELLED",.*Observe",reason=""\} \d\d')
        lags = [0.0]
        measuring = asyncio.create_task(measure_lags(lags))
        assert await asyncio.to_thread(server.stop) == 0
        ends = await asyncio.gather(*calling, return_exceptions=True)
        measuring.cancel()
    return {(end.code, end.reason) if isinstance(end, Failure) else (repr(end), "") for end in ends}, max(lags)


async def measure_lags(lags: list[float]) -> None:
    """Keeps by how many seconds this process wakes too late, again and again."""
    while True:
        due = time.monotonic() + 0.01
        await asyncio.sleep(0.01)
        lags.append(time.monotonic() - due)


@fronts
async def test_each_call_is_one_line_of_json(start: Start, front: str) -> None:
    """The log has one line of JSON for each call: method, front, code, how long it took, and what it was about."""
    server = start()
    async with client_of(server, front) as client:
        game = await client.create(game_of(2))
        joined = await client.join(game.name)
        with pytest.raises(Failure):
            await client.act(game.name, [DRAW])
        with pytest.raises(Failure):
            await client.get("games/A")
        async with client.observe(game.name) as stream:
            await stream.next()
        await becomes(
            server.metrics, rf'^rummyd_calls_total{{code="CANCELLED",front="{front}",method=".*Observe",reason=""}} 1.0'
        )
    lines = [json.loads(line) for line in server.log()]
    calls = [line for line in lines if line["event"] == "call"]
    service = "rummy.v1.GameService"
    assert [(call["method"], call["code"], call.get("reason"), call.get("version")) for call in calls] == [
        (f"{service}.CreateGame", "OK", None, 1),
        (f"{service}.JoinGame", "OK", None, 2),
        (f"{service}.Act", "FAILED_PRECONDITION", "GAME_NOT_STARTED", 2),
        (f"{service}.GetGame", "INVALID_ARGUMENT", "INVALID_FIELD", None),
        (f"{service}.Observe", "CANCELLED", None, 2),
    ]
    assert {call["front"] for call in calls} == {front}
    assert [call.get("game") for call in calls] == [game.name, game.name, game.name, None, game.name]
    assert calls[1]["seat"] == joined.seat
    assert len({call["call_id"] for call in calls}) == len(calls)
    assert all(0 <= call["duration_ms"] < LONGEST_S * 1000 for call in calls)


async def test_metrics_count_what_happens(start: Start) -> None:
    """`/metrics` counts calls by method, front and code, acts by game and outcome, and the streams open now."""
    server = start()
    async with AsyncExitStack() as stack:
        match = await sit_down(stack, server, game_of(2, "rummy500"), ["grpc", "rest"])
        async with AsyncExitStack() as watched:
            for player in match.players:
                await watched.enter_async_context(watching(player, match.name))
            for front in ("grpc", "rest"):
                await becomes(server.metrics, rf'^rummyd_open_streams{{front="{front}",method=".*Observe"}} 1.0')
        for front in ("grpc", "rest"):
            await becomes(server.metrics, rf'^rummyd_open_streams{{front="{front}",method=".*Observe"}} 0.0')
        await match.play(12)
        with pytest.raises(Failure):
            await match.players[1].act(match.name, [DRAW, DRAW])
        async with httpx.AsyncClient(timeout=LONGEST_S) as http:
            shown = (await http.get(server.metrics)).text
    counts = re.findall(r"^(rummyd_\w+_total\{.*\}) (.*)$", shown, re.MULTILINE)
    counted = {name: float(number) for name, number in counts}
    lines = [line for line in map(json.loads, server.log()) if line["event"] == "call"]
    acts = [line for line in lines if line["method"].endswith(".Act")]
    logged = Counter((line["front"], line["code"], line.get("reason", "")) for line in acts)
    assert logged.keys() >= {("grpc", "OK", ""), ("rest", "OK", ""), ("rest", "INVALID_ARGUMENT", "ACTION_AFTER_DRAW")}
    for (front, code, reason), number in logged.items():
        labels = f'code="{code}",front="{front}",method="rummy.v1.GameService.Act",reason="{reason}"'
        name = f"rummyd_calls_total{{{labels}}}"
        assert counted[name] == number
    assert counted['rummyd_acts_total{outcome="accepted",preset="rummy500"}'] == len(match.acts)
    assert counted['rummyd_acts_total{outcome="ACTION_AFTER_DRAW",preset="rummy500"}'] == 1
    assert "rummyd_ready 1.0" in shown


@fronts
@pytest.mark.parametrize("how", ["dead", "silent"])
async def test_without_redis_calls_fail_soon(start: Start, embedded_redis: EmbeddedRedis, front: str, how: str) -> None:
    """While Redis is dead or silent calls fail soon, and readiness says so; streams stay, and go on afterwards."""
    server = start("--redis-timeout-seconds", "0.5", "--heartbeat-seconds", "0.2", redis_url=embedded_redis.url)
    async with AsyncExitStack() as stack:
        client, spectator = [await stack.enter_async_context(client_of(server, front)) for _ in range(2)]
        client.patient = True  # a server with so little patience may miss an answer of Redis
        name = (await client.create(game_of(2), request_id=new_id())).name
        client.patient = False
        stream = await stack.enter_async_context(spectator.observe(name))
        assert (await stream.next()).snapshot.version == 1
        await becomes(f"{server.rest}/readyz", '^.*"ready"')
        if how == "dead":
            await asyncio.to_thread(embedded_redis.kill)
            await all_fail_soon(server, client, name)
            await asyncio.to_thread(embedded_redis.start)
        else:
            with servers.frozen(embedded_redis):
                await all_fail_soon(server, client, name)
        await becomes(f"{server.rest}/readyz", '^.*"ready"')
        client.patient = True
        joined = await client.join(name, request_id=new_id())
        async with asyncio.timeout(LONGEST_S):
            message = pb.ObserveResponse()
            while not message.HasField("batch"):
                message = await stream.next()
                assert not message.HasField("snapshot")
        assert message.batch.version == joined.game.version == 2


async def all_fail_soon(server: Rummyd, client: Client, name: str) -> None:
    """Every kind of call is UNAVAILABLE long before its client would give up, while the process says it is alive."""
    for call in (client.get(name), client.create(game_of(2)), client.join(name), client.games()):
        start = time.monotonic()
        with pytest.raises(Failure) as caught:
            await call
        assert (caught.value.code, caught.value.reason) == ("UNAVAILABLE", "STORE_UNAVAILABLE")
        assert time.monotonic() - start < 10
    await becomes(f"{server.rest}/readyz", "not ready")
    async with httpx.AsyncClient(base_url=server.rest, timeout=LONGEST_S) as http:
        refused = await http.get(f"/v1/{name}")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert (await http.get("/healthz")).status_code == 200


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux tells how many files another process may open")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_may_open_as_many_files_as_the_system_lets_it(start: Start, redis_url: str, workers: int) -> None:
    """Started with a low limit on open files, of which each stream takes one, each process has raised it."""
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft // 2, most))
    try:
        server = start("--workers", str(workers), redis_url=redis_url)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, most))
    enough = 65_536 if most == resource.RLIM_INFINITY else min(most, 65_536)
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    assert len(children) == (0 if workers == 1 else workers)
    for pid in (server.pid, *map(int, children)):
        assert resource.prlimit(pid, resource.RLIMIT_NOFILE) == (max(soft // 2, enough), most)


@fronts
async def test_not_ready_where_nothing_can_be_stored(start: Start, embedded_redis: EmbeddedRedis, front: str) -> None:
    """While Redis is full a server is not ready, says why, and shows tables; it is ready when there is room again."""
    server = start(redis_url=embedded_redis.url)
    async with client_of(server, front) as client:
        name = (await client.create(game_of(2))).name
        with servers.client(embedded_redis.url) as redis:
            redis.config_set("maxmemory-policy", "noeviction")
            redis.config_set("maxmemory", 1)
            await becomes(f"{server.rest}/readyz", "not ready")
            with pytest.raises(Failure) as caught:
                await client.create(game_of(2))
            assert caught.value.reason == "STORE_UNAVAILABLE"
            assert (await client.get(name)).name == name
            redis.config_set("maxmemory", 0)
        await becomes(f"{server.rest}/readyz", '^.*"ready"')
        await client.join(name)
    (line,) = [entry for entry in map(json.loads, server.log()) if entry["event"] == "not_ready"][:1]
    assert "maxmemory" in line["why"]


async def test_not_ready_where_the_cluster_has_given_up(start: Start) -> None:
    """When a master of a cluster dies, and the cluster serves nothing without it, a server is not ready."""
    with servers.cluster() as url:
        server = start(redis_url=url)
        await becomes(f"{server.rest}/readyz", '^.*"ready"')
        await asyncio.to_thread(servers.kill_master_of, url, "any")
        await becomes(f"{server.rest}/readyz", "not ready")
        async with client_of(server, "rest") as client:
            with pytest.raises(Failure):
                await client.create(game_of(2))


async def test_connections_do_not_get_older_than_they_may(start: Start) -> None:
    """A client of gRPC is told to leave a connection that is as old as the setting allows; its calls do not notice."""
    server = start("--grpc-connection-age-seconds", "1")
    async with asyncio.timeout(LONGEST_S), grpc.aio.insecure_channel(server.grpc) as channel:
        stub = GameServiceStub(channel)
        for _ in range(3):
            await stub.ListGames(pb.ListGamesRequest())
            await channel.wait_for_state_change(grpc.ChannelConnectivity.READY)


async def test_the_docs_need_no_other_server(rummyd: Rummyd) -> None:
    """The page of the docs is made of files of this server alone."""
    async with httpx.AsyncClient(follow_redirects=True, timeout=LONGEST_S) as http:
        page = await http.get(f"{rummyd.rest}/docs")
        links = [link for link in re.findall(r'(?:src|href)="([^"]+)"', page.text) if not link.startswith("data:")]
        assert len(links) >= 2
        for link in links:
            url = urljoin(str(page.url), link)
            assert url.startswith(rummyd.rest)
            assert (await http.get(url)).status_code == 200
