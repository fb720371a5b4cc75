"""What looks for secrets in what was heard does find them: a server that tells too much is caught, by each front."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from contextvars import ContextVar
from dataclasses import dataclass, replace

import pytest
from google.protobuf.any_pb2 import Any
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from rummy.v1 import event_pb2 as pb_event
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.action_pb2 import Action
from rummy.v1.card_pb2 import Meld
from rummy.v1.event_pb2 import DealResult, EventBatch
from rummy.v1.game_pb2 import Game
from rummy.v1.replay_pb2 import Replay
from rummy.v1.view_pb2 import Options, View

from engine.events import Event
from engine.notation import write_cards
from engine.view import redact
from service.api.calls import Caller, Calls
from service.games import seen
from service.store.store import Store
from tests.e2e.clients import Client, Heard
from tests.e2e.here import served
from tests.e2e.players import DRAW, Match, Watcher, client_of, game_of, watching
from tests.e2e.sight import Sight
from tests.patience import patient

PEEPING: ContextVar[bool] = ContextVar("PEEPING", default=False)


@dataclass
class Told:
    """A match between two players, a spectator beside them, each of them over both fronts; and what may be seen."""

    sight: Sight
    clients: Sequence[Client]
    name: str

    def found(self) -> dict[str, list[str]]:
        """What is found to be too much, by front, and by whether it was streamed."""
        found: dict[str, list[str]] = {"grpc": [], "rest": [], "grpc stream": [], "rest stream": []}
        for client in self.clients:
            for kind, stream in (("", False), (" stream", True)):
                heard = [one for one in client.heard if isinstance(one.asked, pb.ObserveRequest) is stream]
                found[client.front + kind] += self.sight.too_much(heard)
        return found


async def played(redis_url: str) -> Told:
    """A match that was played and watched to its end, with a page of its events for everybody."""
    async with AsyncExitStack() as stack:
        here = await stack.enter_async_context(served(redis_url))
        clients = [await stack.enter_async_context(client_of(here, front)) for front in ("grpc", "rest") * 3]
        name = (await clients[0].create(game_of(2, deals=2, roundLimit=4, discardDraw="DISCARD_DRAW_NONE"))).name
        for player in clients[:2]:
            await player.join(name)
        tokens = [str(player.token) for player in clients[:2]]
        clients[2].token, clients[3].token = tokens[1], tokens[0]
        watchers: list[Watcher] = [await stack.enter_async_context(watching(client, name)) for client in clients]
        await Match(name, clients[:2]).play()
        for watcher, client in zip(watchers, clients, strict=True):
            await watcher.ended()
            await client.get(name)
            await client.events(name, after=1)
        replay = await clients[0].replay(name)
    store = await Store.connect(redis_url, patient())
    history = await store.history(name.removeprefix("games/"), 0, 1000)
    await store.close()
    assert history
    sight = Sight.of(replay, history.batches, {token: seat for seat, token in enumerate(tokens)})
    return Told(sight, clients, name)


@pytest.mark.parametrize("leak", ["none", "grpc", "rest", "grpc stream", "rest stream"])
async def test_a_front_that_redacts_nothing_is_found_out(
    redis_url: str, leak: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where answers or streams of one front show everybody every card, just these are found to tell too much."""

    def peeping(event: Event, seat: int | None) -> Event:
        return event if PEEPING.get() else redact(event, seat)

    async def unary(self: Calls, method: MethodDescriptor, request: Message, caller: Caller) -> Message:
        PEEPING.set(caller.front == leak)
        return await answer(self, method, request, caller)

    async def stream(
        self: Calls, method: MethodDescriptor, request: Message, caller: Caller
    ) -> AsyncGenerator[Message]:
        async with aclosing(answers(self, method, request, caller)) as told:
            while True:
                PEEPING.set(f"{caller.front} stream" == leak)  # each time: another task may ask for the next one
                if (message := await anext(told, None)) is None:
                    return
                yield message

    answer, answers = Calls.unary, Calls.stream
    monkeypatch.setattr(seen, "redact", peeping)
    monkeypatch.setattr(Calls, "unary", unary)
    monkeypatch.setattr(Calls, "stream", stream)
    found = (await played(redis_url)).found()
    lines = found.pop(leak, ["seat 0 seat 1 a spectator drew.cards of Event"])
    assert not any(found.values()), found
    assert all(any(word in line for line in lines) for word in ("seat 0", "seat 1", "a spectator", "drew.cards of"))


