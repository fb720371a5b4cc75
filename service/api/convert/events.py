"""Events as messages. What comes here is redacted already (`service.games.seen`)."""

from collections.abc import Sequence

from google.protobuf import timestamp_pb2
from rummy.v1 import event_pb2 as pb

from engine import events
from engine.events import (
    DealEnd,
    DealEnded,
    DealStarted,
    Discarded,
    Drew,
    HandVoided,
    JokerSwapped,
    Knocked,
    LaidDown,
    LaidOff,
    MatchEnded,
    Passed,
    Renewal,
    SeatOut,
    StockRenewed,
    TookPile,
    TurnStarted,
)
from service.api.convert.cards import CARDS, KINDS, texts
from service.games.seen import SeenBatch
from service.store import table

__all__ = ["batch_to", "deal_result_to", "event_to", "match_ended_to", "timestamp"]

Move = (
    TurnStarted
    | Drew
    | StockRenewed
    | TookPile
    | Knocked
    | LaidDown
    | LaidOff
    | JokerSwapped
    | Discarded
    | Passed
    | HandVoided
    | SeatOut
)

_REASONS = {
    DealEnd.OUT: pb.DealResult.REASON_OUT,
    DealEnd.STOCK: pb.DealResult.REASON_STOCK,
    DealEnd.ROUNDS: pb.DealResult.REASON_ROUNDS,
    DealEnd.IDLE: pb.DealResult.REASON_IDLE,
    DealEnd.STUCK: pb.DealResult.REASON_STUCK,
    DealEnd.VOIDED: pb.DealResult.REASON_VOIDED,
}


def timestamp(ms: int) -> timestamp_pb2.Timestamp:
    """A time in ms since 1970."""
    return timestamp_pb2.Timestamp(seconds=ms // 1000, nanos=ms % 1000 * 1_000_000)


def batch_to(batch: SeenBatch) -> pb.EventBatch:
    """The events of one version."""
    return pb.EventBatch(
        version=batch.version,
        commit_time=timestamp(batch.time_ms),
        events=[event_to(event) for event in batch.events],
        epoch=batch.epoch,
    )


def event_to(event: table.TableEvent | events.Event) -> pb.Event:
    """One event."""
    match event:
        case DealStarted():
            return pb.Event(deal_started=_deal_started(event))
        case DealEnded():
            return pb.Event(deal_ended=deal_result_to(event))
        case MatchEnded():
            return pb.Event(match_ended=match_ended_to(event.winners, event.totals, event.settlement))
        case _:
            return _table_event_to(event) if isinstance(event, table.TableEvent) else _move_to(event)


def deal_result_to(event: DealEnded) -> pb.DealResult:
    """How a deal ended."""
    return pb.DealResult(
        deal=event.deal,
        reason=_REASONS[event.end],
        voided=event.void,
        winners=event.winners,
        deal_scores=event.scores,
        scores=event.totals,
        pool=event.pool,
        hands=[pb.DealResult.Hand(cards=texts(hand)) for hand in event.hands],
        seed=event.seed.hex(),
    )


def match_ended_to(winners: Sequence[int], totals: Sequence[int], settlement: Sequence[int]) -> pb.Event.MatchEnded:
    """How the match ended: the seats that won, each seat's total, and what each receives."""
    return pb.Event.MatchEnded(winners=winners, scores=totals, settlement=settlement)


def _table_event_to(event: table.TableEvent) -> pb.Event:
    """What happened to the seats and to the match as a whole."""
    match event:
        case table.SeatJoined(seat, display_name, bot):
            return pb.Event(seat_joined=pb.Event.SeatJoined(seat=seat, display_name=display_name, bot=bot))
        case table.SeatLeft(seat):
            return pb.Event(seat_left=pb.Event.SeatLeft(seat=seat))
        case table.MatchStarted(former_seats):
            return pb.Event(match_started=pb.Event.MatchStarted(former_seats=former_seats))
        case table.MatchAbandoned():
            return pb.Event(match_abandoned=pb.Event.MatchAbandoned())
        case table.TurnTimedOut(seat):
            return pb.Event(turn_timed_out=pb.Event.TurnTimedOut(seat=seat))
        case table.TurnExtended(seat, deadline_ms):
            return pb.Event(turn_extended=pb.Event.TurnExtended(seat=seat, deadline=timestamp(deadline_ms)))
        case table.SeatAway(seat):
            return pb.Event(seat_away=pb.Event.SeatAway(seat=seat))
        case table.SeatReturned(seat):
            return pb.Event(seat_returned=pb.Event.SeatReturned(seat=seat))


def _deal_started(event: DealStarted) -> pb.Event.DealStarted:
    """The hand is the viewer's: all others were taken out."""
    hand = next((hand for hand in event.hands if hand is not None), b"")
    return pb.Event.DealStarted(
        deal=event.deal,
        dealer=event.dealer,
        hand=texts(hand),
        card_counts=[event.hand_size] * len(event.hands),
        up_card=CARDS[event.up_card] if event.up_card is not None else "",
        stock_size=event.stock,
        commitment=event.commitment.hex(),
        next_commitment=event.next_commitment.hex(),
        pool=event.pool,
    )


def _move_to(event: Move) -> pb.Event:  # noqa: C901  one case for each event
    """What a seat did, or what its turn brought."""
    match event:
        case TurnStarted(seat, round):
            return pb.Event(turn_started=pb.Event.TurnStarted(seat=seat, round=round))
        case Drew(seat, count, cards):
            return pb.Event(drew=pb.Event.Drew(seat=seat, count=count, cards=texts(cards or b"")))
        case StockRenewed(how, up_card, stock):
            renewed = pb.Event.StockRenewed(shuffled=how is Renewal.SHUFFLE, up_card=CARDS[up_card], stock_size=stock)
            return pb.Event(stock_renewed=renewed)
        case TookPile(seat, cards):
            return pb.Event(took_pile=pb.Event.TookPile(seat=seat, cards=texts(cards)))
        case Knocked(seat):
            return pb.Event(knocked=pb.Event.Knocked(seat=seat))
        case LaidDown(seat, meld, kind, cards):
            return pb.Event(laid_down=pb.Event.LaidDown(seat=seat, meld=meld, kind=KINDS[kind], cards=texts(cards)))
        case LaidOff(seat, meld, low, high):
            return pb.Event(laid_off=pb.Event.LaidOff(seat=seat, meld=meld, low=texts(low), high=texts(high)))
        case JokerSwapped(seat, meld, card, place):
            return pb.Event(joker_swapped=pb.Event.JokerSwapped(seat=seat, meld=meld, card=CARDS[card], place=place))
        case Discarded(seat, card):
            return pb.Event(discarded=pb.Event.Discarded(seat=seat, card=CARDS[card]))
        case Passed(seat):
            return pb.Event(passed=pb.Event.Passed(seat=seat))
        case HandVoided(seat):
            return pb.Event(hand_voided=pb.Event.HandVoided(seat=seat))
        case SeatOut(seat):
            return pb.Event(seat_out=pb.Event.SeatOut(seat=seat))
