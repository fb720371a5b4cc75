"""Calls that are sent again, at once by many, or by those who may not: what changes, and what does not."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import product

import pytest
from google.protobuf.message import Message
from rummy.v1.action_pb2 import Action
from rummy.v1.event_pb2 import EventBatch
from rummy.v1.game_pb2 import Game

from tests.e2e.clients import Client, Failure
from tests.e2e.live import Rummyd
from tests.e2e.players import DRAW, Match, client_of, game_of, new_id, sit_down

FRONTS = ("grpc", "rest")
DISCARD = Action(discard=Action.Discard(card="AS"))


@dataclass
class World:
    """Two servers on one Redis, and a client on each over each front."""

    clients: Sequence[Client]
    servers: Sequence[Rummyd]
    stack: AsyncExitStack

    @property
    def ann(self) -> Client:
        """The client whose calls are retried by all others."""
        return self.clients[0]

    def all_as(self, token: str | None) -> Sequence[Client]:
        """All clients, with one token."""
        for client in self.clients:
            client.token = token
        return self.clients

    async def table(self, seats: int = 2) -> Match:
        """A table with all its players, its match begun."""
        return await sit_down(self.stack, self.servers[0], game_of(seats), FRONTS)


@pytest.fixture
async def world(rummyd: Rummyd, sister: Rummyd) -> AsyncIterator[World]:
    """Clients of both servers over both fronts."""
    async with AsyncExitStack() as stack:
        servers = [rummyd, sister]
        clients = [
            await stack.enter_async_context(client_of(server, front)) for server, front in product(servers, FRONTS)
        ]
        yield World(clients, servers, stack)


async def history(client: Client, game: Game) -> list[EventBatch]:
    """Every batch of a table, as a spectator sees it."""
    watcher = type(client)(client.server)
    batches: list[EventBatch] = []
    async with watcher, watcher.observe(game.name, after=1) as stream:
        while (batches[-1].version if batches else 1) < game.version:
            batches.append((await stream.next()).batch)
    return batches


async def refusal(call: Awaitable[object]) -> Failure:
    """What a call is refused with."""
    with pytest.raises(Failure) as caught:
        await call
    return caught.value


async def test_creating_again_creates_nothing(world: World) -> None:
    """CreateGame with the same request id gives the same table, from any server; another payload is refused."""
    request_id, game = new_id(), game_of(3, jokers=2)
    first = await world.ann.create(game, request_id)
    for client in world.clients:
        assert await client.create(game, request_id) == first
        assert await client.create(game, request_id.upper()) == first
        for other in (game_of(2, jokers=2), game_of(3)):
            refused = await refusal(client.create(other, request_id))
            assert (refused.code, refused.reason) == ("ALREADY_EXISTS", "REQUEST_ID_REUSED")
        assert (await client.create(game, new_id())).name != first.name
    assert (await world.ann.get(first.name)) == first


async def test_joining_again_takes_no_seat(world: World) -> None:
    """JoinGame with the same request id gives the same seat and token, also when the match has begun since."""
    name, request_id = (await world.ann.create(game_of(2))).name, new_id()
    first = await world.ann.join(name, "Ann", request_id=request_id)
    for client in world.clients:
        again = await client.join(name, "Ann", request_id=request_id)
        assert (again.seat, again.token, again.game) == (first.seat, first.token, first.game)
        for refused in (
            await refusal(client.join(name, "Bob", request_id=request_id)),
            await refusal(client.join(name, "Ann", seat=0, request_id=request_id)),
        ):
            assert (refused.code, refused.reason) == ("ALREADY_EXISTS", "REQUEST_ID_REUSED")
    begun = (await world.ann.join(name, "Bob", seat=1)).game
    for client in world.clients:
        again = await client.join(name, "Ann", request_id=request_id)
        assert (again.seat, again.token) == (first.seat, first.token)
        assert (again.game.state, again.game.version) == (Game.STATE_PLAYING, begun.version)
        assert len(again.game.view.hand) == 10
    assert len(await history(world.ann, begun)) == 2


async def test_a_quick_join_again_takes_no_seat(world: World) -> None:
    """QuickJoin with the same request id gives the same seat and token, wherever that is, also when it has begun."""
    request_id, game = new_id(), game_of(2, deals=41)
    first = await world.ann.quick_join(game, "Ann", request_id=request_id)
    for client in world.clients:
        again = await client.quick_join(game, "Ann", request_id=request_id)
        assert (again.seat, again.token, again.game) == (first.seat, first.token, first.game)
        for refused in (
            await refusal(client.quick_join(game, "Bob", request_id=request_id)),
            await refusal(client.quick_join(game_of(2, deals=42), "Ann", request_id=request_id)),
        ):
            assert (refused.code, refused.reason) == ("ALREADY_EXISTS", "REQUEST_ID_REUSED")
    begun = (await world.clients[1].quick_join(game, "Bob")).game
    assert (begun.name, begun.state) == (first.game.name, Game.STATE_PLAYING)
    for client in world.clients:
        again = await client.quick_join(game, "Ann", request_id=request_id.upper())
        assert (again.seat, again.token, again.game.version) == (first.seat, first.token, begun.version)


async def test_a_rematch_again_takes_no_seat(world: World) -> None:
    """Rematch with the same request id gives the same seat and token at the same table, from any server."""
    name = (await world.ann.create(game_of(2, roundLimit=1))).name
    tokens = [(await client.join(name)).token for client in world.clients[:2]]
    await Match(name, world.clients[:2]).play()
    request_id = new_id()
    first = await world.clients[1].rematch(name, request_id)
    for client in world.all_as(tokens[1]):
        again = await client.rematch(name, request_id)
        assert (again.seat, again.token, again.game) == (1, first.token, first.game)
        client.token = tokens[1]
    world.ann.token = tokens[0]
    begun = await world.ann.rematch(name, request_id)
    assert (begun.seat, begun.game.name, begun.game.state) == (0, first.game.name, Game.STATE_PLAYING)
    for client in world.all_as(tokens[1]):
        again = await client.rematch(name, request_id)
        assert (again.seat, again.token, again.game.version) == (1, first.token, begun.game.version)


async def test_starting_again_starts_nothing(world: World) -> None:
    """StartGame with the same request id answers as the first did; with a new one the match has begun."""
    name, request_id = (await world.ann.create(game_of(4))).name, new_id()
    token = (await world.ann.join(name)).token
    await world.clients[1].join(name)
    clients = world.all_as(token)
    first = await world.ann.start(name, request_id)
    assert first.state == Game.STATE_PLAYING
    for client in clients:
        assert await client.start(name, request_id) == first
        assert (await refusal(client.start(name, new_id()))).reason == "GAME_NOT_OPEN"
        assert (await refusal(client.leave(name, request_id))).reason == "REQUEST_ID_REUSED"
        assert (await refusal(client.act(name, [DRAW], request_id=request_id))).reason == "REQUEST_ID_REUSED"
    assert await world.ann.get(name) == first


@pytest.mark.parametrize("begun", [False, True], ids=["before the match", "in the match"])
async def test_leaving_again_leaves_nothing(world: World, begun: bool) -> None:
    """LeaveGame with the same request id answers as the first did, though the token is worth nothing any more."""
    name, request_id = (await world.ann.create(game_of(3))).name, new_id()
    token = (await world.ann.join(name)).token
    for _ in range(2 if begun else 1):
        await world.ann.join(name)
    clients = world.all_as(token)
    first = await world.ann.leave(name, request_id)
    for client in clients:
        assert await client.leave(name, request_id) == first
        assert (await refusal(client.leave(name, new_id()))).reason == "TOKEN_INVALID"
        assert (await refusal(client.get(name))).reason == "TOKEN_INVALID"
    world.all_as(None)
    assert await world.ann.get(name) == first


async def test_acting_again_plays_nothing(world: World) -> None:
    """Act with the same request id gives the first one's version and events, however long ago, and the view of now."""
    match = await world.table()
    await match.play(1)
    player = match.players[0]
    card, request_id = match.acts[-1][1].view.options.discard[0], new_id()
    discard = [Action(discard=Action.Discard(card=card))]
    clients = world.all_as(player.token)
    version = match.acts[-1][1].version
    first = await world.ann.act(match.name, discard, request_id=request_id, expected_version=version)
    assert first.version == version + 1
    for client in clients:
        assert await client.act(match.name, discard, request_id=request_id, expected_version=version) == first
        refused = await refusal(client.act(match.name, [DRAW], request_id=request_id))
        assert (refused.code, refused.reason) == ("ALREADY_EXISTS", "REQUEST_ID_REUSED")
    await match.play()
    now = await player.get(match.name)
    for client in clients:
        again = await client.act(match.name, discard, request_id=request_id, expected_version=version)
        assert (again.version, list(again.events)) == (first.version, list(first.events))
        assert again.view == now.view
    assert (await player.get(match.name)) == now


