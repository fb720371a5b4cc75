"""Creating a table."""

import hashlib
from base64 import b32encode
from typing import Final

from engine.errors import BadRules
from engine.rules import RuleSet
from engine.shuffle import SEED_SIZE
from service.games.change import load
from service.games.desk import Desk
from service.games.fit import faults_at
from service.games.retries import request_of, reused
from service.store.outcome import Answered, Created, Exists
from service.store.table import Batch, Phase, Seat, Table, TurnLimit

__all__ = ["create"]

_ID_LENGTH: Final = 20
"""Base-32 digits: 100 bits, so that a table's name cannot be guessed."""


async def create(
    desk: Desk,
    *,
    preset: str,
    rules: RuleSet,
    seat_count: int,
    display_name: str,
    request_id: str,
    limit: TurnLimit | None = None,
) -> Table:
    """Creates a table at which nobody sits, at version 1; a retry gives the table of the first call as it is now.

    Raises BadRules with every fault of the rule set at a table of so many seats, and REQUEST_ID_REUSED.
    """
    found = faults_at(rules, seat_count)
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
        seeds=(desk.chance(SEED_SIZE), desk.chance(SEED_SIZE)),
        limit=limit,
    )
    request = request_of("create", request_id, preset, rules, seat_count, display_name, limit)
    match await desk.store.create(table, Batch(version=1, time_ms=now, actor=None), request):
        case Created(stored):
            desk.hints.put(stored)
            return stored
        case Answered(same_payload=True):
            return await load(desk, table.game)
        case Answered() | Exists():
            raise reused()


def _id(desk: Desk, request_id: str) -> str:
    """A new game's id.

    The same request id gives the same id, so that a retry meets the table that the first call made.
    """
    source = hashlib.sha256(b"game:" + request_id.lower().encode()).digest() if request_id else desk.chance(32)
    return b32encode(source).decode().lower()[:_ID_LENGTH]
