"""Limits and API keys over the network: who is refused, and that he is told why and for how long."""

import math
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import grpc
import httpx
import pytest
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.game_pb2 import Game
from rummy.v1.game_service_pb2_grpc import GameServiceStub

from clients.over_grpc import GrpcApi
from clients.over_rest import RestApi
from clients.retry import retried
from tests.e2e.clients import Client, Failure, RestClient
from tests.e2e.conftest import Start
from tests.e2e.live import Rummyd
from tests.e2e.players import DRAW, Match, client_of, game_of, new_id, sit_down
from tests.e2e.test_operations import becomes
from tests.patience import LONGEST_S

fronts = pytest.mark.parametrize("front", ["grpc", "rest"])
GAME = game_of(2)
KEY = "0123456789abcdef"


async def refused(call: Awaitable[object], limit: str) -> Failure:
    """What a call is refused with, for this limit."""
    with pytest.raises(Failure) as caught:
        await call
    failure = caught.value
    assert (failure.code, failure.reason, failure.metadata["limit"]) == ("RESOURCE_EXHAUSTED", "LIMIT_EXCEEDED", limit)
    assert failure.retry_s > 0
    return failure


def clients(stack: AsyncExitStack, server: Rummyd, front: str, count: int) -> list[Client]:
    """So many clients of one server."""
    made = [client_of(server, front) for _ in range(count)]
    for client in made:
        stack.push_async_exit(client)
    return made


@fronts
async def test_calls_and_tables(start: Start, front: str) -> None:
    """Each caller has his calls and his tables, and is told when to come again; the log and the metrics tell of it."""
    server = start("--limit-calls-per-second", "0.01", "--limit-burst-seconds", "400", "--limit-tables-per-minute", "2")
    async with AsyncExitStack() as stack:
        guest, ann = clients(stack, server, front, 2)
        name = (await guest.create(GAME)).name
        await ann.join(name)
        await guest.create(GAME)
        failure = await refused(guest.create(GAME), "tables_per_minute")
        assert failure.metadata["most"] == "2"
        assert 0 < failure.retry_s <= 30
        failure = await refused(guest.get(name), "calls_per_second")
        assert 0 < failure.retry_s <= 100
        if isinstance(guest, RestClient):
            assert (guest.last_status, guest.last_retry_after) == (429, str(math.ceil(failure.retry_s)))
        for _ in range(4):
            assert (await ann.get(name)).version == 2
        await refused(ann.get(name), "calls_per_second")
        await becomes(server.metrics, r'^rummyd_limited_total{limit="calls_per_second"} 2.0$')
    assert any('"limit": "tables_per_minute"' in line for line in server.log())
    assert not any(str(ann.token) in line for line in server.log())


@fronts
async def test_acts_at_a_table(start: Start, front: str) -> None:
    """A table takes so many acts, whoever plays them; strangers and retries use up none of them, and bots need none."""
    server = start(
        "--limit-acts-per-second", "0.01", "--limit-burst-seconds", "200", "--bot-think-ms", "0", "--clock-seconds",
        "0.01",
    )  # fmt: skip
    async with AsyncExitStack() as stack:
        match = await sit_down(stack, server, GAME, [front])
        (stranger,) = clients(stack, server, front, 1)
        for _ in range(5):
            with pytest.raises(Failure, match="TOKEN_REQUIRED"):
                await stranger.act(match.name, [DRAW])
        view = (await match.players[0].get(match.name)).view
        request_id = new_id()
        for _ in range(5):
            await match.players[view.turn].act(match.name, [DRAW], request_id=request_id)
        await match.play(1)
        view = (await match.players[0].get(match.name)).view
        await refused(match.players[view.turn].act(match.name, [DRAW]), "acts_per_second")
        await match.players[view.turn].leave(match.name)
        follower = match.players[1 - view.turn]
        async with follower.observe(match.name, after=view.version) as stream:
            while (await stream.next()).batch.events[-1].turn_started.seat == view.turn:
                pass


