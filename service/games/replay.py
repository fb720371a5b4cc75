"""The replay of a finished match."""

import asyncio

from engine.replay import Replay, recorded
from engine.state import State
from service.games.change import load
from service.games.desk import Desk
from service.games.errors import GameError, GameReason
from service.games.play import SEED_LINE
from service.games.tokens import onlooker_of
from service.store.table import Phase

__all__ = ["get_replay"]


async def get_replay(desk: Desk, game: str, token: str | None) -> Replay:
    """All that is needed to play a finished match again (G5): every card that was hidden is open in it.

    Raises GAME_NOT_FOUND, TOKEN_INVALID, GAME_NOT_OVER where the match was not played to its end, and without a token
    SPECTATORS_NOT_ALLOWED where the table keeps spectators away.
    """
    table = await load(desk, game)
    onlooker_of(table, token)
    if table.phase is not Phase.FINISHED or table.match is None:
        text = f"the match has not been played to its end: it is {table.phase}"
        raise GameError(GameReason.GAME_NOT_OVER, text, {"state": table.phase})
    key = f"{game}/{table.epoch}"  # a finished match never changes
    async with desk.replaying:
        replay = desk.replays.get(key) or await _made(desk, game, table.match)
        desk.replays.put(key, replay)
    return replay


async def _made(desk: Desk, game: str, match: State) -> Replay:
    """The replay, out of the game's record. The whole match is played again: other calls go on meanwhile."""
    lines = await desk.store.record(game)
    seeds = [bytes.fromhex(line.removeprefix(SEED_LINE)) for line in lines if line.startswith(SEED_LINE)]
    moves = [line for line in lines if not line.startswith(SEED_LINE)]
    return await asyncio.to_thread(recorded, match.rules, len(match.hands), seeds, moves, match.entropy)
