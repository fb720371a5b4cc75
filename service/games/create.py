"""Creating a table."""

import hashlib
from base64 import b32encode
from typing import Final

from engine.errors import BadRules
from engine.faults import faults
from engine.rules import RuleSet
from service.games.change import load, request_of
from service.games.desk import Desk
from service.games.errors import GameError
from service.store.store import Created, Exists
from service.store.table import Batch, Phase, Seat, Table

__all__ = ["create"]

_ID_LENGTH: Final = 20
"""Base-32 digits: 100 bits, so that a table's name cannot be guessed."""


async def create(
    desk: Desk, *, preset: str, rules: RuleSet, seat_count: int, display_name: str, request_id: str
) -> Table:
    """Creates a table at which nobody sits, at version 1; a retry gives the table of the first call as it is now.

    Raises BadRules with every fault of the rule set at that number of seats, and REQUEST_ID_REUSED.
    """
    found = faults(rules, seat_count)
    if found:
        raise BadRules(found)
    now = desk.now_ms()
    table = Table(
        game=_id(desk, request_id),
        epoch=desk.chance(8).hex(),
        version=1,
        phase=Phase.OPEN,
        display_name=display_name,
        created_ms=now,
        updated_ms=now,
        preset=preset,
        rules=rules,
        seats=(Seat(),) * seat_count,
        secret=desk.chance(32),
        seeds=(desk.chance(32), desk.chance(32)),
    )
    request = request_of("create", request_id, preset, rules, seat_count, display_name)
    outcome = await desk.store.create(table, Batch(version=1, time_ms=now, actor=None), request)
    if isinstance(outcome, Created):
        desk.hints.put(table)
        return table
    if isinstance(outcome, Exists) or not outcome.same_payload:
        raise GameError("REQUEST_ID_REUSED", "this request id was used for another call; make a new one for each")
    return await load(desk, table.game)


def _id(desk: Desk, request_id: str) -> str:
    """A new game's id.

    The same request id gives the same id, so that a retry meets the table that the first call made.
    """
    source = hashlib.sha256(b"game:" + request_id.lower().encode()).digest() if request_id else desk.chance(32)
    return b32encode(source).decode().lower()[:_ID_LENGTH]