@fronts
async def test_streams_and_watchers(start: Start, front: str) -> None:
    """So many streams of a caller are open at once, and so many spectators of a table; who leaves makes room."""
    server = start("--limit-streams-per-caller", "2", "--limit-watchers-per-table", "1")
    async with AsyncExitStack() as stack:
        guest, ann = clients(stack, server, front, 2)
        name, other = [(await guest.create(GAME)).name for _ in range(2)]
        await ann.join(name)
        async with guest.observe(name) as watching:
            await watching.next()
            await refused(anext(all_of(guest, name)), "watchers_per_table")
            await refused(guest.events(name, after=2, wait_s=1), "watchers_per_table")
            assert (await guest.events(name, after=1)).version == 2
            async with guest.observe(other) as second, ann.observe(name) as hers:
                await second.next()
                await hers.next()
                await refused(anext(all_of(guest, other)), "streams_per_caller")
        await becomes(server.metrics, rf'^rummyd_open_streams{{front="{front}",method=".*Observe"}} 0.0')
        assert (await anext(all_of(guest, name))).snapshot.version == 2


async def all_of(client: Client, name: str) -> AsyncIterator[pb.ObserveResponse]:
    """The messages of a stream."""
    async with client.observe(name) as stream:
        async for message in stream:
            yield message


FEW = ("--limit-calls-per-second", "0.01", "--limit-burst-seconds", "800", "--limit-failures-per-minute", "0.5")


async def attack(guesser: Client, name: str) -> None:
    """Sends wrong tokens to a table until the server looks at no more of them."""
    for number in range(100):
        guesser.token = f"rst_{number}"
        with pytest.raises(Failure) as failure:
            await guesser.get(name)
        if failure.value.reason != "TOKEN_INVALID":
            break
    await refused(guesser.get(name), "calls_per_second")


@fronts
async def test_who_joins_during_an_attack_plays(start: Start, front: str) -> None:
    """However many wrong tokens come from an address, who has just come there finds a table, joins it and plays."""
    server = start(*FEW)
    async with AsyncExitStack() as stack:
        guesser, host, ann, bob, quick, again = clients(stack, server, front, 6)
        wanted = game_of(2, deals=1)
        wanted.visibility = Game.VISIBILITY_PRIVATE
        table = await host.create(wanted)
        await attack(guesser, table.name)
        assert (await ann.find(table.join_code)).name == table.name
        match = Match(table.name, [ann, bob])
        for player in match.players:
            await player.join(table.name)
        await match.play(2)
        for client in (quick, again):
            name = (await client.quick_join(GAME)).game.name
            await client.get(name)
        await refused(guesser.get(table.name), "calls_per_second")


@fronts
async def test_who_was_known_before_plays_on_at_another_server(start: Start, front: str, redis_url: str) -> None:
    """A server that has just begun, and is sent wrong tokens first, takes those of seats that it has not met."""
    old, new = start(redis_url=redis_url), start(*FEW, redis_url=redis_url)
    async with AsyncExitStack() as stack:
        (guesser, *after) = clients(stack, new, front, 5)
        before = clients(stack, old, front, 4)
        names = [(await before[0].create(GAME)).name for _ in range(2)]
        for number, player in enumerate(before):
            await player.join(names[number % 2])
        await attack(guesser, names[0])
        for number, player in enumerate(after):
            player.token = before[number].token
            assert (await player.get(names[number % 2])).view.seat == number // 2


@fronts
async def test_codes_that_no_table_has(start: Start, front: str) -> None:
    """Who tries codes is not looked at any more, whether one is right or not; those who have seats play on."""
    server = start("--limit-failures-per-minute", "2")
    async with AsyncExitStack() as stack:
        guesser, ann = clients(stack, server, front, 2)
        wanted = game_of(2)
        wanted.visibility = Game.VISIBILITY_PRIVATE
        table = await ann.create(wanted)
        for code in ("22222Z", "22222Y"):
            with pytest.raises(Failure, match="CODE_NOT_FOUND"):
                await guesser.find(code)
        await refused(guesser.find(table.join_code), "failures_per_minute")
        await ann.join(table.name)
        assert (await ann.get(table.name)).version == 2


@fronts
async def test_only_tables_that_are_made_count(start: Start, front: str) -> None:
    """A retry, a table that cannot be, and a seat at a table that is there use up none of a caller's tables."""
    server = start("--limit-tables-per-minute", "2")
    async with AsyncExitStack() as stack:
        guest, *others = clients(stack, server, front, 6)
        request_id = new_id()
        names = {(await guest.create(GAME, request_id)).name for _ in range(2)}
        assert len(names) == 1
        for _ in range(3):
            with pytest.raises(Failure, match="INVALID_RULE_SET"):
                await guest.create(game_of(2, set_max=2))
        wanted = game_of(5)
        assert len({(await other.quick_join(wanted)).game.name for other in others}) == 1
        failure = await refused(guest.create(GAME), "tables_per_minute")
        assert failure.metadata["most"] == "2"


