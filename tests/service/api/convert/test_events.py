import random
from typing import get_args

import pytest
from msgspec.structs import replace
from rummy.v1 import event_pb2 as pb

from engine.events import DealEnd, DealStarted, Event
from engine.step import step
from engine.view import preview, redact
from service.api.convert.events import batch_to, deal_result_to, event_to, timestamp
from service.games.seen import SeenBatch
from service.store.table import TableEvent
from tests.service.api.convert.samples import DREW, ENDED, EVENTS, changed, states
from tests.strategies import any_legal

NOT_TOLD = {("LaidDown", "low")}
"""What an event's message leaves out: a run's first position can be read off its cards."""


def test_every_event_has_its_message() -> None:
    """The API has the events of the engine and of the table and no others, each under its own name."""
    assert {type(event) for event in EVENTS} == {*get_args(Event), *get_args(TableEvent)}
    written = [event_to(event).WhichOneof("event") for event in EVENTS]
    assert sorted(map(str, written)) == sorted(field.name for field in pb.Event.DESCRIPTOR.oneofs[0].fields)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_no_field_of_an_event_is_lost(event: Event | TableEvent) -> None:
    """Events that differ in any field are told apart by their messages."""
    for name, other in changed(event):
        told = event_to(other) != event_to(event)  # type: ignore[arg-type]
        assert told != ((type(event).__name__, name) in NOT_TOLD), name


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_every_field_of_a_message_is_filled(event: Event | TableEvent) -> None:
    """No field of the API's event is left without a value that the sample has."""
    message = event_to(event)
    inner = getattr(message, str(message.WhichOneof("event")))
    empty = {"StockRenewed": {"shuffled"}, "DealResult": {"voided"}}.get(inner.DESCRIPTOR.name, set())
    assert {field.name for field in inner.DESCRIPTOR.fields} - {field.name for field, _ in inner.ListFields()} == empty


@pytest.mark.parametrize("end", DealEnd)
def test_every_way_to_end_a_deal_has_its_reason(end: DealEnd) -> None:
    """What ended a deal is told by the reason of the same name."""
    message = deal_result_to(replace(ENDED, end=end))
    assert pb.DealResult.Reason.Name(message.reason) == f"REASON_{end.name}"
    assert len(pb.DealResult.Reason.values()) == len(DealEnd) + 1


def test_a_hand_is_told_to_its_own_seat_alone() -> None:
    """The start of a deal has the viewer's hand, or none, and of all seats the counts (G3)."""
    dealt = DealStarted(1, 0, 2, 30, None, 0, b"\x01", b"\x02", (b"\x00\x01", b"\x02\x03"))
    for seat, hand in ((0, ["AC", "2C"]), (1, ["3C", "4C"]), (None, [])):
        message = event_to(redact(dealt, seat)).deal_started
        assert (list(message.hand), list(message.card_counts), message.up_card) == (hand, [2, 2], "")


def test_cards_that_are_hidden_are_told_as_a_number() -> None:
    """Of another's draw the count is told, and no card."""
    message = event_to(redact(DREW, None)).drew
    assert (message.count, list(message.cards)) == (2, [])


def test_a_batch_is_a_version_with_its_time() -> None:
    """A batch has its version and epoch, the time of its commit to the millisecond, and its events in order."""
    message = batch_to(SeenBatch(7, 1_800_000_000_123, EVENTS[:2], "0a"))
    assert (message.version, message.commit_time.ToMilliseconds()) == (7, 1_800_000_000_123)
    assert message.epoch == "0a"
    assert [event.WhichOneof("event") for event in message.events] == ["seat_joined", "seat_left"]
    assert timestamp(0) == timestamp(0).__class__()


def test_whatever_happens_can_be_told() -> None:
    """The events of whole matches of every game, as anybody sees them and as a dry run tells them, have messages."""
    chance = random.Random(1)  # noqa: S311  the same in every run
    for state in states()[::5]:
        if state.match is None:
            events = step(state, state.turn, any_legal(state, chance)).events
            for event in (*events, *preview(events), *(redact(event, None) for event in events)):
                assert event_to(event).WhichOneof("event")
