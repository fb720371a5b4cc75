"""Two tables that differ in nothing but what a viewer may not see are, to that viewer, the same table, byte by byte."""

import random
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import count
from uuid import uuid4

import pytest
from google.protobuf.message import Message
from msgspec.structs import replace
from rummy.v1 import game_service_pb2 as pb

from engine.actions import Action, Draw
from engine.legal import legal_actions
from engine.presets import PRESETS
from engine.rules import RuleSet
from engine.state import State
from service.api.calls import Caller, Calls
from service.api.convert.actions import action_to
from service.api.errors import ApiError
from service.api.handlers import build_calls
from service.games.desk import Desk
from service.games.tokens import hash_of
from service.store.store import Options, Store
from service.store.table import Batch, Phase, Seat, Table
from tests.patience import patient
from tests.strategies import any_legal, eager, moments, reshuffled, rules_of, some_action

SEATS = 3
RULES: dict[str, RuleSet] = {
    **{preset: replace(rules, deals=2) for preset, rules in PRESETS.items()},
    "house": rules_of("basic", jokers=6, stock_empty="shuffle", discard_draw="any", joker_swap="same_turn", deals=2),
}
METHODS = pb.DESCRIPTOR.services_by_name["GameService"].methods_by_name
NUMBERS = count()


@dataclass
class World:
    """A whole service, but for its fronts, whose clock stands still and whose chance is the same in every world."""

    store: Store
    calls: Calls

    async def open(self, game: str, rules: RuleSet, state: State) -> None:
        """Opens a table at which this is the state of the match."""
        seats = tuple(Seat(taken=True, display_name="x", token_hash=hash_of(token_of(seat))) for seat in range(SEATS))
        table = Table(
            game=game,
            epoch="e",
            version=1,
            phase=Phase.PLAYING,
            display_name="",
            created_ms=1,
            updated_ms=1,
            preset="",
            rules=rules,
            seats=seats,
            secret=bytes(32),
            match=state,
        )
        await self.store.create(table, Batch(version=1, time_ms=1, actor=None))

    async def ask(self, request: Message, seat: int | None) -> bytes:
        """All that a call answers, or is refused with."""
        method = METHODS[type(request).__name__.removesuffix("Request")]
        try:
            answer = await self.calls.unary(method, request, caller_of(seat))
        except ApiError as error:
            return error.status().SerializeToString(deterministic=True)
        return unmarked(answer)

    async def watch_move(self, name: str, viewer: int | None, mover: int, action: Action) -> list[bytes]:
        """What a viewer's stream tells before and after a move; only the first where the move ended the deal."""
        stream = self.calls.stream(METHODS["Observe"], pb.ObserveRequest(name=name), caller_of(viewer))
        async with aclosing(stream):
            told = [unmarked(await anext(stream))]
            await self.ask(pb.ActRequest(name=name, actions=[action_to(action)]), mover)
            news = await anext(stream)
        assert isinstance(news, pb.ObserveResponse)
        if any(event.HasField("deal_ended") for event in news.batch.events):
            return told
        view = await self.ask(pb.GetGameRequest(name=name), viewer)
        page = await self.ask(pb.ListEventsRequest(name=name, after=1), viewer)
        return [*told, unmarked(news), view, page]


def unmarked(message: Message) -> bytes:
    """A message without its mark, if it has one: that is chance alone, and another in each world."""
    if "mark" in message.DESCRIPTOR.fields_by_name:
        assert len(message.mark) == 16  # type: ignore[attr-defined]
        message.ClearField("mark")
    return message.SerializeToString(deterministic=True)


def token_of(seat: int) -> str:
    return f"token-{seat}"


def caller_of(seat: int | None) -> Caller:
    return Caller(None if seat is None else token_of(seat), "call", "test")


@pytest.fixture
async def worlds(redis_url: str) -> AsyncIterator[list[World]]:
    """Two worlds."""
    stores = [await Store.connect(redis_url, patient(Options(namespace=f"test-{uuid4().hex}"))) for _ in range(2)]
    desks = [Desk(store, lambda: 1, random.Random(1).randbytes) for store in stores]  # noqa: S311  the same in each
    yield [World(desk.store, build_calls(desk, heartbeat_s=60)) for desk in desks]
    for store in stores:
        await store.close()


def questions(name: str, state: State, seat: int, chance: random.Random) -> Iterator[Message]:
    """What somebody may ask who wants to know more than he should: sensible things and others."""
    yield pb.GetGameRequest(name=name)
    yield pb.ListLegalActionsRequest(name=name)
    yield pb.SuggestActionRequest(name=name)
    yield pb.GetReplayRequest(name=name)
    yield pb.ListEventsRequest(name=name)
    yield pb.ListEventsRequest(name=name, after=1)
    yield pb.StartGameRequest(name=name)
    yield pb.JoinGameRequest(name=name, display_name="x", request_id=str(uuid4()))
    tried: Sequence[Action] = [Draw(), *(some_action(state, seat, chance) for _ in range(6))]
    for action in tried:
        yield pb.ActRequest(name=name, actions=[action_to(action)], validate_only=True)
    yield pb.ActRequest(name=name, actions=map(action_to, tried), validate_only=True)
    yield pb.ActRequest(name=name, actions=map(action_to, reversed(tried)), validate_only=True)
    if seat != state.turn:
        yield pb.ActRequest(name=name, actions=[action_to(tried[-1])])


def common_move(state: State, twin: State, viewer: int | None, chance: random.Random) -> Action | None:
    """A move that is legal in both; a viewer's own draw would show it the difference."""
    in_twin = set(legal_actions(twin, twin.turn))
    moves = [action for action in legal_actions(state, state.turn) if action in in_twin]
    if viewer == state.turn:
        moves = [action for action in moves if not isinstance(action, Draw)]
    return chance.choice(moves) if moves else None


@pytest.mark.parametrize("game", RULES)
async def test_twins_look_alike(worlds: list[World], game: str) -> None:
    """With other hands and the stock holding each other's cards, all that a viewer asks and watches stays the same."""
    rules, chance = RULES[game], random.Random(game)  # noqa: S311  the same in every run
    played = [
        state
        for choose in (eager, any_legal)
        for number, (state, _) in enumerate(moments(rules, SEATS, 11, choose=choose, most=64))
        if number % 8 == 3
    ]
    moved = 0
    for state in played:
        for viewer in (None, *range(SEATS)):
            twin = reshuffled(state, viewer, chance)
            name = f"games/t{next(NUMBERS)}"
            for world, match in zip(worlds, (state, twin), strict=True):
                await world.open(name.removeprefix("games/"), rules, match)
            for question in questions(name, state, viewer or 0, chance):
                one, other = [await world.ask(question, viewer) for world in worlds]
                assert one == other, f"{question} of seat {viewer} tells more than it should"
            move = common_move(state, twin, viewer, chance)
            if move is not None:
                one_told, other_told = [await world.watch_move(name, viewer, state.turn, move) for world in worlds]
                both = min(len(one_told), len(other_told))
                assert one_told[:both] == other_told[:both], f"{move} shows seat {viewer} more than it should"
                moved += both == 4
    assert moved > len(played)
