"""The ids of server-sent events: where a stream of Observe stands, so that `Last-Event-ID` resumes it.

An id is `EPOCH.VERSION.MARK`, without the mark where the version has none; one without the epoch is understood, too.
Streams of other methods have none.
"""

import re
from typing import Final

from google.protobuf.message import Message
from rummy.v1.event_pb2 import EventBatch
from rummy.v1.game_pb2 import Game
from rummy.v1.game_service_pb2 import ObserveRequest, ObserveResponse

from service.api.errors import Violation, invalid
from service.api.rest.openapi_types import Schema

__all__ = ["LAST_EVENT_ID", "id_of", "resume"]

_PATTERN: Final = r"(?:([0-9A-Za-z_-]{1,40})\.)?(0|[1-9][0-9]{0,8})(?:\.([0-9a-f]{16}))?"

LAST_EVENT_ID: Final[Schema] = {
    "name": "Last-Event-ID",
    "in": "header",
    "description": "The id of the last event received, to resume after it. It takes precedence over the query.",
    "schema": {"type": "string", "pattern": f"^({_PATTERN})?$"},
}
"""The parameter of a stream's operation."""

_LAST: Final = re.compile(_PATTERN)


def resume(request: Message, last_event_id: str | None) -> None:
    """Sets a request to go on after the event with this id, which counts for more than what the request says.

    Raises ApiError INVALID_FIELD where the id is none that a stream of this method has given.
    """
    if isinstance(request, ObserveRequest) and last_event_id:
        found = _LAST.fullmatch(last_event_id)
        if not found:
            text = "must be EPOCH.VERSION.MARK, of which the version may stand alone"
            raise invalid([Violation("Last-Event-ID", text, "BAD_VALUE")])
        request.epoch, request.after, request.mark = found[1] or "", int(found[2]), found[3] or ""


def id_of(message: Message) -> str | None:
    """The id of a message's event; None: it has none of its own."""
    if not isinstance(message, ObserveResponse):
        return None
    match message.WhichOneof("message"):
        case "snapshot":
            at: Game | EventBatch = message.snapshot
        case "batch":
            at = message.batch
        case _:
            return None
    return f"{at.epoch}.{at.version}.{message.mark}" if message.mark else f"{at.epoch}.{at.version}"
