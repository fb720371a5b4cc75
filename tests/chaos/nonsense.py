"""Random acts, most of them nonsense, as fast as they are answered: all are refused politely, or are legal."""

import asyncio
import random
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from os import getpid
from pathlib import Path
from time import monotonic
from typing import Final
from uuid import UUID

import uvloop
from google.protobuf.message import Message
from rummy.v1 import game_service_pb2 as pb

from engine.presets import PRESETS
from engine.state import State
from engine.status import status
from service.api.calls import Caller, Calls
from service.api.convert.actions import action_to
from service.api.errors import ApiError
from service.api.handlers import build_calls
from service.embedded import EmbeddedRedis
from service.games.desk import Desk
from service.observability import logs
from service.store.store import Store
from service.store.table import Phase, Table
from tests.chaos.churn import memory_of
from tests.chaos.scenarios import Figures, Scale
from tests.e2e.players import game_of
from tests.patience import patient
from tests.strategies import any_legal, some_action

PROCESSES: Final = 2
AT_ONCE: Final = 4
"""Tables at which a process plays at once."""
MOST_GROWTH: Final = 32 << 20
"""Bytes of memory that a process may take from the first fifth of its acts, or of its time, to the end."""
POLITE: Final = {
    "ABORTED",
    "ALREADY_EXISTS",
    "FAILED_PRECONDITION",
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "UNAUTHENTICATED",
}
METHODS: Final = pb.DESCRIPTOR.services_by_name["GameService"].methods_by_name


@dataclass
class Tally:
    """What a process has sent: how many acts were accepted, and how many refused, by reason; matches that ended."""

    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    tables: int = 0

    @property
    def acts(self) -> int:
        """All of them."""
        return self.accepted + self.refused.total()


async def random_acts(folder: Path, scale: Scale) -> Figures:
    """Each is refused for a reason, and changes nothing, or is legal and loses no card; memory stays within bounds."""
    loop = asyncio.get_running_loop()
    share = scale.nonsense // PROCESSES
    with EmbeddedRedis(folder / "redis") as redis, ProcessPoolExecutor(PROCESSES, get_context("spawn")) as pool:
        tallies = await asyncio.gather(
            *(loop.run_in_executor(pool, _work, redis.url, number, share, scale.most_s) for number in range(PROCESSES))
        )
    figures = Figures("Random acts, most of them nonsense")
    figures.other_acts = sum(tally.accepted for tally in tallies)
    figures.tables = sum(tally.tables for tally in tallies)
    reasons = Counter[str]()
    for tally in tallies:
        reasons += tally.refused
    figures.broken = {f"refused, for {len(reasons)} reasons": reasons.total()}
    return figures


def _work(url: str, number: int, acts: int, seconds: float) -> Tally:
    """One process's share."""
    logs.configure(json=True, level="error", instance="nonsense")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_send(url, random.Random(number), acts, seconds))  # noqa: S311  nonsense


async def _send(url: str, chance: random.Random, acts: int, seconds: float) -> Tally:
    store = await Store.connect(url, patient())
    desk, tally, early = Desk(store), Tally(), 0
    begun = monotonic()
    end = begun + seconds

    async def play_on() -> None:
        nonlocal early
        calls = build_calls(desk, heartbeat_s=60)
        while tally.acts < acts and monotonic() < end:
            table = Player(desk, calls, random.Random(chance.random()), tally)  # noqa: S311
            await table.sit_down()
            while tally.acts < acts and monotonic() < end and await table.act():
                if not early and (tally.acts >= acts // 5 or monotonic() >= begun + seconds / 5):
                    early = memory_of(getpid())

    await asyncio.gather(*(play_on() for _ in range(AT_ONCE)))
    await store.close()
    assert early, "the memory that acts took was not read"
    grown = memory_of(getpid()) - early
    assert grown < MOST_GROWTH, f"memory grew by {grown:,} bytes"
    return tally


@dataclass
class Player:
    """Who sits in every seat of a table, and sends what comes to mind."""

    desk: Desk
    calls: Calls
    chance: random.Random
    tally: Tally
    name: str = ""
    tokens: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    """Request ids."""

    async def sit_down(self) -> None:
        """Opens a table of any game."""
        preset = self.chance.choice(list(PRESETS))
        game = game_of(self.chance.randint(2, 4), preset, deals=1)
        created = await self._ask("CreateGame", pb.CreateGameRequest(game=game))
        self.name = created.name  # type: ignore[attr-defined]
        for _ in range(game.seat_count):
            joined = await self._ask("JoinGame", pb.JoinGameRequest(name=self.name, display_name="x"))
            self.tokens.append(joined.token)  # type: ignore[attr-defined]
        self.tally.tables += 1

    async def act(self) -> bool:
        """Sends an act; whether the match goes on."""
        before = self._table()
        assert before.match is not None
        seat = before.match.turn if self.chance.random() < 0.8 else self.chance.randrange(len(self.tokens))
        token = self.tokens[seat] if self.chance.random() < 0.98 else "nonsense"
        refused: ApiError | None = None
        try:
            await self._ask("Act", self._request(before, before.match, seat), token)
        except ApiError as error:
            refused = error
        after = self._table()
        if refused is not None:
            assert refused.code_name in POLITE, refused
            assert after == before, f"what was refused ({refused}) has changed the table"
            self.tally.refused[refused.reason] += 1
        else:
            assert after.match is not None
            assert not (wrong := status(after.match)), wrong
            self.tally.accepted += 1
        return after.phase is Phase.PLAYING

    def _request(self, table: Table, match: State, seat: int) -> pb.ActRequest:
        chance = self.chance
        if chance.random() < 0.15:
            actions = [any_legal(match, chance)]
        else:
            actions = [some_action(match, seat, chance) for _ in range(chance.choice([1, 1, 1, 2, 5]))]
        request = pb.ActRequest(name=self.name, actions=map(action_to, actions), validate_only=chance.random() < 0.1)
        if chance.random() < 0.5:
            request.expected_version = table.version if chance.random() < 0.8 else chance.randrange(1000)
        if chance.random() < 0.5:
            if self.sent and chance.random() < 0.1:
                request.request_id = chance.choice(self.sent)
            else:
                request.request_id = str(UUID(int=chance.getrandbits(128), version=4))
                self.sent = [*self.sent[-20:], request.request_id]
        return request

    async def _ask(self, method: str, request: Message, token: str | None = None) -> Message:
        return await self.calls.unary(METHODS[method], request, Caller(token, "nonsense", "chaos"))

    def _table(self) -> Table:
        """The table that was seen last: a refusal has looked at the stored one."""
        table = self.desk.last_seen.get(self.name.removeprefix("games/"))
        assert table is not None
        return table
