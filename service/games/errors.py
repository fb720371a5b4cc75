"""Why a use case refuses, apart from the rules of the game (`engine.errors`).

    GameError(GameReason.…, text, metadata)

The reasons are among those of `rummy.v1.ErrorReason`.
"""

from collections.abc import Mapping
from enum import StrEnum

__all__ = ["GameError", "GameReason"]


class GameReason(StrEnum):
    """What stands in the way of a use case."""

    GAME_NOT_FOUND = "GAME_NOT_FOUND"
    CODE_NOT_FOUND = "CODE_NOT_FOUND"
    GAME_NOT_OPEN = "GAME_NOT_OPEN"
    GAME_NOT_STARTED = "GAME_NOT_STARTED"
    GAME_NOT_OVER = "GAME_NOT_OVER"
    GAME_OVER = "GAME_OVER"
    SEAT_TAKEN = "SEAT_TAKEN"
    TOO_FEW_PLAYERS = "TOO_FEW_PLAYERS"
    TOKEN_REQUIRED = "TOKEN_REQUIRED"  # noqa: S105  a reason, no token
    TOKEN_INVALID = "TOKEN_INVALID"  # noqa: S105
    SPECTATORS_NOT_ALLOWED = "SPECTATORS_NOT_ALLOWED"
    REQUEST_ID_REUSED = "REQUEST_ID_REUSED"
    VERSION_MISMATCH = "VERSION_MISMATCH"
    CONTENTION = "CONTENTION"
    FELL_BEHIND = "FELL_BEHIND"
    SERVER_DRAINING = "SERVER_DRAINING"


class GameError(Exception):
    """A use case cannot do what it was asked. Nothing has changed.

    `reason` names the case, `text` is a sentence for a developer, `metadata` what a program may want to know of it.
    None of them holds a secret of the table (G3).
    """

    def __init__(self, reason: GameReason, text: str, metadata: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{reason}: {text}")
        self.reason, self.text, self.metadata = reason, text, dict(metadata or {})
