"""Looking at tables."""

from dataclasses import dataclass

from service.games.change import load
from service.games.desk import Desk
from service.games.seen import SeenTable, see
from service.games.tokens import viewer_of

__all__ = ["OpenTables", "get", "list_open"]


@dataclass(frozen=True, slots=True)
class OpenTables:
    """A page of open tables, newest first, and the cursor of the next page (empty: the last one)."""

    tables: tuple[SeenTable, ...]
    next_cursor: str


async def get(desk: Desk, game: str, token: str | None) -> SeenTable:
    """The table as the token's seat, or a spectator, sees it. Raises TOKEN_INVALID, GAME_NOT_FOUND."""
    table = await load(desk, game)
    return see(desk, table, viewer_of(table, token))


async def list_open(desk: Desk, *, size: int, cursor: str) -> OpenTables:
    """The tables that wait for players. Raises the store's BadCursor."""
    page = await desk.store.open_tables(size, cursor)
    return OpenTables(tuple(see(desk, table, None) for table in page.tables), page.cursor)
