"""What a request must be, beyond what the tests of calls show: in words that help whoever has mistyped something."""

from collections.abc import Iterator

import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.game_pb2 import Game

from service.api.checks import WORDS, check
from service.api.errors import ApiError, Violation
from service.api.rest.annotations import rules_of
from tests.service.api.rest.messages import METHODS

RANDOM_ID = "3f2c8a1e-5b7d-4c9f-8e21-9a6b0d4c7f13"
LIMIT = Game.TurnLimit(turn=Duration(seconds=20))


def faults(request: Message) -> dict[str, tuple[str, str]]:
    """The reason and the text of each bad field of a request."""
    violations: tuple[Violation, ...] = ()
    try:
        check(request)
    except ApiError as error:
        violations = error.violations
    found = {violation.field: (violation.reason, violation.text) for violation in violations}
    assert len(found) == len(violations), "each field once"
    return found


def patterns(message: Descriptor, seen: set[str]) -> Iterator[str]:
    """The patterns that a message and those in it hold texts to."""
    if message.full_name not in seen:
        seen.add(message.full_name)
        for field in message.fields:
            rules = rules_of(field)
            yield (rules.repeated.items.string if field.is_repeated else rules.string).pattern
            if field.message_type:
                yield from patterns(field.message_type, seen)


def test_every_pattern_has_words() -> None:
    """What a pattern asks for is said to people in words, and there are no words too many."""
    seen: set[str] = set()
    assert {pattern for method in METHODS for pattern in patterns(method.input_type, seen) if pattern} == set(WORDS)


@pytest.mark.parametrize(
    ("request_", "field", "said"),
    [
        (pb.FindGameRequest(code="O0IL1U"), "code", "a code has no 0 or O, no 1, I or L, and no U"),
        (pb.FindGameRequest(code="K7M"), "code", "six letters and digits, as in K7M-2QX"),
        (pb.GetGameRequest(name="7k2m"), "name", "as in games/7k2m4q"),
        (pb.RematchRequest(name="games/a", entropy="é"), "entropy", "64 printable characters of ASCII"),
        (pb.ObserveRequest(name="games/a", mark="7"), "mark", "16 hex digits"),
    ],
)
def test_a_pattern_is_told_in_words(request_: Message, field: str, said: str) -> None:
    """Whoever mistypes something is told what it looks like, and not the pattern."""
    ((found, (reason, text)),) = faults(request_).items()
    assert (found, reason) == (field, "STRING_PATTERN")
    assert said in text
    assert "^" not in text


@pytest.mark.parametrize(
    "request_id",
    ["00000000-0000-0000-0000-000000000000", "c232ab00-9414-11ec-b3c8-9f6bdeced846", RANDOM_ID[:-1], RANDOM_ID + "0"],
    ids=["nil", "of the time", "too short", "too long"],
)
def test_a_request_id_is_random(request_id: str) -> None:
    """An id that can be guessed is refused, since a call by the same one gets what the first got."""
    for request in (
        pb.JoinGameRequest(name="games/a", display_name="Ann"),
        pb.QuickJoinRequest(game=Game(seat_count=2), display_name="Ann"),
        pb.CreateGameRequest(game=Game(seat_count=2)),
        pb.LeaveGameRequest(name="games/a"),
    ):
        for right in ("", RANDOM_ID, RANDOM_ID.upper()):
            request.request_id = right
            assert faults(request) == {}
        request.request_id = request_id
        assert "random UUID (version 4)" in faults(request)["request_id"][1]


@pytest.mark.parametrize("name", [" ", "\u200b", "\u202eAnn", "Ann\n", "\u0301"])
def test_names_are_looked_at_wherever_they_are_taken(name: str) -> None:
    """Players, bots and tables have names that can be seen, whichever call gives them."""
    table = Game(seat_count=2, display_name=name)
    assert faults(pb.JoinGameRequest(name="games/a", display_name=name))["display_name"][0] == "BAD_NAME"
    assert faults(pb.AddBotRequest(name="games/a", display_name=name))["display_name"][0] == "BAD_NAME"
    assert faults(pb.CreateGameRequest(game=table))["game.display_name"][0] == "BAD_NAME"
    assert faults(pb.QuickJoinRequest(game=table, display_name=name)).keys() == {"game.display_name", "display_name"}


def test_names_may_be_left_out_where_the_protos_say_so() -> None:
    """A table and a bot need no name; a player does."""
    assert faults(pb.CreateGameRequest(game=Game(seat_count=2))) == {}
    assert faults(pb.AddBotRequest(name="games/a")) == {}
    assert faults(pb.JoinGameRequest(name="games/a")).keys() == {"display_name"}


@pytest.mark.parametrize("nanos", [-5, 1_000_000_000, 2_000_000_000, -(2**31)])
def test_a_duration_is_one(nanos: int) -> None:
    """A time whose nanos are a second or more, or of another sign than its seconds, is refused and not made another."""
    bad = Duration(seconds=5, nanos=nanos)
    limit = Game.TurnLimit(turn=bad, bank=bad)
    found = faults(pb.CreateGameRequest(game=Game(seat_count=2, turn_limit=limit)))
    assert found.keys() == {"game.turn_limit.turn", "game.turn_limit.bank"}
    assert all(reason == "MALFORMED" for reason, _ in found.values())
    assert faults(pb.ListEventsRequest(name="games/a", wait=bad)).keys() == {"wait"}


def test_a_duration_may_have_parts_of_a_second() -> None:
    """Nanos below a second, with seconds or without, are a time; out of range it is told once."""
    for good in (Duration(seconds=5, nanos=999_999_999), Duration(nanos=1), Duration()):
        assert faults(pb.ListEventsRequest(name="games/a", wait=good)) == {}
    for far in (Duration(seconds=2**62), Duration(seconds=-(2**63), nanos=-1)):
        assert faults(pb.ListEventsRequest(name="games/a", wait=far))["wait"][0] == "DURATION_GTE_LTE"
