"""Creating a table."""

import hashlib
from base64 import b32encode
from typing import Final

from service.games.change import load
from service.games.desk import Desk
from service.games.opening import Wanted, must_be_playable, put_up
from service.games.retries import request_of, reused
from service.store.outcome import Answered, Exists
from service.store.table import Table

__all__ = ["create"]

_ID_LENGTH: Final = 20
"""Base-32 digits: 100 bits, so that a table's name cannot be guessed."""


async def create(desk: Desk, wanted: Wanted, *, request_id: str) -> Table:
    """Creates a table at which nobody sits, at version 1; a retry gives the table of the first call as it is now.

    Raises BadRules with every fault of the rule set at a table of so many seats, and REQUEST_ID_REUSED.
    """
    must_be_playable(wanted)
    game = _id(desk, request_id)
    match await put_up(desk, game, wanted, request=request_of("create", request_id, wanted)):
        case Table() as table:
            return table
        case Answered(same_payload=True):
            return await load(desk, game)
        case Answered() | Exists():
            raise reused()


def _id(desk: Desk, request_id: str) -> str:
    """A new game's id.

    The same request id gives the same id, so that a retry meets the table that the first call made.
    """
    source = hashlib.sha256(b"game:" + request_id.lower().encode()).digest() if request_id else desk.chance(32)
    return b32encode(source).decode().lower()[:_ID_LENGTH]
