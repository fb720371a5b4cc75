"""Actions, both ways.

Requests are checked before (`service.api.calls`), so that only what the protos allow comes here.
"""

from collections.abc import Iterable

from rummy.v1 import action_pb2 as pb

from engine.actions import Action, Discard, Draw, LayDown, LayOff, Pass, SwapJoker, Take
from service.api.convert.cards import CARDS, ENDS, KINDS, NUMBERS, texts

__all__ = ["action_from", "action_to"]


def action_from(message: pb.Action) -> Action:
    """The action that a message asks for."""
    match message.WhichOneof("action"):
        case "draw":
            return Draw()
        case "take":
            return Take(message.take.count)
        case "lay_down":
            return LayDown(_cards(message.lay_down.cards), _KINDS[message.lay_down.kind])
        case "lay_off":
            lay_off = message.lay_off
            return LayOff(lay_off.meld, _cards(lay_off.cards), _ENDS[lay_off.end])
        case "swap_joker":
            return SwapJoker(message.swap_joker.meld, NUMBERS[message.swap_joker.card])
        case "discard":
            return Discard(NUMBERS[message.discard.card])
        case "pass_turn":
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
        case LayDown(cards, kind):
            return pb.Action(lay_down=pb.Action.LayDown(cards=texts(cards), kind=KINDS[kind]))
        case LayOff(meld, cards, end):
            return pb.Action(lay_off=pb.Action.LayOff(meld=meld, cards=texts(cards), end=ENDS[end]))
        case SwapJoker(meld, card):
            return pb.Action(swap_joker=pb.Action.SwapJoker(meld=meld, card=CARDS[card]))
        case Discard(card):
            return pb.Action(discard=pb.Action.Discard(card=CARDS[card]))
        case Pass():
            return pb.Action(pass_turn=pb.Action.Pass())


_KINDS = {number: kind for kind, number in KINDS.items()}
_ENDS = {number: end for end, number in ENDS.items()}


def _cards(names: Iterable[str]) -> bytes:
    return bytes(NUMBERS[name] for name in names)
