"""Creating a table."""

from service.games.change import load
from service.games.desk import Desk
from service.games.opening import Permit, Wanted, must_be_playable, new_id, put_up
from service.games.retries import request_of, reused
from service.store.outcome import Answered, Exists
from service.store.table import Table

__all__ = ["create"]


async def create(desk: Desk, wanted: Wanted, *, request_id: str, permit: Permit | None = None) -> Table:
    """Creates a table at which nobody sits, at version 1; a retry gives the table of the first call as it is now.

    Raises BadRules with every fault of the rule set at a table of so many seats, REQUEST_ID_REUSED,
    and what `permit` raises, which is asked before a table is made.
    """
    must_be_playable(wanted)
    game = new_id(desk, request_id)
    request = request_of("create", request_id, wanted)
    if request is not None and (loaded := await desk.store.load(game, request)):  # a retry needs no permit
        if loaded.answered is None or not loaded.answered.same_payload:
            raise reused()
        return loaded.table
    match await put_up(desk, game, wanted, request=request, permit=permit):
        case Table() as table:
            return table
        case Answered(same_payload=True):
            return await load(desk, game)
        case Answered() | Exists():
            raise reused()
