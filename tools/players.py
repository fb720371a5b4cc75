"""Players for simulations: from a whole state to the action of the seat to move.

They see all of the state, but the sensible and the greedy one use only what their seat may know; the others stress the
rules where sense would not: they do anything, live on the top of the pile alone, or never lay a card on the table.
"""

import random
from collections.abc import Callable, Iterable, Mapping

from engine.actions import Action, Discard, Draw, LayDown, LayOff, SwapJoker, Take
from engine.cards import JOKER, put_in
from engine.draws import takes
from engine.legal import discards, is_legal, legal_actions
from engine.rules import DiscardDraw, Scoring
from engine.scoring import card_points
from engine.solver import Objective, best
from engine.state import Phase, State
from engine.view import summary

__all__ = ["PLAYERS", "NoAction", "Player", "anything", "greedy", "never_lays", "sensible", "top_only"]

Player = Callable[[State, random.Random], Action]


class NoAction(Exception):
    """The seat to move has nothing to do that the player would do."""


def anything(state: State, chance: random.Random) -> Action:
    """Any legal action, each as likely."""
    return _one(legal_actions(state, state.turn), chance)


def top_only(state: State, chance: random.Random) -> Action:
    """The top card of the pile wherever it may be had, then anything."""
    top = Take(1)
    return top if state.phase is Phase.DRAW and is_legal(state, state.turn, top) else anything(state, chance)


def never_lays(state: State, chance: random.Random) -> Action:
    """Anything but a lay, and no take that would oblige to one."""
    seat = state.turn
    if state.phase is Phase.PLAY:
        lays = (LayDown, LayOff, SwapJoker)
        return _one((action for action in legal_actions(state, seat) if not isinstance(action, lays)), chance)
    free = not state.rules.use_taken
    return _one((action for action in legal_actions(state, seat) if free or not isinstance(action, Take)), chance)


def sensible(state: State, chance: random.Random) -> Action:
    """What a fair player does without much thought: lay at once all that can be laid, keep pairs, discard the rest.

    From the pile it takes what it can lay at once, and of several depths the shallowest.
    """
    seat = state.turn
    if state.phase is Phase.DRAW:
        return _drawn(state, seat, chance)
    if state.owed:
        lays = [action for action in legal_actions(state, seat) if isinstance(action, LayDown | LayOff)]
        return max(lays, key=lambda lay: len(lay.cards))
    plan = best(state.rules, state.hands[seat], state.melds, seat=seat, objective=_objective(state)).actions
    if plan and is_legal(state, seat, plan[0]):
        return plan[0]
    cards = discards(state, seat)
    return Discard(min(cards, key=lambda card: _use(state, seat, card))) if cards else anything(state, chance)


def greedy(state: State, _chance: random.Random) -> Action:
    """The plain policy of the demo: draw, lay what can be laid, discard the dearest card that goes with no other."""
    seat = state.turn
    options, hand = summary(state, seat), state.hands[seat]
    if options.may_draw:
        return Draw()
    if options.may_lay_down:
        lays = (action for action in legal_actions(state, seat) if isinstance(action, LayDown))
        return max(lays, key=lambda action: len(action.cards))
    if options.lay_offs:
        place = options.lay_offs[0]
        return LayOff(place.meld, bytes([place.card]), place.ends[0] if place.ends else None)
    if options.discards:
        return Discard(max(options.discards, key=lambda card: _burden(hand, card)))
    return Take(options.takes[0]) if options.takes else next(legal_actions(state, seat))


PLAYERS: Mapping[str, Player] = {
    "anything": anything,
    "sensible": sensible,
    "top only": top_only,
    "never lays": never_lays,
}


def _one(actions: Iterable[Action], chance: random.Random) -> Action:
    choice = list(actions)
    if not choice:
        raise NoAction
    return chance.choice(choice)


def _drawn(state: State, seat: int, chance: random.Random) -> Action:
    depths = takes(state, seat)
    if depths and (state.rules.use_taken or _fits(state, seat)):
        return Take(depths[0])
    return Draw() if is_legal(state, seat, Draw()) else anything(state, chance)


def _fits(state: State, seat: int) -> bool:
    """Whether the top card could be laid at once, with the cards in hand."""
    rules, hand, top = state.rules, state.hands[seat], state.pile[-1]
    if rules.discard_draw is DiscardDraw.NONE:
        return False
    left = len(best(rules, hand, state.melds, seat=seat).deadwood)
    return len(best(rules, put_in(hand, [top]), state.melds, seat=seat).deadwood) <= left


def _burden(hand: bytes, card: int) -> tuple[bool, bool, int]:
    """How gladly the demo gives a card away: no joker, none that goes with another, and of the rest the highest."""
    if card == JOKER:
        return False, False, 0
    suit, rank = divmod(card, 13)
    company = [divmod(other, 13) for other in hand if other not in {card, JOKER}]
    goes_along = any(of == rank or (by == suit and abs(of - rank) <= 2) for by, of in company)
    return True, not goes_along, rank


def _use(state: State, seat: int, card: int) -> tuple[int, int]:
    """How many cards of the hand could go with the card, all with a joker; of useless ones the dearest counts least."""
    if card == JOKER:
        return len(state.hands[seat]), 0
    hand, (suit, rank) = state.hands[seat], divmod(card, 13)
    near = sum(held % 13 == rank or (held // 13 == suit and abs(held % 13 - rank) < 3) for held in hand)
    return near, -card_points(state.rules, card)


def _objective(state: State) -> Objective:
    return Objective.MOST_MELDED if state.rules.scoring is Scoring.MELDS else Objective.LEAST_DEADWOOD
