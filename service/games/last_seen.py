"""The table last seen of each game, so that the usual act costs one round trip to the store.

It may be out of date: whatever is decided on it is written only if the store still has that version, and no refusal is
answered from it.
"""

from service.recent import Recent
from service.store.table import Table

__all__ = ["LastSeen"]


class LastSeen:
    """The table last seen of each of the `size` games touched last."""

    def __init__(self, size: int = 4096) -> None:
        self._tables = Recent[str, Table](size)

    def get(self, game: str) -> Table | None:
        """The table last seen of the game, if it is remembered."""
        return self._tables.get(game)

    def put(self, table: Table) -> None:
        """Remembers a table that the store has confirmed."""
        self._tables.put(table.game, table)

    def forget(self, game: str) -> None:
        """Forgets a game."""
        self._tables.forget(game)
