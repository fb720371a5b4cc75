"""What can go wrong in the store.

StoreError
├── BadAddress         the address of the server is not one
├── ServerTooOld       the server is of a release before Redis 7.0
├── StoreUnavailable   the server cannot be reached, or refuses to work, at the moment: try again
├── BadCursor          the cursor of a listing is none that a listing gave
├── NewerTable         a newer release has written this; this one must not touch it
├── BadRecord          what is stored is not what this product writes
└── WatchEnded         a watch of a game cannot go on
    ├── FellBehind     its reader was too slow: resume after the last version it was given
    ├── HistoryLost    versions that it has not seen are no longer kept, or one that it has seen is no more, since
    │                  Redis has failed over without it: begin again from the table
    └── GameGone       the game does not exist, or no longer
"""

__all__ = [
    "BadAddress",
    "BadCursor",
    "BadRecord",
    "FellBehind",
    "GameGone",
    "HistoryLost",
    "NewerTable",
    "ServerTooOld",
    "StoreError",
    "StoreUnavailable",
    "WatchEnded",
]


class StoreError(Exception):
    """The store could not do what it was asked for."""


class BadAddress(StoreError):
    """The address of the server is not one; the text never repeats it, since it may hold a password."""


class ServerTooOld(StoreError):
    """The server is of a release before Redis 7.0."""

    def __init__(self, version: str) -> None:
        super().__init__(f"Redis 7.0 or newer is needed (or Valkey), and the server is {version}")
        self.version = version


class StoreUnavailable(StoreError):
    """The server cannot be reached, or refuses to work, at the moment. What was asked may or may not have been done."""


class BadCursor(StoreError):
    """The cursor of a listing is none that a listing gave."""

    def __init__(self, cursor: str) -> None:
        super().__init__(f"not a cursor of this listing: {cursor!r}")


class NewerTable(StoreError):
    """A newer release has written this table, or a batch of it, in a form that this one does not know."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(f"the record has schema {found}, and this release knows none above {known}")
        self.found = found
        self.known = known


class BadRecord(StoreError):
    """What is stored is not what this product writes."""


class WatchEnded(StoreError):
    """A watch of a game cannot go on."""


class FellBehind(WatchEnded):
    """The reader took its batches too slowly. It has been given all up to `last_version`: a new watch resumes there."""

    def __init__(self, last_version: int) -> None:
        super().__init__(f"too slow a reader: resume after version {last_version}")
        self.last_version = last_version


class HistoryLost(WatchEnded):
    """What is kept does not follow `last_version`: it was trimmed, or that version was lost. Begin from the table."""

    def __init__(self, last_version: int) -> None:
        super().__init__(f"what is kept does not follow version {last_version}: begin again from the table")
        self.last_version = last_version


class GameGone(WatchEnded):
    """The game does not exist, or no longer."""

    def __init__(self, game: str) -> None:
        super().__init__(f"there is no game {game!r}")
        self.game = game
