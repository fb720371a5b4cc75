"""Looking at tables."""

from dataclasses import dataclass

from service.games.change import load
from service.games.codes import read_code
from service.games.desk import Desk
from service.games.errors import GameError, GameReason
from service.games.rematch import rematch_of
from service.games.seen import SeenTable, see
from service.games.tokens import viewer_of

__all__ = ["OpenTables", "find", "get", "list_open"]


@dataclass(frozen=True, slots=True)
class OpenTables:
    """A page of open tables, newest first, and the cursor of the next page (empty: the last one)."""

    tables: tuple[SeenTable, ...]
    next_cursor: str


async def get(desk: Desk, game: str, token: str | None) -> SeenTable:
    """The table as the token's seat, or a spectator, sees it. Raises TOKEN_INVALID, GAME_NOT_FOUND."""
    table = await load(desk, game)
    viewer = viewer_of(table, token)
    return see(desk, table, viewer, rematch=await rematch_of(desk, table, viewer))


async def find(desk: Desk, typed: str) -> SeenTable:
    """The private table whose code somebody has typed, as a spectator sees it. Raises CODE_NOT_FOUND."""
    code = read_code(typed)
    game = await desk.store.find(code)
    loaded = await desk.store.load(game) if game is not None else None
    if loaded is None or loaded.table.code != code:
        raise GameError(GameReason.CODE_NOT_FOUND, "no table has this code, or no longer")
    return see(desk, loaded.table, None)


async def list_open(desk: Desk, *, size: int, cursor: str, preset: str = "", seat_count: int = 0) -> OpenTables:
    """The public tables that wait for players, of any preset (empty) and number of seats (0), or of those alone.

    Raises the store's BadCursor.
    """
    page = await desk.store.open_tables(size, cursor, preset=preset, seat_count=seat_count)
    return OpenTables(tuple(see(desk, table, None) for table in page.tables), page.cursor)
