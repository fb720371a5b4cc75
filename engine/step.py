"""Play: a match begun, one action, a request of several, the next deal.

    state, events = start(rules, 2, seed, next_seed)
    state, events = step(state, 0, Draw())

Each takes a state and gives the next one with the events that led there; no state is ever changed. What the rules
forbid raises `Refused`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from engine import shuffle
from engine.actions import Action, Discard, Draw, LayDown, LayOff, Pass, SwapJoker, Take
from engine.cards import take_out
from engine.deal import dealt, draw_count
from engine.draws import taking
from engine.errors import BadRequest, BadRules, Misfit, Reason, Refused
from engine.events import (
    DealEnd,
    DealEnded,
    DealStarted,
    Discarded,
    Drew,
    Event,
    HandVoided,
    Knocked,
    Passed,
    Renewal,
    StockRenewed,
    TookPile,
    TurnStarted,
)
from engine.faults import faults
from engine.lays import Placed, after
from engine.legal import check
from engine.rules import Foul, OpeningOrder, RuleSet, StockEmpty
from engine.state import Phase, State, Step
from engine.turns import begin_turn, end_deal, end_turn
from engine.view import preview

__all__ = ["Played", "Step", "next_deal", "play", "start", "step"]


class Played(NamedTuple):
    """What a request came to: the state after it, its events, and how many of its actions were accepted."""

    state: State
    events: tuple[Event, ...]
    accepted: int
    """All, unless a foul has ended the request: then those up to it."""


def start(rules: RuleSet, seats: int, seed: bytes, next_seed: bytes, entropy: bytes = b"") -> Step:
    """A match begun, its first deal dealt by `seed`. Both seeds are 32 random bytes; `next_seed` is for deal 2 (G6).

    `entropy`, what the players add, goes into every shuffle of the match.

    Raises BadRules, with every fault, where so many seats cannot play by the rules.
    """
    found = faults(rules, seats)
    if found:
        raise BadRules(found)
    _check_seeds(seed, next_seed)
    scores = (0,) * seats
    return _begin(
        dealt(
            rules,
            deal=1,
            dealer=seats - 1,
            scores=scores,
            pool=0,
            seed=seed,
            next_seed=next_seed,
            entropy=entropy,
        )
    )


def next_deal(state: State, next_seed: bytes) -> Step:
    """The next deal, dealt by the seed that the state holds for it; the deal passes to the left (B2, P3).

    `next_seed`, 32 random bytes, is for the deal after it. Raises Refused unless the deal is over and the match is not.
    """
    if state.phase is not Phase.DEAL_OVER:
        over = state.phase is Phase.MATCH_OVER
        text = "the match is over" if over else "the deal is not over"
        raise Refused(Reason.MATCH_OVER if over else Reason.WRONG_PHASE, text, clause="B2")
    _check_seeds(next_seed)
    return _begin(
        dealt(
            state.rules,
            deal=state.deal + 1,
            dealer=(state.dealer + 1) % len(state.hands),
            scores=state.scores,
            pool=state.pool,
            seed=state.next_seed,
            next_seed=next_seed,
            entropy=state.entropy,
        )
    )


def step(state: State, seat: int, action: Action) -> Step:
    """One action of a seat. Raises Refused for what the rules forbid; a foul is played where fouls count (P15)."""
    try:
        placed = check(state, seat, action)
    except Misfit:
        if state.rules.foul is Foul.VOID_HAND:
            return _voided(state, seat)
        raise
    if placed is not None:
        return _laid(state, seat, placed)
    match action:
        case Draw():
            return _drawn(state, seat)
        case Take(count):
            then = taking(state, seat, count)
            return Step(then, (TookPile(seat, then.taken),))
        case Discard(card):
            return _discarded(state, seat, card)
        case Pass() if state.phase is Phase.DRAW:
            return end_deal(state, DealEnd.STOCK, Passed(seat))
        case Pass():
            return end_turn(state, Passed(seat))
        case LayDown() | LayOff() | SwapJoker():
            raise AssertionError("a lay is always placed")


def play(state: State, seat: int, actions: Sequence[Action], *, dry_run: bool = False) -> Played:
    """Several actions of a seat as one request: in order, all or none (G4).

    A foul ends its request and stands, with the actions before it (P15). A dry run changes nothing and tells only what
    the seat could know before: there a foul is refused, and no card still to be drawn, nor any hand, is shown.
    Raises Refused, with the `index` of the action, or BadRequest for actions that cannot stand together.
    """
    _check_request(actions)
    events: list[Event] = []
    then, accepted = state, 0
    for index, action in enumerate(actions):
        try:
            if any(_ends_turn(event, seat) for event in events):
                raise Refused(Reason.NOT_YOUR_TURN, "the turn ends with the action before", clause="B2")
            if dry_run:
                check(then, seat, action)
            then, new = step(then, seat, action)
        except Refused as refusal:
            refusal.index = index
            raise
        events += new
        accepted += 1
        if any(isinstance(event, HandVoided) for event in new):
            break
    return Played(state, preview(events), accepted) if dry_run else Played(then, tuple(events), accepted)


def _ends_turn(event: Event, seat: int) -> bool:
    """Whether nothing of the seat may follow the event in its request. How a deal ended may be news: it is not told."""
    return isinstance(event, DealEnded) or (isinstance(event, TurnStarted) and event.seat != seat)


def _check_request(actions: Sequence[Action]) -> None:
    if not actions:
        raise BadRequest("no action is named", 0)
    for index, action in enumerate(actions[:-1]):
        if isinstance(action, Draw):
            raise BadRequest("a draw from the stock must be the last action of its request", index)


def _check_seeds(*seeds: bytes) -> None:
    if any(len(seed) != shuffle.SEED_SIZE for seed in seeds):
        raise ValueError(f"a seed has {shuffle.SEED_SIZE} bytes")


def _begin(state: State) -> Step:
    started = DealStarted(
        deal=state.deal,
        dealer=state.dealer,
        hand_size=len(state.hands[0]),
        stock=len(state.stock),
        up_card=state.pile[-1] if state.pile else None,
        pool=state.pool,
        commitment=shuffle.commitment(state.seed),
        next_commitment=shuffle.commitment(state.next_seed),
        hands=state.hands,
    )
    return begin_turn(state, started)


def _drawn(state: State, seat: int) -> Step:
    """Cards from the stock, which is renewed on the way where the rules have it (B8, P7, P18)."""
    events: list[Event] = []
    rules, wanted = state.rules, draw_count(state)
    if rules.stock_empty is StockEmpty.END_DEAL and len(state.stock) < wanted:
        return end_deal(state, DealEnd.STOCK)
    while True:
        cards = state.stock[:wanted]
        if cards:
            wanted -= len(cards)
            hands = _with_hand(state, seat, bytes(sorted(state.hands[seat] + cards)))
            state = replace(state, phase=Phase.PLAY, hands=hands, stock=state.stock[len(cards) :], busy=True)
            events.append(Drew(seat, len(cards), cards))
        if not wanted or rules.stock_empty is StockEmpty.PILE_ONLY:
            return Step(state, tuple(events))
        if len(state.pile) < 2 and events:
            return Step(state, tuple(events))  # as many cards as can be had
        if len(state.pile) < 2 or state.turn_overs >= rules.turn_over_limit:
            return end_deal(state, DealEnd.STUCK, *events)
        state, renewed = _renewed(state)
        events += renewed


def _renewed(state: State) -> Step:
    """The pile made into a new stock: turned over as it lies, or its cards below the top shuffled by the seed (B8)."""
    times = state.turn_overs + 1
    if state.rules.stock_empty is StockEmpty.TURN_OVER:
        how, pile, stock = Renewal.TURN_OVER, state.pile[:1], state.pile[1:]
    else:
        how, pile = Renewal.SHUFFLE, state.pile[-1:]
        stock = shuffle.order(state.seed, state.pile[:-1], renewal=times, entropy=state.entropy)
    return Step(replace(state, stock=stock, pile=pile, turn_overs=times), (StockRenewed(how, pile[0], len(stock)),))


def _laid(state: State, seat: int, placed: Placed) -> Step:
    """Cards on the table; who lays the last of his hand ends his turn with it (B9)."""
    knocks = not state.knocked and state.rules.opening_order is OpeningOrder.FIRST_PLAYER
    events: list[Event] = [Knocked(seat), placed.event] if knocks else [placed.event]
    then = after(state, seat, placed)
    return Step(then, tuple(events)) if placed.hand else end_turn(then, *events)


def _discarded(state: State, seat: int, card: int) -> Step:
    hand = take_out(state.hands[seat], [card])
    then = replace(state, hands=_with_hand(state, seat, hand), pile=state.pile + bytes([card]))
    if not hand:
        last = bytearray(state.last_discards)
        last[seat] = card
        then = replace(then, last_discards=bytes(last))
    return end_turn(then, Discarded(seat, card))


def _voided(state: State, seat: int) -> Step:
    """A foul: the hand is void, and the turn is over (P15)."""
    then = replace(state, voided=tuple(sorted((*state.voided, seat))))
    return end_turn(then, HandVoided(seat))


def _with_hand(state: State, seat: int, hand: bytes) -> tuple[bytes, ...]:
    hands = list(state.hands)
    hands[seat] = hand
    return tuple(hands)
