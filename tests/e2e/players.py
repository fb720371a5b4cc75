"""Players, who play a match to its end by what the API tells them; and watchers, who keep what they are told.

async with AsyncExitStack() as stack:
    match = await sit_down(stack, server, game_of(4, "basic", jokers=2), ["grpc", "rest"])
    watcher = await stack.enter_async_context(watching(SpectatorClient, match.name))
    await match.play()
    await watcher.ended()
"""

import asyncio
import random
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from google.protobuf import json_format
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.action_pb2 import Action
from rummy.v1.event_pb2 import EventBatch
from rummy.v1.game_pb2 import Game
from rummy.v1.view_pb2 import View

from tests.e2e.clients import Client, Failure, GrpcClient, LostError, RestClient
from tests.e2e.live import LONGEST_S, Listening

DRAW = Action(draw=Action.Draw())
MOST_ACTS = 5000


def client_of(server: Listening, front: str) -> Client:
    """A client over `grpc` or `rest`."""
    return GrpcClient(server) if front == "grpc" else RestClient(server)


def game_of(seats: int, preset: str = "basic", **overrides: object) -> Game:
    """A table to create: a preset with some fields overridden, as in JSON."""
    game = Game(seat_count=seats)
    json_format.ParseDict({"preset": preset, **overrides}, game.rule_set)
    return game


def new_id() -> str:
    """A request id."""
    return str(uuid.uuid4())


@dataclass
class Match:
    """A table whose seats are all taken. `acts` holds each answer of Act with the seat that it is for, in order."""

    name: str
    players: Sequence[Client]
    chance: random.Random = field(default_factory=lambda: random.Random(1))  # noqa: S311  a player
    acts: list[tuple[int, pb.ActResponse]] = field(default_factory=list)

    async def play(self, most: int = MOST_ACTS) -> View:
        """Plays until the match is over, or `most` actions, and gives the last view that a player has seen."""
        view = (await self.players[0].get(self.name)).view
        for _ in range(most):
            if not view.HasField("turn"):
                break
            view = await self.act(view)
        return view

    async def act(self, view: View) -> View:
        """Has the seat to move act on what it sees, and gives the view that follows."""
        player = self.players[view.turn]
        if not view.HasField("options"):
            view = (await player.get(self.name)).view
        actions = [await self._choose(player, view)]
        if actions[0].HasField("lay_down") and self.chance.random() < 0.5:
            actions += await self._discard_after(player, view, actions[0])
        acted = await player.act(self.name, actions, request_id=new_id(), expected_version=view.version)
        self.acts.append((view.turn, acted))
        return acted.view

    async def _discard_after(self, player: Client, view: View, lay: Action) -> list[Action]:
        """A discard to send along with a lay, where a dry run says that both together are allowed; else nothing."""
        left = list((Counter(view.hand) - Counter(lay.lay_down.cards)).elements())
        if not left:
            return []
        discard = Action(discard=Action.Discard(card=max(left, key=_dearness)))
        try:
            await player.act(self.name, [lay, discard], expected_version=view.version, validate_only=True)
        except Failure as failure:
            if failure.metadata.get("action") != "1":
                raise  # the lay itself was listed as legal
            return []
        return [discard]

    async def _choose(self, player: Client, view: View) -> Action:
        """Draws, mostly; lays what can be laid; else discards the dearest card."""
        options = view.options
        if options.take and (not options.draw or self.chance.random() < 0.3):
            return Action(take=Action.Take(count=self.chance.choice(options.take)))
        if options.draw:
            return DRAW
        if options.discard and not (options.lay_down or options.lay_off or options.swap_joker):
            return Action(discard=Action.Discard(card=max(options.discard, key=_dearness)))
        # What the summary has no room for, such as several cards that only together can be laid off, is in the list.
        legal = (await player.legal(self.name)).actions
        lays = [action for action in legal if action.WhichOneof("action") in {"lay_down", "lay_off", "swap_joker"}]
        # There is none where a clock was faster: whatever is sent then is refused.
        return self.chance.choice(lays or list(legal) or [DRAW])


def _dearness(card: str) -> int:
    return -1 if card == "JK" else "A23456789TJQK".index(card[0])


async def sit_down(stack: AsyncExitStack, server: Listening, game: Game, fronts: Sequence[str]) -> Match:
    """A new table with a player at each seat, over the fronts in turn."""
    players = []
    for seat in range(game.seat_count):
        player = client_of(server, fronts[seat % len(fronts)])
        players.append(await stack.enter_async_context(player))
    name = (await players[0].create(game)).name
    for seat, player in enumerate(players):
        joined = await player.join(name, f"Player {seat}")
        assert joined.seat == seat
    return Match(name, players)


class Watcher:
    """Follows a table in a task of its own, to the end of its match.

    `batches` is what it was told, without gap or duplicate; `snapshots` the tables that it was shown instead. One that
    is `patient` comes back where it was when it has lost its stream.
    """

    def __init__(self, client: Client, name: str, *, after: int = 0, patient: bool = False) -> None:
        self.client = client
        self.snapshots: list[Game] = []
        self.batches: list[EventBatch] = []
        self.resumed = 0
        self._heard = asyncio.Event()
        self._name = name
        self._after = after
        self._patient = patient
        self._task = asyncio.create_task(self._follow())

    @property
    def version(self) -> int:
        """The last version that it was told of."""
        return self.batches[-1].version if self.batches else self.snapshots[-1].version if self.snapshots else 0

    async def ended(self) -> None:
        """Waits for the end of its stream. Raises what the stream ended with, if not with OK."""
        async with asyncio.timeout(LONGEST_S):
            await self._task

    async def told(self) -> None:
        """Waits for another message. Raises what the stream ended with instead."""
        self._heard.clear()
        await self.begun()

    async def begun(self) -> None:
        """Waits for the first message. Raises what the stream ended with instead."""
        heard = asyncio.create_task(self._heard.wait())
        async with asyncio.timeout(LONGEST_S):
            await asyncio.wait([heard, self._task], return_when=asyncio.FIRST_COMPLETED)
        if not heard.done():
            heard.cancel()
            await self._task
            raise AssertionError("the stream has ended")

    async def stop(self) -> None:
        """Hangs up."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _follow(self) -> None:
        while True:
            try:
                async with self.client.observe(self._name, after=self.version or self._after) as stream:
                    async for message in stream:
                        self._take(message)
                return
            except (LostError, Failure) as error:
                if not self._patient or (isinstance(error, Failure) and error.code not in {"UNAVAILABLE", "ABORTED"}):
                    raise
                self.resumed += 1
            await asyncio.sleep(0.05)

    def _take(self, message: pb.ObserveResponse) -> None:
        match message.WhichOneof("message"):
            case "snapshot":
                self.snapshots.append(message.snapshot)
            case "batch":
                assert self.version in (0, message.batch.version - 1), "a gap, or something twice"
                self.batches.append(message.batch)
        self._heard.set()


@asynccontextmanager
async def watching(client: Client, name: str, *, after: int = 0, patient: bool = False) -> AsyncIterator[Watcher]:
    """A watcher whose stream has begun."""
    watcher = Watcher(client, name, after=after, patient=patient)
    try:
        await watcher.begun()
        yield watcher
    finally:
        await watcher.stop()