@dataclass
class Case:
    """A moment of a match: what seat 0 and a spectator saw of it, and a card of seat 1's."""

    sight: Sight
    game: Game
    hidden: str
    token: str

    def heard(self, answer: Message | None, asked: Message | None = None, *, data: bytes = b"") -> Heard:
        """What seat 0 would have heard with such an answer."""
        return Heard(data or (answer.SerializeToString() if answer else b""), self.token, asked, answer)

    def shown(self, **fields: object) -> Heard:
        """What seat 0 would have heard if its view had had these fields."""
        game = Game()
        game.CopyFrom(self.game)
        game.view.MergeFrom(View(**fields))  # type: ignore[arg-type]
        return self.heard(game, pb.GetGameRequest())

    def happened(self, **event: Message) -> pb.ObserveResponse:
        """A message of a stream with an event in place of the version's first one."""
        batch = EventBatch(version=self.game.version, events=[pb_event.Event(**event)])  # type: ignore[arg-type]
        return pb.ObserveResponse(batch=batch)

    def refused(self, text: str, **metadata: str) -> Heard:
        """What seat 0 would have heard if it had been refused like this."""
        info = Any()
        info.Pack(ErrorInfo(domain="rummyd", metadata=metadata))
        return self.heard(Status(message=text, details=[info]), pb.ActRequest(actions=[DRAW]))


@pytest.fixture(scope="module")
def case(redis_url: str) -> Case:
    """A match of which nothing was told that must not be, in its first turn."""
    told = asyncio.run(played(redis_url))
    sight, version = told.sight, min(told.sight.states)
    (game,) = {
        one.answer.snapshot.SerializeToString(deterministic=True)
        for one in told.clients[0].heard
        if isinstance(one.answer, pb.ObserveResponse) and one.answer.HasField("snapshot")
    }
    token = next(token for token, seat in sight.seats.items() if seat == 0)
    assert not told.found()["grpc"]
    hidden = write_cards(sight.states[version].hands[1][:1])
    return Case(sight, Game.FromString(game), hidden, token)


WAYS: dict[str, Callable[[Case], Heard]] = {
    "another's card in a hand": lambda case: case.shown(hand=[case.hidden]),
    "a card of one's own twice": lambda case: case.shown(hand=case.game.view.hand[:1]),
    "a pile deeper than its top": lambda case: case.shown(pile=[case.hidden]),
    "a meld that was not laid": lambda case: case.shown(melds=[Meld(cards=[case.hidden])]),
    "a card as owed": lambda case: case.shown(owed_card=case.hidden),
    "a discard in the options": lambda case: case.shown(options=Options(discard=[case.hidden])),
    "the hands of a deal under way": lambda case: case.shown(
        last_deal=DealResult(hands=[DealResult.Hand(cards=[case.hidden])])
    ),
    "a card in a table's name": lambda case: case.heard(Game(name=f"games/{case.hidden}")),
    "an event that shows more": lambda case: case.heard(
        case.happened(deal_started=pb_event.Event.DealStarted(hand=[case.hidden]))
    ),
    "a legal action of another": lambda case: case.heard(
        pb.ListLegalActionsResponse(
            version=case.game.version, actions=[Action(discard=Action.Discard(card=case.hidden))]
        )
    ),
    "a suggestion to another": lambda case: case.heard(
        pb.SuggestActionResponse(version=case.game.version, action=Action(discard=Action.Discard(card=case.hidden)))
    ),
    "a dry run that draws": lambda case: case.heard(
        pb.ActResponse(
            version=case.game.version,
            view=case.game.view,
            events=[pb_event.Event(drew=pb_event.Event.Drew(cards=[case.hidden]))],
        ),
        pb.ActRequest(actions=[DRAW], validate_only=True),
    ),
    "a refusal's text": lambda case: case.refused(f"seat 1 has {case.hidden}"),
    "a refusal's metadata": lambda case: case.refused("no", cards=case.hidden),
    "a header": lambda case: case.heard(None, data=f"x-hint: {case.hidden}".encode()),
    "a seed in a header": lambda case: case.heard(None, data=case.sight.replay.seeds[0].encode()),
    "a seed before its deal is over": lambda case: case.shown(last_deal=DealResult(seed=case.sight.replay.seeds[0])),
    "a part of a replay": lambda case: case.heard(Replay(moves=case.sight.replay.moves[:3])),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_of_telling_too_much_is_found(case: Case, way: str) -> None:
    """A card or a seed in any place that must not have it is found, be it only one, and nothing else is."""
    look = case.heard(case.game, pb.GetGameRequest())
    assert case.sight.too_much([look, look]) == []
    assert len(case.sight.too_much([look, WAYS[way](case), look])) == 1


def test_who_has_left_may_see_no_hand(case: Case) -> None:
    """From the version on with which a player left, his hand is too much even for his own token."""
    gone = replace(case.sight, left={0: case.game.version})
    (line,) = gone.too_much([case.heard(case.game, pb.GetGameRequest())])
    assert "in hand of View" in line


def test_a_refusal_may_name_what_is_known(case: Case) -> None:
    """What the caller has named himself, and what lies open, may stand in a refusal."""
    asked = pb.ActRequest(actions=[Action(discard=Action.Discard(card=case.hidden))])
    answer = case.refused(
        f"the hand does not hold {case.hidden}, nor JK; {case.game.view.pile[-1]} is on the pile"
    ).answer
    look = case.heard(case.game, pb.GetGameRequest())
    assert case.sight.too_much([look, case.heard(answer, asked), look]) == []
