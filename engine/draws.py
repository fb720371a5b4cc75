"""The start of a turn: from the stock, from the pile, or neither."""

from msgspec.structs import replace

from engine.cards import put_in, write_cards
from engine.errors import Reason, Refused
from engine.lays import may_lay, possible_lays
from engine.rules import DiscardDraw, RuleSet, StockEmpty
from engine.state import Phase, State

__all__ = ["check_draw", "check_no_draw", "check_take", "may_do_neither", "may_draw", "stuck", "takes", "taking"]


def check_draw(state: State) -> None:
    """Whether the seat to move may draw from the stock (B6, B8, F14, P18). Raises Refused where it may not."""
    if may_draw(state):
        return
    why = f"the stock is empty, and {len(state.pile)} cards in the discard pile cannot renew it"
    clause = "F14" if state.rules.stock_empty is StockEmpty.PILE_ONLY else "B8"
    raise Refused(Reason.STOCK_EMPTY, why, clause=clause, field="stock_empty")


def may_draw(state: State) -> bool:
    """Whether the seat to move may draw from the stock; where it could do nothing else that ends the deal (B8, P18)."""
    return bool(state.stock) or state.rules.stock_empty is StockEmpty.END_DEAL or _renewable(state) or stuck(state)


def may_do_neither(state: State) -> bool:
    """Whether the seat to move may neither draw nor take (F14)."""
    return state.rules.stock_empty is StockEmpty.PILE_ONLY and not state.stock


def check_take(state: State, seat: int, count: int) -> None:
    """Whether the seat to move may take so many cards of the pile (B6, F9, F10, P12). Raises Refused where not."""
    rule, pile = state.rules.discard_draw, state.pile
    if rule is DiscardDraw.NONE or (rule is DiscardDraw.TOP and count > 1):
        why = "nothing is taken from the discard pile" if rule is DiscardDraw.NONE else "only its top card is taken"
        clause = "P12" if rule is DiscardDraw.NONE else "B6"
        raise Refused(Reason.DISCARD_PILE_CLOSED, why, clause=clause, field="discard_draw")
    if not pile:
        raise Refused(Reason.DISCARD_PILE_EMPTY, "the discard pile is empty", clause="F9")
    if not 1 <= count <= len(pile):
        why = f"{count} cards cannot be taken from a pile of {len(pile)}"
        raise Refused(Reason.NOT_IN_DISCARD_PILE, why, clause="F9")
    if not _owes(state.rules, count):
        return
    then = taking(state, seat, count)
    if not _chosen_usable(then, seat):
        chosen = write_cards(then.taken[:1])
        why = f"{chosen} could be used neither in a meld nor in a lay-off at once"
        raise Refused(Reason.CARD_NOT_USABLE, why, clause="F10", field="use_taken", cards=chosen)


def check_no_draw(state: State) -> None:
    """Whether the seat to move may neither draw nor take (F14). Raises Refused where it must do one."""
    if not may_do_neither(state):
        why = "the turn begins with a card from the stock or the discard pile"
        raise Refused(Reason.WRONG_PHASE, why, clause="F14", field="stock_empty")


def takes(state: State, seat: int) -> list[int]:
    """The depths to which the seat to move may take the pile."""
    if state.rules.discard_draw is DiscardDraw.NONE:
        return []
    depths = range(1, len(state.pile[-1:] if state.rules.discard_draw is DiscardDraw.TOP else state.pile) + 1)
    if not state.rules.use_taken:
        return [*depths]
    return [count for count in depths if _takeable(state, seat, count)]


def stuck(state: State) -> bool:
    """Whether the seat to move can neither draw, nor take, nor pass: the deal is void (B8)."""
    if state.stock or state.rules.stock_empty in (StockEmpty.PILE_ONLY, StockEmpty.END_DEAL) or _renewable(state):
        return False
    return not takes(state, state.turn)


def taking(state: State, seat: int, count: int) -> State:
    """The state with the `count` top cards of the pile in the seat's hand."""
    taken = state.pile[-count:]
    hands = (*state.hands[:seat], put_in(state.hands[seat], taken), *state.hands[seat + 1 :])
    owed = _owes(state.rules, count)
    return replace(state, phase=Phase.PLAY, hands=hands, pile=state.pile[:-count], taken=taken, owed=owed)


def _owes(rules: RuleSet, count: int) -> bool:
    """Whether the deepest of so many cards taken must be used at once (F10)."""
    return rules.use_taken and not (count == 1 and rules.top_free)


def _renewable(state: State) -> bool:
    """Whether an empty stock leads to a renewal, be it one too many: that draw is accepted and voids the deal."""
    return state.rules.stock_empty in (StockEmpty.TURN_OVER, StockEmpty.SHUFFLE) and len(state.pile) > 1


def _takeable(state: State, seat: int, count: int) -> bool:
    try:
        check_take(state, seat, count)
    except Refused:
        return False
    return True


def _chosen_usable(state: State, seat: int) -> bool:
    """Whether any lay with the chosen card is open to the seat that has just taken it."""
    return any(may_lay(state, seat, lay) for lay in possible_lays(state, seat, state.taken[0]))
