"""Actions, both ways.

Requests are checked before (`service.api.calls`), so that only what the protos allow comes here.
"""

from collections.abc import Iterable

from rummy.v1 import action_pb2 as pb
from rummy.v1 import card_pb2

from engine.actions import Action, Discard, Draw, End, LayDown, LayOff, MeldKind, Pass, SwapJoker, Take
from engine.cards import JOKER, text

__all__ = ["CARDS", "ENDS", "KINDS", "action_from", "action_to", "cards_from", "texts"]

CARDS = tuple(text((card,)) for card in range(JOKER + 1))
"""The text of each card."""

KINDS = {
    None: card_pb2.MELD_KIND_UNSPECIFIED,
    MeldKind.SET: card_pb2.MELD_KIND_SET,
    MeldKind.RUN: card_pb2.MELD_KIND_RUN,
}
ENDS = {None: card_pb2.END_UNSPECIFIED, End.LOW: card_pb2.END_LOW, End.HIGH: card_pb2.END_HIGH}

_NUMBERS = {name: card for card, name in enumerate(CARDS)}
_KINDS_FROM = {number: kind for kind, number in KINDS.items()}
_ENDS_FROM = {number: end for end, number in ENDS.items()}


def texts(cards: Iterable[int]) -> list[str]:
    """The cards as the API writes them."""
    return [CARDS[card] for card in cards]


def cards_from(names: Iterable[str]) -> bytes:
    """The cards with these names."""
    return bytes(_NUMBERS[name] for name in names)


def action_from(message: pb.Action) -> Action:
    """The action that a message asks for."""
    match message.WhichOneof("action"):
        case "draw":
            return Draw()
        case "take":
            return Take(message.take.count)
        case "lay_down":
            return LayDown(cards_from(message.lay_down.cards), _KINDS_FROM[message.lay_down.kind])
        case "lay_off":
            lay_off = message.lay_off
            return LayOff(lay_off.meld, cards_from(lay_off.cards), _ENDS_FROM[lay_off.end])
        case "swap_joker":
            return SwapJoker(message.swap_joker.meld, _NUMBERS[message.swap_joker.card])
        case "discard":
            return Discard(_NUMBERS[message.discard.card])
        case "pass":
            return Pass()
        case None:
            raise AssertionError("the oneof is required, and was checked")


def action_to(action: Action) -> pb.Action:
    """The message that asks for an action."""
    match action:
        case Draw():
            return pb.Action(draw=pb.Action.Draw())
        case Take(count):
            return pb.Action(take=pb.Action.Take(count=count))
        case LayDown(cards, as_):
            return pb.Action(lay_down=pb.Action.LayDown(cards=texts(cards), kind=KINDS[as_]))
        case LayOff(meld, cards, end):
            return pb.Action(lay_off=pb.Action.LayOff(meld=meld, cards=texts(cards), end=ENDS[end]))
        case SwapJoker(meld, card):
            return pb.Action(swap_joker=pb.Action.SwapJoker(meld=meld, card=CARDS[card]))
        case Discard(card):
            return pb.Action(discard=pb.Action.Discard(card=CARDS[card]))
        case Pass():
            message = pb.Action()
            getattr(message, "pass").SetInParent()
            return message
