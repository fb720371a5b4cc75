"""Players for simulations: from a whole state to the action of the seat to move.

They see all of the state, but the sensible one uses only what its seat may know; the others stress the rules where
sense would not: they do anything, live on the top of the pile alone, or never lay a card on the table.
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

__all__ = ["PLAYERS", "NoAction", "Player", "anything", "never_lays", "sensible", "top_only"]

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


def _use(state: State, seat: int, card: int) -> tuple[int, int]:
    """How many cards of the hand could go with the card, all with a joker; of useless ones the dearest counts least."""
    if card == JOKER:
        return len(state.hands[seat]), 0
    hand, (suit, rank) = state.hands[seat], divmod(card, 13)
    near = sum(held % 13 == rank or (held // 13 == suit and abs(held % 13 - rank) < 3) for held in hand)
    return near, -card_points(state.rules, card)


def _objective(state: State) -> Objective:
    return Objective.MOST_MELDED if state.rules.scoring is Scoring.MELDS else Objective.LEAST_DEADWOOD