async def test_impatient_caller_plays_once(world: World) -> None:
    """One act sent twenty times at once, to two servers over both fronts, is played once, with one answer to all."""
    match = await world.table()
    clients = world.all_as(match.players[0].token)
    before, request_id = (await world.ann.get(match.name)).version, new_id()
    answers = await asyncio.gather(
        *(client.act(match.name, [DRAW], request_id=request_id) for client in clients for _ in range(5))
    )
    assert all(answer == answers[0] for answer in answers)
    assert answers[0].version == before + 1
    assert (await world.ann.get(match.name)).version == before + 1


async def test_one_of_many_acts_for_a_version(world: World) -> None:
    """Of many acts for one expected version one is played; the others are ABORTED, and told the version of now."""
    match = await world.table()
    clients = world.all_as(match.players[0].token)
    before = (await world.ann.get(match.name)).version
    outcomes = await asyncio.gather(
        *(
            client.act(match.name, [DRAW], request_id=new_id(), expected_version=before)
            for client in clients
            for _ in range(5)
        ),
        return_exceptions=True,
    )
    refused = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    assert len(refused) == len(outcomes) - 1
    assert {(failure.code, failure.reason) for failure in refused} == {("ABORTED", "VERSION_MISMATCH")}
    assert {failure.metadata["current_version"] for failure in refused} == {str(before + 1)}
    assert (await world.ann.get(match.name)).version == before + 1


