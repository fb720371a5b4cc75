"""Writing messages as JSON."""

import json
from typing import Any

import pytest
from google.protobuf import json_format, wrappers_pb2
from google.rpc.context.attribute_context_pb2 import AttributeContext
from google.rpc.error_details_pb2 import ErrorInfo
from google.type.color_pb2 import Color  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from rummy.v1.game_pb2 import Game

from service.api.rest.to_json import to_json
from tests.service.api.rest.messages import METHODS, messages

TYPES = {method.output_type.full_name: method.output_type for method in METHODS}


@given(st.data())
@pytest.mark.parametrize("name", sorted(TYPES))
def test_answers_are_written_as_protobuf_writes_them(name: str, data: st.DataObject) -> None:
    """Any answer gives the JSON that protobuf's own writer gives, in one line."""
    message: Any = data.draw(messages(TYPES[name]))
    written = to_json(message)
    assert json.loads(written) == json_format.MessageToDict(message, always_print_fields_with_no_presence=True)
    assert b"\n" not in written
    assert b"\r" not in written


@pytest.mark.parametrize(
    "message",
    [
        ErrorInfo(reason="r", metadata={"a": "1", "b": "2"}),
        AttributeContext(request={"auth": {"claims": {"a": [1, {"b": None}]}}, "size": 2**40, "headers": {"x": "y"}}),
        AttributeContext.Auth(audiences=["a", "b"]),
    ],
)
def test_maps_wide_numbers_and_protobufs_own_messages_are_written_so_too(message: Any) -> None:
    """What the API does not use yet is written right, should it come to."""
    written = json.loads(to_json(message))
    assert written == json_format.MessageToDict(message, always_print_fields_with_no_presence=True)


@given(messages(Color.DESCRIPTOR))
def test_numbers_of_32_bits_are_written_short(message: Any) -> None:
    """One tenth in 32 bits is written 0.1, not 0.10000000149011612."""
    assert json.loads(to_json(message)) == json_format.MessageToDict(message, always_print_fields_with_no_presence=True)


def test_no_reader_finds_the_end_of_a_line_within_an_answer() -> None:
    """Characters that some readers take for the end of a line are escaped, and read back as they were."""
    name = "a\x85b\u2028c\u2029d\re\nf"
    written = to_json(Game(display_name=name))
    assert len(written.decode().splitlines()) == 1
    assert json.loads(written)["displayName"] == name


def test_an_enum_without_a_name_is_its_number() -> None:
    """A value of a newer proto is not lost."""
    assert json.loads(to_json(Game(state=77)))["state"] == 77  # type: ignore[arg-type]  # none of the names


def test_the_fields_stand_in_the_order_of_the_proto() -> None:
    """A reader finds the fields of an answer where the docs have them."""
    fields = list(json.loads(to_json(Game())))
    assert fields == [field for field in (f.json_name for f in Game.DESCRIPTOR.fields) if field in fields]


@given(message=messages(wrappers_pb2.DoubleValue.DESCRIPTOR) | messages(wrappers_pb2.BytesValue.DESCRIPTOR))
def test_a_message_of_protobufs_own_is_a_value(message: Any) -> None:
    """A wrapper is written as what it wraps."""
    assert json.loads(to_json(message)) == json_format.MessageToDict(message)
