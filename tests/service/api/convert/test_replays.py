import msgspec
from google.protobuf import json_format
from rummy.v1 import replay_pb2 as pb

from engine.replay import FORMAT, Replay, read_replay
from service.api.convert.replays import replay_to

REPLAY = Replay(
    format=FORMAT,
    rules="basic deals=2",
    seats=2,
    entropy="0a",
    seeds=("5b", "07", "c3"),
    moves=("0 draw", "0 discard 5H"),
    scores=(12, -5),
    digest="9f3c",
)


def test_the_api_has_every_field_of_a_replay() -> None:
    """A replay's message has the fields of the document under their own names, each with its value."""
    message = replay_to(REPLAY)
    assert {field.name for field in pb.Replay.DESCRIPTOR.fields} == set(Replay.__struct_fields__)
    assert {field.name for field, _ in message.ListFields()} == set(Replay.__struct_fields__)


def test_the_message_as_json_is_the_document() -> None:
    """What REST answers is read by the verifier as it stands, with empty fields left out or not."""
    assert read_replay(json_format.MessageToJson(replay_to(REPLAY)).encode()) == REPLAY
    plain = msgspec.structs.replace(REPLAY, entropy="")
    told = json_format.MessageToJson(replay_to(plain), always_print_fields_with_no_presence=True)
    assert read_replay(told.encode()) == plain
