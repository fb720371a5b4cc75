"""How a seat of the demo plays, from what the API tells it alone: its view with its options, and what is legal.

It draws, lays down and lays off what it can, and discards the dearest card that goes with no other of its hand.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

from rummy.v1.action_pb2 import Action
from rummy.v1.card_pb2 import END_UNSPECIFIED
from rummy.v1.view_pb2 import View

__all__ = ["choose"]

_RANKS: Final = "A23456789TJQK"


async def choose(view: View, legal: Callable[[], AsyncIterator[Action]]) -> Action:
    """The next action of the seat to move, whose view has options. `legal` lists what is legal, when asked."""
    options = view.options
    if options.draw:
        return Action(draw=Action.Draw())
    if options.lay_down:
        melds = [action async for action in legal() if action.HasField("lay_down")]
        return max(melds, key=lambda action: len(action.lay_down.cards))
    if options.lay_off:
        place = options.lay_off[0]
        end = place.ends[0] if place.ends else END_UNSPECIFIED
        return Action(lay_off=Action.LayOff(meld=place.meld, cards=[place.card], end=end))
    if options.discard:
        return Action(discard=Action.Discard(card=max(options.discard, key=lambda card: _burden(card, view.hand))))
    if options.take:
        return Action(take=Action.Take(count=options.take[0]))
    return await anext(legal())


def _burden(card: str, hand: Sequence[str]) -> tuple[bool, bool, int]:
    """How gladly a card is given away: no joker, no card that goes with another, and of the rest the highest."""
    if card == "JK":
        return False, False, 0
    rank, suit = _RANKS.index(card[0]), card[1]
    company = [other for other in hand if other not in {card, "JK"}]
    goes_along = any(
        other[0] == card[0] or (other[1] == suit and abs(_RANKS.index(other[0]) - rank) <= 2) for other in company
    )
    return True, not goes_along, rank
