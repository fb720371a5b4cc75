"""A match in words: each turn as one line, and how a deal ended."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from rummy.v1.event_pb2 import DealResult, Event

__all__ = ["Deed", "Story", "Turn", "deal_in_words"]

_REASONS: Final = {
    DealResult.REASON_OUT: "",
    DealResult.REASON_STOCK: "the stock is gone",
    DealResult.REASON_ROUNDS: "the last round was played",
    DealResult.REASON_IDLE: "nobody gets on",
    DealResult.REASON_STUCK: "the pile was turned over often enough",
    DealResult.REASON_VOIDED: "every hand is void",
}


@dataclass(frozen=True, slots=True)
class Deed:
    """One thing that a seat did, in words and cards: "lays down" 7C 7D 7S."""

    words: str
    cards: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """What a seat did in its turn."""

    seat: int
    round: int
    deeds: list[Deed] = field(default_factory=list)


class Story:
    """Gathers events into turns."""

    def __init__(self) -> None:
        self._turn: Turn | None = None

    def hear(self, event: Event) -> Turn | None:
        """Takes in an event, and gives the turn that it ended, if any."""
        if event.HasField("turn_started") or event.HasField("deal_ended"):
            ended, started = self._turn, event.turn_started
            self._turn = Turn(started.seat, started.round) if event.HasField("turn_started") else None
            return ended
        if self._turn is not None and (deed := _deed(event)):
            self._turn.deeds.append(deed)
        return None


def deal_in_words(result: DealResult, names: Sequence[str]) -> str:
    """How a deal ended, what it brought, and the totals."""
    won = " and ".join(names[seat] for seat in result.winners)
    how = [f"{won} went out" if result.reason == DealResult.REASON_OUT and won else _REASONS.get(result.reason, "")]
    how.append("void, nobody scores" if result.voided else "")
    gained = ", ".join(f"{name} {score:+}" for name, score in zip(names, result.deal_scores, strict=False) if score)
    totals = ", ".join(f"{name} {score}" for name, score in zip(names, result.scores, strict=False))
    kept = f"{result.pool} stay in the pool" if result.pool else ""
    return "; ".join(part for part in (*how, gained, kept, f"totals: {totals}") if part)


def _deed(event: Event) -> Deed | None:  # noqa: C901  one case for each event
    """What a seat did; None for what is told otherwise."""
    match event.WhichOneof("event"):
        case "drew":
            return Deed("draws" if event.drew.count == 1 else f"draws {event.drew.count}")
        case "took_pile":
            return Deed("takes", event.took_pile.cards)
        case "stock_renewed":
            return Deed("shuffles the pile" if event.stock_renewed.shuffled else "turns the pile over")
        case "knocked":
            return Deed("knocks")
        case "laid_down":
            return Deed("lays down", event.laid_down.cards)
        case "laid_off":
            return Deed("lays off", [*event.laid_off.low, *event.laid_off.high])
        case "joker_swapped":
            return Deed("takes a joker for", [event.joker_swapped.card])
        case "discarded":
            return Deed("discards", [event.discarded.card])
        case "passed":
            return Deed("passes")
        case "hand_voided":
            return Deed("fouls: the hand is void")
        case "seat_out":
            return Deed("is out")
    return None
