"""What a request may hold is bounded everywhere, by the protos themselves."""

from collections.abc import Iterator

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from service.api.rest.annotations import is_read_only, rules_of
from tests.service.api.rest.messages import METHODS

COMPARED = {"after", "expected_version", "meld"}
"""Versions, and numbers of melds: only compared with those that there are."""
CLAMPED = {"page_size"}
"""Above the most it means the most, as AIP-158 has it."""
NUMBERS = {
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_UINT64: "uint64",
    FieldDescriptor.TYPE_SINT32: "sint32",
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_FLOAT: "float",
}


def fields_of(message: Descriptor, seen: set[str]) -> Iterator[FieldDescriptor]:
    """Each field that a request may set, those of the messages in it included."""
    if message.full_name in seen or message.full_name.startswith("google."):
        return
    seen.add(message.full_name)
    for field in message.fields:
        if not is_read_only(field):
            yield field
            if field.message_type:
                yield from fields_of(field.message_type, seen)


FIELDS = [field for method in METHODS for field in fields_of(method.input_type, set())]
EACH = pytest.mark.parametrize("field", dict.fromkeys(FIELDS), ids=lambda field: field.full_name)


@EACH
def test_every_list_has_an_end(field: FieldDescriptor) -> None:
    """A list says how many items it may have."""
    if field.is_repeated:
        assert rules_of(field).repeated.max_items


@EACH
def test_every_text_has_an_end(field: FieldDescriptor) -> None:
    """A text says how long it may be: by a length, by a pattern without end-less parts, or as a UUID."""
    if field.type in {FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES}:
        rules = rules_of(field)
        text = rules.repeated.items.string if field.is_repeated else rules.string
        pattern = text.pattern
        closed = pattern.startswith("^") and pattern.endswith("$") and not set("*+") & set(pattern)
        assert text.max_len or text.len or text.uuid or closed, pattern


@EACH
def test_every_number_has_both_ends(field: FieldDescriptor) -> None:
    """A number says how small and how large it may be, but for names and sizes of pages, which are no amounts."""
    if field.type in NUMBERS and not field.is_repeated:
        rules = getattr(rules_of(field), NUMBERS[field.type])
        assert rules.HasField("gte") or rules.HasField("gt") or rules.HasField("const")
        if field.name not in COMPARED | CLAMPED:
            assert rules.HasField("lte") or rules.HasField("lt") or rules.HasField("const")


@EACH
def test_every_time_span_has_both_ends(field: FieldDescriptor) -> None:
    """A duration says how short and how long it may be."""
    if field.message_type and field.message_type.full_name == "google.protobuf.Duration":
        rules = rules_of(field).duration
        assert rules.HasField("gte")
        assert rules.HasField("lte")


@EACH
def test_every_choice_is_one_of_those_that_there_are(field: FieldDescriptor) -> None:
    """An enum takes no number without a name."""
    if field.type == FieldDescriptor.TYPE_ENUM:
        rules = rules_of(field)
        assert rules.enum.defined_only or rules.repeated.items.enum.defined_only


def test_there_is_something_to_bound() -> None:
    """The walk sees lists, texts, numbers, spans and choices, deep inside and at the top."""
    names = {field.full_name.removeprefix("rummy.v1.") for field in FIELDS}
    assert names >= {
        "ActRequest.actions",
        "Action.LayDown.cards",
        "RuleSet.jokers",
        "Game.TurnLimit.turn",
        "Game.seat_count",
    }
    assert {field.type for field in FIELDS} >= {FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_ENUM}
    assert "Game.view" not in names
