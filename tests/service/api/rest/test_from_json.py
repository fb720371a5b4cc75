"""Reading messages from JSON."""

import json
from typing import Any

import pytest
from google.protobuf import json_format, message_factory, timestamp_pb2, wrappers_pb2
from google.protobuf.message import Message
from google.rpc.context.attribute_context_pb2 import AttributeContext
from google.rpc.error_details_pb2 import ErrorInfo
from hypothesis import given
from hypothesis import strategies as st
from rummy.v1.action_pb2 import Action
from rummy.v1.game_pb2 import Game
from rummy.v1.game_service_pb2 import ActRequest, ListEventsRequest, ObserveResponse

from service.api.errors import ApiError
from service.api.rest.from_json import Faults, merge
from service.api.rest.json_text import parse
from tests.service.api.rest.messages import METHODS, messages


def read(message: Message, text: str) -> list[tuple[str, str]]:
    """Merges JSON into a message, and gives the faults: the field, and what kind of fault it is."""
    faults = Faults()
    try:
        merge(message, parse(text.encode()), faults)
        faults.refuse()
    except ApiError as error:
        return [(violation.field, violation.reason) for violation in error.violations if violation.text]
    return []


@given(st.data())
@pytest.mark.parametrize("names", ["camel", "snake"])
@pytest.mark.parametrize("descriptor", [method.input_type for method in METHODS], ids=lambda d: str(d.name))
def test_what_protobuf_writes_is_read_back(descriptor: Any, names: str, data: st.DataObject) -> None:
    """Any request, written by protobuf with names in either case, is read as the same request."""
    message = data.draw(messages(descriptor))
    text = json_format.MessageToJson(message, preserving_proto_field_name=names == "snake")
    again = message_factory.GetMessageClass(descriptor)()
    assert read(again, text) == []
    assert again == message


@given(st.data())
def test_what_is_accepted_is_what_protobuf_understands_by_it(data: st.DataObject) -> None:
    """Any JSON of about the right shape: what is accepted gives the message that protobuf's own parser gives."""
    leaves = st.none() | st.booleans() | st.integers(-3, 2**40) | st.floats() | st.sampled_from(["", "1", "7H", "a"])
    names = st.sampled_from(
        ["cards", "draw", "take", "count", "layDown", "lay_down", "kind", "swapJoker", "meld", "no"]
    )
    value = data.draw(
        st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3))
    )
    text = json.dumps({"actions": value})
    ours = ActRequest()
    if read(ours, text) == []:
        assert ours == json_format.Parse(text, ActRequest())


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ('{"ruleSet": {"jokers": "many"}}', [("ruleSet.jokers", "NOT_AN_INTEGER")]),
        ('{"ruleSet": {"jokers": 3000000000}}', [("ruleSet.jokers", "OUT_OF_RANGE")]),
        ('{"ruleSet": {"jokers": 1.5}}', [("ruleSet.jokers", "NOT_AN_INTEGER")]),
        ('{"ruleSet": {"jokers": 1e999}}', [("ruleSet.jokers", "NOT_AN_INTEGER")]),
        ('{"ruleSet": {"jokers": true}}', [("ruleSet.jokers", "NOT_AN_INTEGER")]),
        ('{"ruleSet": {"ace": "ACE_HIGH"}}', [("ruleSet.ace", "UNKNOWN_NAME")]),
        ('{"ruleSet": {"ace": 7}}', [("ruleSet.ace", "UNKNOWN_NAME")]),
        ('{"ruleSet": {"upCard": "true"}}', [("ruleSet.upCard", "NOT_A_BOOLEAN")]),
        ('{"ruleSet": []}', [("ruleSet", "NOT_AN_OBJECT")]),
        ('{"displayName": 1}', [("displayName", "NOT_A_STRING")]),
        ('{"displayName": "\\ud800"}', [("displayName", "NOT_UTF8")]),
        (
            '{"display": 1, "ruleSet": {"joker": 1}}',
            [("display", "UNKNOWN_FIELD"), ("ruleSet.joker", "UNKNOWN_FIELD")],
        ),
        ('{"seatCount": 2, "seatCount": 3}', [("seatCount", "REPEATED_FIELD")]),
        ('{"seatCount": 2, "seat_count": 2}', [("seatCount", "REPEATED_FIELD")]),
        ('{"seats": {}}', [("seats", "NOT_AN_ARRAY")]),
        ('{"seats": [{}, null, {"state": "x"}]}', [("seats[1]", "NOT_AN_OBJECT"), ("seats[2].state", "UNKNOWN_NAME")]),
        ('{"createTime": "yesterday"}', [("createTime", "BAD_VALUE")]),
        ('{"createTime": {}}', [("createTime", "BAD_VALUE")]),
        ("[]", [("body", "NOT_AN_OBJECT")]),
        ('"x"', [("body", "NOT_AN_OBJECT")]),
        ("null", [("body", "NOT_AN_OBJECT")]),
        ("{", [("body", "NOT_JSON")]),
        ("{} {}", [("body", "NOT_JSON")]),
        ('{"seatCount": NaN}', [("body", "NOT_JSON")]),
        ('{"seatCount": ' + "1" * 5000 + "}", [("body", "NOT_JSON")]),
        ("[" * 30_000, [("body", "NOT_JSON")]),
        ('{"ruleSet":' * 6_000, [("body", "NOT_JSON")]),
    ],
)
def test_what_does_not_fit_is_named_by_its_path(text: str, faults: list[tuple[str, str]]) -> None:
    """Every bad field of a game is named where it stands, all at once, as JSON writes it."""
    assert read(Game(), text) == faults


