"""What a seat may do: the one place that judges an action, and the list of all that it would let pass.

`check` tries the refusals in the order in which the rules give them: match over, not your turn, wrong phase, laying
down closed, no such meld, card not in hand, shape, taken card unused, discard.
"""

from collections.abc import Iterator

from engine.actions import Action, Discard, Draw, LayDown, LayOff, Pass, SwapJoker, Take
from engine.cards import JOKER, write_cards
from engine.deal import first_player
from engine.draws import check_draw, check_no_draw, check_take, may_do_neither, may_draw, takes
from engine.errors import Reason, Refused
from engine.lays import Placed, check_lay, possible_lays
from engine.rules import Discarding, GoOut, JokerSwap
from engine.state import Phase, State

__all__ = ["check", "discards", "is_legal", "legal_actions"]


def check(state: State, seat: int, action: Action) -> Placed | None:
    """What a lay comes to, None for any other action that the rules allow. Raises Refused for what they forbid."""
    _check_turn(state, seat, action)
    match action:
        case Draw():
            check_draw(state)
        case Take(count):
            check_take(state, seat, count)
        case Discard(card):
            _check_discard(state, seat, card)
        case Pass():
            _check_pass(state, seat)
        case LayDown() | LayOff() | SwapJoker():
            return check_lay(state, seat, action)
    return None


def is_legal(state: State, seat: int, action: Action) -> bool:
    """Whether the rules allow the action; a foul (P15) is accepted, yet not legal."""
    try:
        check(state, seat, action)
    except Refused:
        return False
    return True


def legal_actions(state: State, seat: int) -> Iterator[Action]:
    """Every legal action of the seat, each once whatever the equal cards, made as it is asked for (G7).

    Where cards can be named in several orders to the same effect one of these stands for all; `kind` and `end` are
    given only where they are needed. Nothing for a seat that is not to move.
    """
    if seat != state.turn:
        return
    if state.phase is Phase.DRAW:
        if may_draw(state):
            yield _DRAW
        if may_do_neither(state):
            yield Pass()
        yield from map(Take, takes(state, seat))
    elif state.phase is Phase.PLAY:
        lays = possible_lays(state, seat, state.taken[0] if state.owed else None)
        yield from lays if _unbound(state) else (lay for lay in lays if is_legal(state, seat, lay))
        yield from map(_DISCARDS.__getitem__, discards(state, seat))
        if not _indebted(state) and _may_keep_all(state, seat):
            yield Pass()


def discards(state: State, seat: int) -> bytes:
    """The cards that the seat may discard now, each once."""
    if seat != state.turn or state.phase is not Phase.PLAY or _indebted(state):
        return b""
    hand = state.hands[seat]
    cards = hand.translate(None, _barred(state, hand))
    return cards if len(set(cards)) == len(cards) else bytes(dict.fromkeys(cards))


def _check_turn(state: State, seat: int, action: Action) -> None:
    if state.phase is Phase.MATCH_OVER:
        raise Refused(Reason.MATCH_OVER, "the match is over", clause="B9")
    if seat != state.turn:
        raise Refused(Reason.NOT_YOUR_TURN, f"seat {state.turn} is to move", clause="B2")
    fitting = _PHASES.get(state.phase, ())
    if not isinstance(action, fitting):
        raise Refused(Reason.WRONG_PHASE, _WRONG_PHASE[state.phase], clause="B6")


def _check_discard(state: State, seat: int, card: int) -> None:
    hand = state.hands[seat]
    if card not in hand:
        named = write_cards([card])
        raise Refused(Reason.CARD_NOT_IN_HAND, f"the hand does not hold {named}", clause="B6", cards=named)
    _check_debts(state)
    if card in _barred(state, hand):
        named = write_cards([card])
        why = f"{named} was just taken from the discard pile"
        raise Refused(Reason.SAME_CARD_AS_TAKEN, why, clause="B6", field="discard_differs", cards=named)


def _check_pass(state: State, seat: int) -> None:
    if state.phase is Phase.DRAW:
        check_no_draw(state)
        return
    _check_debts(state)
    if _may_keep_all(state, seat):
        return
    if state.rules.discard is Discarding.REQUIRED:
        raise Refused(Reason.DISCARD_REQUIRED, "the turn ends with a discard", clause="B6", field="discard")
    why = "in round 1 the first player and the dealer must discard"
    raise Refused(Reason.DISCARD_REQUIRED, why, clause="P11", field="discard")


def _may_keep_all(state: State, seat: int) -> bool:
    """Whether a turn may end without a discard (P11)."""
    if state.rules.discard is Discarding.REQUIRED:
        return False
    return state.round > 1 or seat not in (first_player(state), state.dealer)


def _barred(state: State, hand: bytes) -> bytes:
    """The cards that may not be discarded, as they were just taken; none where every card left is so barred (B6)."""
    if not state.taken or not state.rules.discard_differs or not hand.translate(None, state.taken):
        return b""
    return state.taken


def _unbound(state: State) -> bool:
    """Whether a lay has but to be of a right shape: nothing is owed or will be, and the last card may go in any way."""
    rules = state.rules
    return not _indebted(state) and rules.go_out is GoOut.FREE and rules.joker_swap is not JokerSwap.SAME_TURN


def _indebted(state: State) -> bool:
    return state.owed or state.owed_jokers > 0


def _check_debts(state: State) -> None:
    """A turn does not end before the card taken and the jokers swapped in are used."""
    if state.owed:
        chosen = write_cards(state.taken[:1])
        why = f"{chosen} was taken to be used at once"
        raise Refused(Reason.TAKEN_CARD_UNUSED, why, clause="F10", field="use_taken", cards=chosen)
    if state.owed_jokers:
        why = "the joker swapped in must be played in this turn"
        raise Refused(Reason.JOKER_NOT_PLAYED, why, clause="B7", field="joker_swap", cards="JK")


_DRAW = Draw()
_DISCARDS = [*map(Discard, range(JOKER + 1))]
_PHASES = {Phase.DRAW: (Draw, Take, Pass), Phase.PLAY: (LayDown, LayOff, SwapJoker, Discard, Pass)}
_WRONG_PHASE = {
    Phase.DRAW: "the turn begins with a card from the stock or the discard pile",
    Phase.PLAY: "this turn's card is drawn already",
    Phase.DEAL_OVER: "the deal is over",
}
