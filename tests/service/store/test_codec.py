"""Tables and batches as bytes."""

import msgspec
import pytest
from msgspec.structs import replace

from engine.events import Discarded, Drew
from engine.presets import PRESETS
from engine.step import start
from service.store.codec import decode_batch, decode_table, encode_batch, encode_table
from service.store.errors import BadRecord, NewerTable
from service.store.table import SCHEMA, Batch, MatchStarted, SeatJoined, SeatLeft
from tests.service.store.tables import batch_of, new_table


def test_a_batch_keeps_events_of_table_and_game() -> None:
    """Events of the table and of the game stand side by side in a batch, and come back as what they were."""
    events = (SeatJoined(1, "Bo"), MatchStarted((0, 1)), Drew(0, 1, b"\x05"), Discarded(0, 5), SeatLeft(1))
    batch = Batch(version=7, time_ms=1, actor=0, events=events)
    assert decode_batch(encode_batch(batch)) == batch


def test_a_newer_record_is_refused() -> None:
    """What a newer release wrote is refused as that, whether it could be read or not."""
    newer = SCHEMA + 1
    table, batch = new_table(schema=newer), replace(batch_of(new_table()), schema=newer)
    unreadable = msgspec.msgpack.encode([newer, "what", "nobody", "knows"])
    for decode, data in [
        (decode_table, encode_table(table)),
        (decode_table, unreadable),
        (decode_batch, encode_batch(batch)),
        (decode_batch, unreadable),
    ]:
        with pytest.raises(NewerTable) as refused:
            decode(data)
        assert (refused.value.found, refused.value.known) == (newer, SCHEMA)


def test_a_match_of_a_newer_release_is_refused() -> None:
    """A table whose match is in a newer form than this release knows is refused, too."""
    match = start(PRESETS["basic"], 2, b"1" * 32, b"2" * 32).state
    known = new_table(match=match)
    assert decode_table(encode_table(known)) == known
    with pytest.raises(NewerTable):
        decode_table(encode_table(replace(known, match=replace(match, schema=match.schema + 1))))


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x90", b"\x91\x01", b"\x92\x01\x05", b"nonsense"])
def test_what_is_no_record_is_refused(data: bytes) -> None:
    """Bytes that this product has not written are refused, and are not repeated in the refusal."""
    for decode in (decode_table, decode_batch):
        with pytest.raises(BadRecord) as refused:
            decode(data)
        assert "nonsense" not in str(refused.value)
