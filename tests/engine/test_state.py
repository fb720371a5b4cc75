import msgspec
import pytest
from hypothesis import given, settings

from engine.errors import BadState, NewerSchema
from engine.rules import RuleSet
from engine.state import SCHEMA, State, decode, encode
from tests.strategies import moments, position, rules_of, seeds, tables


@given(tables(), seeds)
@settings(max_examples=20, deadline=None)
@pytest.mark.clause("G5")
def test_a_state_comes_back_from_its_bytes(table: tuple[RuleSet, int], seed: int) -> None:
    """A state is the same after encoding and decoding, and small: less than a kilobyte and a half."""
    for state, _ in moments(*table, seed, most=40):
        data = encode(state)
        assert decode(data) == state
        assert encode(decode(data)) == data
        assert len(data) < 1500


def test_a_state_of_a_newer_release_is_refused() -> None:
    """A state whose schema number is higher than the known one is refused as newer, whatever else it holds."""
    state = position(rules_of(), ["9C", "9D"])
    fields: list[object] = msgspec.msgpack.decode(encode(state))
    for newer in ([SCHEMA + 1, *fields[1:]], [SCHEMA + 1, *fields[1:], "more"], [SCHEMA + 1, {"all": "other"}]):
        with pytest.raises(NewerSchema) as refused:
            decode(msgspec.msgpack.encode(newer))
        assert (refused.value.found, refused.value.known) == (SCHEMA + 1, SCHEMA)


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", b"\x90", msgspec.msgpack.encode([SCHEMA, 2]), msgspec.msgpack.encode("x")]
)
def test_bytes_that_are_no_state_are_refused(data: bytes) -> None:
    """Broken bytes raise BadState, not whatever the decoder happens to raise."""
    with pytest.raises(BadState) as refused:
        decode(data)
    assert not isinstance(refused.value, NewerSchema)


def test_a_state_cannot_be_changed() -> None:
    """A state is a value: assigning to a field of it is an error."""
    state: State = position(rules_of(), ["9C", "9D"])
    with pytest.raises(AttributeError):
        state.turn = 1  # type: ignore[misc]
