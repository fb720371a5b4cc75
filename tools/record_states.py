"""Record what Redis holds of tables of every game, for tests/states: `python -m tools.record_states`, at each release.

Each preset has a table that waits for players, one in the midst of a match with clocks, a bot and a player who is away,
and one that is over. They are kept for ever, in a folder for each schema: every later release must read them and play
them to their ends. What is there already is left alone.
"""

import asyncio
import json
import random
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import redis
from msgspec.structs import replace

from engine.presets import PRESETS
from service.embedded import EmbeddedRedis
from service.games.act import act
from service.games.change import load
from service.games.create import create
from service.games.desk import Desk
from service.games.opening import Wanted
from service.games.players import bots_action
from service.games.seats import add_bot, join
from service.games.tick import tick
from service.store.keys import Keys
from service.store.store import Options, Store
from service.store.table import SCHEMA, Phase, Table, TurnLimit

FOLDER: Final = Path(__file__).resolve().parent.parent / "tests" / "states"
LIMIT: Final = TurnLimit(turn_ms=30_000, bank_ms=60_000, misses=2)
TRIES: Final = 100
ANN, BO = 0, 2
"""The seats of the players; a bot sits between them."""


class Clock:
    """The time, as it is set, in ms since 1970."""

    now: int = 1_800_000_000_000

    def __call__(self) -> int:
        """It."""
        return self.now


@dataclass
class Recorder:
    """One game, played at one table after the other."""

    desk: Desk
    clock: Clock
    preset: str
    chance: random.Random

    async def waiting(self) -> tuple[str, list[str]]:
        """A table at which Ann and a bot wait for somebody; its id, and the tokens of the players."""
        game, ann = await self._opened(deals=2)
        return game, [ann]

    async def under_way(self) -> tuple[str, list[str]]:
        """A match in its second deal, Ann in the midst of her turn. Bo has missed two turns, and is away."""
        for _ in range(TRIES):
            game, ann = await self._opened(deals=2)
            bo = await self._joined(game, "Bo")
            while (table := await load(self.desk, game)).phase is Phase.PLAYING:
                if _midst(table):
                    return game, [ann, bo]
                await self._go_on(table, ann)
        raise RuntimeError(f"no match of {self.preset} came so far")

    async def over(self) -> tuple[str, list[str]]:
        """A match that has been played to its end."""
        game, ann = await self._opened(deals=1)
        bo = await self._joined(game, "Bo")
        while (table := await load(self.desk, game)).phase is Phase.PLAYING:
            await self._go_on(table, ann)
        return game, [ann, bo]

    async def _opened(self, deals: int) -> tuple[str, str]:
        rules = replace(PRESETS[self.preset], deals=deals)
        wanted = Wanted(preset=self.preset, rules=rules, seat_count=3, display_name="Kitchen", limit=LIMIT)
        table = await create(self.desk, wanted, request_id=self._new_id())
        ann = await self._joined(table.game, "Ann")
        await add_bot(self.desk, table.game, ann, display_name="", seat=None, request_id=self._new_id())
        return table.game, ann

    async def _joined(self, game: str, name: str) -> str:
        joined = await join(
            self.desk, game, display_name=name, seat=None, entropy=f"{name}'s luck", request_id=self._new_id()
        )
        return joined.token

    async def _go_on(self, table: Table, ann: str) -> None:
        """Ann acts; of everybody else the time passes."""
        if table.match is not None and table.match.turn == ANN:
            self.clock.now += 1000
            action = bots_action(table.match)
            await act(self.desk, table.game, ann, [action], request_id=self._new_id(), expected_version=table.version)
        elif table.clock is not None:
            self.clock.now = table.clock.due_ms
            await tick(self.desk, table.game)

    def _new_id(self) -> str:
        return str(UUID(int=self.chance.getrandbits(128), version=4))


def _midst(table: Table) -> bool:
    match = table.match
    return match is not None and match.deal == 2 and match.round >= 2 and match.turn == ANN and table.seats[BO].away


def kept(client: Any, game: str, tokens: Sequence[str]) -> dict[str, object]:
    """What Redis holds of a game, as JSON has it: bytes in base 64, and by when something falls due."""
    keys = Keys(Options().namespace).of(game)
    due = client.zscore(keys.due, game)
    return {
        "id": game,
        "tokens": tokens,
        "game": {name.decode(): _text(value) for name, value in client.hgetall(keys.game).items()},
        "history": [[entry.decode(), _text(fields[b"batch"])] for entry, fields in client.xrange(keys.history)],
        "record": [line.decode() for line in client.lrange(keys.record, 0, -1)],
        "open": next((name.decode() for name in client.zrange(keys.open, 0, -1) if name.endswith(game.encode())), None),
        "due_ms": None if due is None else int(due),
    }


def _text(data: bytes) -> str:
    return b64encode(data).decode()


async def record(url: str, folder: Path) -> None:
    """Play at a table of each kind and each preset, and write what is stored of it."""
    store = await Store.connect(url)
    with redis.Redis.from_url(url) as client:
        for preset in PRESETS:
            chance, clock = random.Random(preset), Clock()  # noqa: S311  to be recorded, not to be kept secret
            recorder = Recorder(Desk(store, clock, chance.randbytes), clock, preset, chance)
            for stage in (recorder.waiting, recorder.under_way, recorder.over):
                game, tokens = await stage()
                text = json.dumps(kept(client, game, tokens), indent=1, sort_keys=True)
                (folder / f"{preset}-{stage.__name__}.json").write_text(text + "\n")
    await store.close()


def main() -> None:
    """Record them for the schema of now, unless that has been done."""
    folder = FOLDER / f"schema-{SCHEMA}"
    if folder.exists():
        print(f"{folder} is there already")
        return
    folder.mkdir(parents=True)
    with EmbeddedRedis() as server:
        asyncio.run(record(server.url, folder))


if __name__ == "__main__":
    main()
