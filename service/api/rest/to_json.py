"""From a message to JSON: proto3's own mapping, names in camel case, and no field without presence left out."""

import msgspec
from google.protobuf import json_format
from google.protobuf.message import Message

__all__ = ["to_json"]


def to_json(message: Message) -> bytes:
    """The message as one line of JSON in UTF-8."""
    return msgspec.json.encode(json_format.MessageToDict(message, always_print_fields_with_no_presence=True))