async def test_as_many_join_as_there_are_seats(world: World) -> None:
    """Of fifty who join a table of four at once, each twice, four get a seat of their own, and nobody else."""
    game = await world.ann.create(game_of(4))
    request_ids = [new_id() for _ in range(50)]

    async def join_twice(number: int) -> list[tuple[int, str] | Failure]:
        outcomes: list[tuple[int, str] | Failure] = []
        for attempt in range(2):
            client = world.clients[(number + attempt) % len(world.clients)]
            try:
                joined = await client.join(game.name, f"Player {number}", request_id=request_ids[number])
                outcomes.append((joined.seat, joined.token))
            except Failure as failure:
                outcomes.append(failure)
        return outcomes

    outcomes = await asyncio.gather(*(join_twice(number) for number in range(50)))
    seated = [first for first, second in outcomes if isinstance(first, tuple) and first == second]
    refused = [failure for pair in outcomes for failure in pair if isinstance(failure, Failure)]
    assert sorted(seat for seat, _ in seated) == [0, 1, 2, 3]
    assert len({token for _, token in seated}) == 4
    assert len(refused) == 2 * 46
    assert {(failure.code, failure.reason) for failure in refused} == {("FAILED_PRECONDITION", "GAME_NOT_OPEN")}
    world.all_as(None)
    now = await world.ann.get(game.name)
    assert (now.state, now.version) == (Game.STATE_PLAYING, 5)


Calls = Callable[[Client, str], Awaitable[Message]]
CHANGING: dict[str, Calls] = {
    "act": lambda client, name: client.act(name, [DRAW], request_id=new_id()),
    "leave": lambda client, name: client.leave(name, new_id()),
    "start": lambda client, name: client.start(name, new_id()),
    "addBot": lambda client, name: client.add_bot(name, new_id()),
    "resumeSeat": lambda client, name: client.resume(name, new_id()),
    "rematch": lambda client, name: client.rematch(name, new_id()),
}


@pytest.mark.parametrize("call", CHANGING)
async def test_a_wrong_token_changes_nothing(world: World, call: str) -> None:
    """Without a token, with one of another table, with none that ever was or was revoked, nothing changes."""
    match, other = await world.table(3), await world.table()
    revoked = match.players[2].token
    await match.players[2].leave(match.name)
    before = await match.players[0].get(match.name)
    for token in (None, other.players[0].token, "rst_" + "A" * 43, revoked, "x"):
        for client in world.all_as(token):
            refused = await refusal(CHANGING[call](client, match.name))
            assert refused.code == "UNAUTHENTICATED"
            assert refused.reason == ("TOKEN_INVALID" if token else "TOKEN_REQUIRED")
    assert await match.players[0].get(match.name) == before


async def test_a_refused_act_changes_nothing(world: World) -> None:
    """What another seat tries, what the rules forbid, what is only tried out or comes too late leaves all as it was."""
    match = await world.table()
    mover, other = match.players
    before = await mover.get(match.name)
    refused = {
        "other": await refusal(other.act(match.name, [DRAW], request_id=new_id())),
        "phase": await refusal(mover.act(match.name, [Action(discard=Action.Discard(card=before.view.hand[0]))])),
        "order": await refusal(mover.act(match.name, [DRAW, DISCARD])),
        "late": await refusal(mover.act(match.name, [DRAW], expected_version=before.version - 1)),
        "early": await refusal(mover.act(match.name, [DRAW], expected_version=before.version + 1, validate_only=True)),
    }
    assert {case: failure.reason for case, failure in refused.items()} == {
        "other": "NOT_YOUR_TURN",
        "phase": "WRONG_PHASE",
        "order": "ACTION_AFTER_DRAW",
        "late": "VERSION_MISMATCH",
        "early": "VERSION_MISMATCH",
    }
    assert refused["order"].fields == (("actions[0]", "ACTION_AFTER_DRAW"),)
    tried = await mover.act(match.name, [DRAW], validate_only=True)
    assert (tried.version, tried.view) == (before.version, before.view)
    assert [list(event.drew.cards) for event in tried.events if event.HasField("drew")] == [[]]
    assert await mover.get(match.name) == before
    assert len(await history(world.ann, before)) == before.version - 1


async def test_all_or_none(world: World) -> None:
    """Where the last of several actions is refused, none of them is played; the refusal says which it was."""
    match = await world.table()
    await match.play(1)
    before = await match.players[0].get(match.name)
    hand = before.view.hand
    absent = next(rank + suit for rank, suit in product("A23456789TJQK", "CDHS") if rank + suit not in hand)
    discards = [Action(discard=Action.Discard(card=card)) for card in (before.view.options.discard[0], absent)]
    for client in world.all_as(match.players[0].token):
        refused = await refusal(client.act(match.name, discards, request_id=new_id()))
        assert refused.code == "FAILED_PRECONDITION"
        assert refused.metadata["action"] == "1"
    assert await match.players[0].get(match.name) == before
