"""Tables as this and older releases have stored them (`tools/record_states.py`) are read, and played to their ends."""

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from engine.replay import replayed
from engine.status import status
from service.games.act import act
from service.games.desk import Desk
from service.games.players import bots_action
from service.games.replay import get_replay
from service.games.seats import join
from service.games.seen import SeenBatch
from service.games.tick import tick
from service.store.keys import shard_of
from service.store.outcome import Request
from service.store.table import SCHEMA, Phase
from tests import servers
from tests.service.games.tables import Clock, stored, watched

FOLDER = Path(__file__).parents[2] / "states"
FILES = sorted(FOLDER.glob("*/*.json"))
every_state = pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")


def put_back(url: str, desk: Desk, path: Path) -> dict[str, Any]:
    """Has Redis hold of a game what it held when it was recorded."""
    kept: dict[str, Any] = json.loads(path.read_text())
    keys = desk.store._keys.of(kept["id"])
    with servers.client(url) as client:
        commands: Any = client
        commands.hset(keys.game, mapping={name: b64decode(value) for name, value in kept["game"].items()})
        for entry, data in kept["history"]:
            commands.xadd(keys.history, {"batch": b64decode(data)}, id=entry)
        if kept["record"]:
            commands.rpush(keys.record, *kept["record"])
        if kept["open"]:
            commands.zadd(keys.open, {kept["open"]: 0})
        if kept["due_ms"]:
            commands.zadd(keys.due, {kept["id"]: kept["due_ms"]})
    return kept


async def play_on(desk: Desk, clock: Clock, game: str, tokens: list[str]) -> None:
    """Plays a match to its end: players act, and of bots and those who are away the time passes."""
    for _ in range(2000):
        table = await stored(desk, game)
        if table.phase is not Phase.PLAYING:
            return
        assert table.match is not None
        if table.seats[table.match.turn].present:
            token = tokens[0] if table.match.turn == 0 else tokens[-1]
            action = bots_action(table.match)
            await act(desk, game, token, [action], request_id="", expected_version=table.version)
        else:
            assert table.clock is not None
            clock.now = table.clock.due_ms
            await tick(desk, game)
    raise AssertionError("the match did not end")


def test_every_form_is_kept() -> None:
    """Tables of three kinds are kept of every game and form; none is of a form that is still to come."""
    forms = {int(path.parent.name.removeprefix("schema-")) for path in FILES}
    assert forms
    assert max(forms) <= SCHEMA
    assert len(FILES) == len(forms) * 3 * 5


@every_state
async def test_a_stored_table_is_played_to_its_end(desk: Desk, clock: Clock, redis_url: str, path: Path) -> None:
    """Whatever release has stored it: who waits is joined, the match goes on to its end, and its replay holds."""
    kept = put_back(redis_url, desk, path)
    game, tokens = kept["id"], kept["tokens"]
    before = await stored(desk, game)
    clock.now = max(clock.now, before.updated_ms)
    if path.stem.endswith("waiting"):
        assert [table.game for table in (await desk.store.open_tables(10)).tables] == [game]
        tokens.append((await join(desk, game, display_name="Bo", seat=None, request_id="")).token)
    await play_on(desk, clock, game, tokens)
    after = await stored(desk, game)
    assert after.phase is Phase.FINISHED
    states = [step.state for step in replayed(await get_replay(desk, game, tokens[0]))]
    assert states[-1] == after.match
    assert not [wrong for state in states for wrong in status(state)]
    assert after.version == before.version or (after.schema, len(after.mark)) == (SCHEMA, 8)
    items = await watched(desk, game, tokens[0], after=1)
    assert [item.version for item in items if isinstance(item, SeenBatch)] == list(range(2, after.version + 1))


@every_state
async def test_what_was_answered_then_is_answered_still(desk: Desk, redis_url: str, path: Path) -> None:
    """A request that a release has answered is known to every later one, with the version that it made."""
    kept = put_back(redis_url, desk, path)
    requests = {name.removeprefix("request:"): b64decode(value) for name, value in kept["game"].items() if ":" in name}
    assert requests
    for key, value in requests.items():
        version, _, fingerprint = value.partition(b":")
        loaded = await desk.store.load(kept["id"], Request(key, fingerprint))
        assert loaded is not None
        assert loaded.answered is not None
        assert (loaded.answered.version, loaded.answered.same_payload) == (int(version), True)


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.stem.endswith("under_way")], ids=lambda path: path.stem
)
async def test_what_fell_due_then_is_found(desk: Desk, redis_url: str, path: Path) -> None:
    """The time of a turn that began under another release runs out, and the seat is played for."""
    kept = put_back(redis_url, desk, path)
    before = await stored(desk, kept["id"])
    assert before.clock is not None
    due_ms = before.clock.due_ms
    assert (await desk.store.look(shard_of(kept["id"]), due_ms - 1, 10)).games == ()
    assert (await desk.store.look(shard_of(kept["id"]), due_ms, 10)).games == (kept["id"],)