@fronts
async def test_callers_behind_proxies(start: Start, front: str) -> None:
    """Callers are told apart by what a trusted proxy says of them; where none is trusted the log says what to do."""
    trusting = start("--limit-tables-per-minute", "1", "--trusted-proxies", "1")
    wary = start("--limit-tables-per-minute", "1")
    for server in (trusting, wary):
        async with AsyncExitStack() as stack:
            one, other = clients(stack, server, front, 2)
            one.headers["x-forwarded-for"], other.headers["x-forwarded-for"] = "198.51.100.7", "x, 198.51.100.8"
            await one.create(GAME)
            if server is trusting:
                await other.create(GAME)
            await refused(other.create(GAME), "tables_per_minute")
    assert sum("proxy_not_trusted" in line for line in wary.log()) == 1
    assert not any("proxy_not_trusted" in line for line in trusting.log())


@fronts
async def test_api_keys(start: Start, front: str, tmp_path: Path) -> None:
    """With keys, tables are created by their holders, old and new key alike; the log has the names, never a key."""
    file = tmp_path / "keys"
    file.write_text(f"# of the shop\nshop:{KEY[::-1]}\n")
    server = start("--api-keys-file", str(file), RUMMYD_API_KEYS=f"shop:{KEY}")
    async with AsyncExitStack() as stack:
        client, guest = clients(stack, server, front, 2)
        for key, reason in ((None, "API_KEY_REQUIRED"), ("0" * 16, "API_KEY_INVALID")):
            client.headers = {} if key is None else {"x-api-key": key}
            with pytest.raises(Failure) as caught:
                await client.create(GAME)
            assert (caught.value.code, caught.value.reason) == ("UNAUTHENTICATED", reason)
        for key in (KEY, KEY[::-1]):
            client.headers = {"x-api-key": key}
            name = (await client.create(GAME)).name
        await guest.join(name)
        assert (await guest.get(name)).version == 2
        async with httpx.AsyncClient(timeout=LONGEST_S) as http:
            document = (await http.get(f"{server.rest}/openapi.json")).json()
        assert document["paths"]["/v1/games"]["post"]["security"] == [{"apiKey": []}]
        api = GrpcApi(server.grpc, KEY) if front == "grpc" else RestApi(server.rest, KEY)
        async with api:
            await api.create_game(pb.CreateGameRequest(game=GAME))
            await api.quick_join(pb.QuickJoinRequest(game=GAME, display_name="Ann"))
    assert sum('"api_key": "shop"' in line for line in server.log()) == 4
    assert not any(key in line for line in server.log() for key in (KEY, KEY[::-1], "0" * 16))


@fronts
async def test_a_client_waits_as_long_as_it_is_told(start: Start, front: str) -> None:
    """The documented retry gets through a limit, and makes no call too many to do so."""
    server = start("--limit-tables-per-minute", "30")
    api = GrpcApi(server.grpc) if front == "grpc" else RestApi(server.rest)
    names = list[str]()

    def refusals() -> int:
        return sum('"limit": "tables_per_minute"' in line for line in server.log())

    async with api:
        while not refusals() and len(names) < 300:  # the slower the machine, the more tables there may be
            names.append((await retried(partial(api.create_game, pb.CreateGameRequest(game=GAME)))).name)
    assert refusals() == 1
    assert len(set(names)) == len(names) > 30


async def test_requests_that_are_too_large(rummyd: Rummyd) -> None:
    """A request with too many bytes is refused: over REST with a reason, over gRPC by gRPC itself, which has none."""
    request = pb.GetGameRequest(name="games/" + "x" * 70_000)
    async with grpc.aio.insecure_channel(rummyd.grpc) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await GameServiceStub(channel).GetGame(request)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    async with httpx.AsyncClient(timeout=LONGEST_S) as http:
        answer = await http.post(f"{rummyd.rest}/v1/games", content=b" " * 70_000)
    assert (answer.status_code, answer.json()["error"]["details"][0]["reason"]) == (413, "BODY_TOO_LARGE")
