"""How the document tells of streams: as the events that a client is given, which is what has a schema in them."""

from typing import Final

from google.protobuf.descriptor import Descriptor

from service.api.rest.error_docs import ERROR as ERROR_SCHEMA
from service.api.rest.openapi_types import Schema, Value
from service.api.rest.sse import END, FAILURE

__all__ = ["ABOUT", "event_schema"]

ABOUT: Final = (
    "A stream of server-sent events; the schema is that of one event. `event` names the field that is set, `data` is "
    "the message as one line of JSON, and `id` is what `Last-Event-ID` resumes the stream by. It ends with an event "
    "`end`, or with an event `failure` whose data is the body of an error."
)
"""How the stream is read, for those who have only the document."""


def event_schema(message: Descriptor, schema: Schema) -> Schema:
    """One event of a stream of messages with this schema."""
    names: list[Value] = [field.name for oneof in message.oneofs[:1] for field in oneof.fields] or ["message"]
    of_message = _event({"enum": names}, schema)
    of_failure = _event({"const": FAILURE}, {"$ref": ERROR_SCHEMA})
    of_end = _event({"const": END}, {"type": "object", "maxProperties": 0})
    return {"oneOf": [of_message, of_failure, of_end]}


def _event(name: Schema, data: Schema) -> Schema:
    text: Schema = {"type": "string"}
    content: Schema = {"type": "string", "contentMediaType": "application/json", "contentSchema": data}
    properties: Schema = {"event": text | name, "id": text, "data": content}
    return {"type": "object", "properties": properties, "required": ["event", "data"]}
