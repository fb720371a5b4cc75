"""A seat at once: at an open table that is like the one asked for, or at a new one.

However many ask at the same time, on however many servers, they fill one table after the other: those who find none
open agree on the one to create. And each gets one seat, though its retry does not know at which table: the table is
chosen under the request id before the seat is taken, and another is chosen only when that one has refused for good.
"""

from typing import Final

from service.games.desk import Desk
from service.games.errors import GameError, GameReason
from service.games.opening import Permit, Wanted, likeness_of, must_be_playable, new_id, put_up
from service.games.retries import request_of, reused
from service.games.seats import Joined, join
from service.store.outcome import Chosen, Request
from service.store.table import Phase, Table

__all__ = ["quick_join"]

_TRIES: Final = 64
"""Each failed try means that others have filled a table."""

_FINAL: Final = frozenset({GameReason.GAME_NOT_OPEN, GameReason.GAME_NOT_FOUND})
"""Refusals that a table never takes back: an open one has a free seat, and one that has begun is not open again."""


async def quick_join(
    desk: Desk,
    wanted: Wanted,
    *,
    display_name: str,
    entropy: str = "",
    request_id: str,
    permit: Permit | None = None,
) -> Joined:
    """Takes a seat at an open public table like this one, the fullest, then the oldest, or else at a new one.

    A retry gives the same seat and token, as that of `join` does, for as long as that table exists and a match is kept;
    a later one takes another seat. Raises BadRules, REQUEST_ID_REUSED, TOKEN_INVALID if the seat was left since,
    CONTENTION, and what `permit` raises, which is asked before a table is made.
    """
    must_be_playable(wanted)
    request = request_of("quick_join", request_id, wanted, display_name, entropy)
    likeness, refused = likeness_of(wanted), ""
    async with desk.queues.turn(likeness):  # else a crowd would run from each table that is full to the next, together
        for _ in range(_TRIES):
            game = await _choose(desk, wanted, likeness, request, refused, permit)
            try:
                return await join(
                    desk, game, display_name=display_name, seat=None, entropy=entropy, request_id=request_id
                )
            except GameError as error:
                if error.reason in _FINAL:
                    refused = game
                elif error.reason is not GameReason.CONTENTION:
                    raise
    raise GameError(GameReason.CONTENTION, f"{_TRIES} tables were full before a seat was had; try again")


async def _choose(  # noqa: PLR0917
    desk: Desk, wanted: Wanted, likeness: str, request: Request | None, refused: str, permit: Permit | None
) -> str:
    """The game at which the request takes its seat: the one chosen already, if it has not refused."""
    if request is None:
        return await _open_table(desk, wanted, likeness, permit)
    chosen = await desk.store.chosen(request)
    if chosen is None or _game_of(chosen) == refused:
        chosen = await desk.store.choose(request, await _open_table(desk, wanted, likeness, permit), instead_of=refused)
    return _game_of(chosen)


def _game_of(chosen: Chosen) -> str:
    if not chosen.same_payload:
        raise reused()
    return chosen.game


async def _open_table(desk: Desk, wanted: Wanted, likeness: str, permit: Permit | None) -> str:
    """The game of an open table like this one, which is created where there is none."""
    found = await desk.store.fullest_alike(likeness)
    full = ""
    while found is None:
        game = await desk.store.next_alike(likeness, new_id(desk), instead_of=full)
        if isinstance(await put_up(desk, game, wanted, permit=permit), Table) or await _is_open(desk, game):
            found = game
        full = game
    return found


async def _is_open(desk: Desk, game: str) -> bool:
    loaded = await desk.store.load(game)
    return loaded is not None and loaded.table.phase is Phase.OPEN
