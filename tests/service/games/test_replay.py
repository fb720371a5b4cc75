"""The replay of a finished match: whole, true and not before the end."""

import asyncio
import hashlib

import msgspec
import pytest

from engine.replay import failures, read_replay
from service.games.desk import Desk
from service.games.errors import GameError
from service.games.read import get
from service.games.replay import get_replay
from service.games.seats import join, leave
from tests.service.games.tables import opened, playing


@pytest.mark.parametrize("preset", ["basic", "rummy500", "pool500", "pool500-cutthroat"])
async def test_a_finished_match_can_be_played_again(desk: Desk, preset: str) -> None:
    """The document holds all of the match: played again it comes to the same events and scores."""
    match = await playing(desk, 3, preset, deals=3)
    await match.to_the_end()
    replay = read_replay(msgspec.json.encode(await get_replay(desk, match.game, None)))
    assert failures(replay) == []
    view = (await get(desk, match.game, None)).view
    assert view is not None
    assert replay.scores == tuple(seat.score for seat in view.seats)


async def test_moves_of_a_stand_in_are_in_the_replay(desk: Desk) -> None:
    """What was played for a player who left stands in the replay like any other move."""
    match = await playing(desk, 3, deals=2)
    await leave(desk, match.game, match.tokens[1], request_id="")
    await match.to_the_end()
    replay = await get_replay(desk, match.game, None)
    assert failures(replay) == []
    assert any(move.startswith("1 ") for move in replay.moves)


async def test_players_add_to_the_shuffle(desk: Desk) -> None:
    """The seats' texts are shown, hashed into every shuffle, and stand in the replay, which holds with them alone."""
    game = (await opened(desk, 2, deals=1)).game
    for text in ("mine", ""):
        await join(desk, game, display_name="P", seat=None, entropy=text, request_id="")
    seen = await get(desk, game, None)
    assert [seat.entropy for seat in seen.seats] == ["mine", ""]
    assert seen.entropy == hashlib.sha256(b"mine\n\n").digest()


async def test_there_is_no_replay_before_the_end(desk: Desk) -> None:
    """A match that waits, goes on or was given up has no replay: it would open hidden cards."""
    for game in ((await opened(desk)).game, (await playing(desk)).game):
        with pytest.raises(GameError, match="GAME_NOT_OVER"):
            await get_replay(desk, game, None)
    match = await playing(desk)
    for token in match.tokens:
        await leave(desk, match.game, token, request_id="")
    with pytest.raises(GameError, match="GAME_NOT_OVER"):
        await get_replay(desk, match.game, None)


async def test_a_replay_is_made_once(desk: Desk) -> None:
    """Whoever asks for a replay again is given what was made, and many who ask at once have it made once."""
    match = await playing(desk, deals=1)
    await match.to_the_end()
    first, *others = await asyncio.gather(*(get_replay(desk, match.game, None) for _ in range(5)))
    assert all(other is first for other in others)
    assert await get_replay(desk, match.game, None) is first