def test_a_bad_card_is_named_by_its_place_in_the_list() -> None:
    """An element of a list is named by its index, at any depth."""
    text = '{"actions": [{"draw": {}}, {"layDown": {"cards": ["7H", 8]}}]}'
    assert read(ActRequest(), text) == [("actions[1].layDown.cards[1]", "NOT_A_STRING")]


def test_two_fields_of_a_oneof_exclude_each_other() -> None:
    """An action is one thing: a second one is a fault of its own."""
    assert read(Action(), '{"draw": {}, "passTurn": {}}') == [("passTurn", "ONEOF_CONFLICT")]
    faults = Faults()
    merge(Action(), parse(b'{"layDown": {}, "swap_joker": {}}'), faults)
    with pytest.raises(ApiError, match="swapJoker: swapJoker and layDown exclude each other"):
        faults.refuse()
    assert read(Action(), '{"draw": null, "passTurn": {}}') == []


def test_an_empty_body_is_an_empty_request() -> None:
    """A call without fields needs no `{}`."""
    assert read(ActRequest(), " \n") == []


def test_no_more_faults_are_named_than_anybody_reads() -> None:
    """A body with thousands of faults is answered with the first twenty."""
    assert len(read(Game(), json.dumps({f"x{n}": n for n in range(5000)}))) == Faults.MOST
    assert len(read(ActRequest(), json.dumps({"actions": [1] * 5000}))) == Faults.MOST


def test_a_body_that_is_not_utf8_is_refused() -> None:
    """JSON on the wire is UTF-8."""
    with pytest.raises(ApiError, match="UTF-8"):
        parse('{"displayName": "é"}'.encode("latin-1"))


def test_maps_are_objects() -> None:
    """A map's entries are set by key, and named by it where they do not fit."""
    info = ErrorInfo()
    assert read(info, '{"metadata": {"a": "1", "b": "2"}}') == []
    assert info.metadata == {"a": "1", "b": "2"}
    bad = '{"metadata": {"a": 1, "b": "2", "b": "3"}, "domain": {}}'
    assert read(ErrorInfo(), bad) == [
        ('metadata["a"]', "NOT_A_STRING"),
        ('metadata["b"]', "REPEATED_FIELD"),
        ("domain", "NOT_A_STRING"),
    ]
    assert read(ErrorInfo(), '{"metadata": []}') == [("metadata", "NOT_AN_OBJECT")]


@pytest.mark.parametrize("wait", ["20", 20, "20 seconds", "", {"seconds": 20}])
def test_a_time_that_is_none_is_told_by_an_example(wait: object) -> None:
    """Who writes a number of seconds without an s, or an object, is told how a time is written."""
    faults = Faults()
    merge(ListEventsRequest(), parse(json.dumps({"wait": wait}).encode()), faults)
    with pytest.raises(ApiError, match="wait: must be a string, a number of seconds with an s, as in 20s"):
        faults.refuse()


def test_protobufs_own_messages_have_their_own_forms() -> None:
    """Timestamps are strings, and a Struct is any object; a Struct with a name twice is as bad as any."""
    answer = ObserveResponse()
    assert read(answer, '{"heartbeat": {"time": "2026-01-02T03:04:05Z"}}') == []
    assert answer.heartbeat.time == timestamp_pb2.Timestamp(seconds=1767323045)
    auth = AttributeContext.Auth()
    assert read(auth, '{"claims": {"a": [1, {"b": null}]}}') == []
    assert json_format.MessageToDict(auth.claims) == {"a": [1, {"b": None}]}
    assert read(AttributeContext.Auth(), '{"claims": {"a": 1, "a": 2}}') == [("claims", "BAD_VALUE")]


@pytest.mark.parametrize(
    ("form", "text", "value"),
    [
        (wrappers_pb2.Int64Value, '"9223372036854775807"', 2**63 - 1),
        (wrappers_pb2.DoubleValue, '"-Infinity"', float("-inf")),
        (wrappers_pb2.BytesValue, '"-_8"', b"\xfb\xff"),
    ],
)
def test_wide_numbers_and_bytes_are_read_as_proto3_writes_them(form: Any, text: str, value: object) -> None:
    """Integers of 64 bits may be strings, doubles may be infinite, and bytes are base64 of either alphabet."""
    message = form()
    assert read(message, f'{{"value": {text}}}') == []
    assert message.value == value


@pytest.mark.parametrize(
    ("form", "text", "reason"),
    [
        (wrappers_pb2.Int64Value, "9223372036854775808", "OUT_OF_RANGE"),
        (wrappers_pb2.UInt64Value, "-1", "OUT_OF_RANGE"),
        (wrappers_pb2.DoubleValue, '"1_0"', "NOT_A_NUMBER"),
        (wrappers_pb2.DoubleValue, "1" + "0" * 400, "OUT_OF_RANGE"),
        (wrappers_pb2.BytesValue, '"a*"', "NOT_BASE64"),
        (wrappers_pb2.Int32Value, '"\u0661"', "NOT_AN_INTEGER"),
        (wrappers_pb2.Int32Value, '" 1"', "NOT_AN_INTEGER"),
    ],
)
def test_values_out_of_a_types_reach_are_faults(form: Any, text: str, reason: str) -> None:
    """What a field's type cannot hold is refused, never rounded or cut."""
    assert read(form(), f'{{"value": {text}}}') == [("value", reason)]
