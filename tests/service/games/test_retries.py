import pytest

from engine.actions import Discard, Draw
from service.games.retries import request_of, seat_request

ID = "6f1e8a52-0b52-4c59-8b38-0d3f3a7e5c11"


def test_without_a_request_id_there_is_nothing_to_find_again() -> None:
    """A call without a request id, or without a token where one is needed, is no request to be kept."""
    assert request_of("join", "") is None
    assert seat_request("token", "") is None
    assert seat_request(None, ID) is None


def test_the_same_call_is_the_same_request() -> None:
    """A repeated call has the same key and fingerprint, in whatever case its request id is written."""
    assert seat_request("t", ID, "act", [Draw()]) == seat_request("t", ID.upper(), "act", [Draw()])


@pytest.mark.parametrize(
    "payload", [("act", [Draw(), Draw()]), ("act", [Discard(1)]), ("leave",), ("act", [Draw()], 1)]
)
def test_another_payload_has_another_fingerprint(payload: tuple[object, ...]) -> None:
    """What asks for something else under the same request id can be told apart."""
    one, two = seat_request("t", ID, "act", [Draw()]), seat_request("t", ID, *payload)
    assert one is not None
    assert two is not None
    assert one.key == two.key
    assert one.fingerprint != two.fingerprint


def test_request_ids_are_their_callers_own() -> None:
    """Two seats that happen to choose the same request id do not meet, and no key shows a token."""
    one, two = seat_request("one", ID), seat_request("two", ID)
    assert one is not None
    assert two is not None
    assert one.key != two.key
    assert "one" not in one.key
