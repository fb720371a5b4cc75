"""What a seat or a watcher may see: the view of a state, and events with their secrets taken out (G3)."""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from engine.actions import Draw, End, LayDown, LayOff, MeldKind, Pass, SwapJoker
from engine.cards import JOKER
from engine.draws import takes
from engine.events import DealEnd, DealEnded, DealStarted, Drew, Event, TurnStarted
from engine.lays import possible_lay_offs, possible_lays
from engine.legal import discards, is_legal
from engine.melds import extensions, swap_place
from engine.rules import DiscardDraw, RuleSet
from engine.shuffle import commitment
from engine.state import DealResult, MatchResult, Meld, Phase, State

__all__ = ["LayOffPlace", "SeatView", "Summary", "SwapPlace", "View", "preview", "redact", "summary", "view"]


class LayOffPlace(msgspec.Struct, frozen=True, array_like=True):
    """A single card of the hand that may be laid off on a meld; `ends` holds the ends of a run, none for a set."""

    meld: int
    card: int
    ends: tuple[End, ...]


class SwapPlace(msgspec.Struct, frozen=True, array_like=True):
    """A natural of the hand that may be put for a joker of a meld."""

    meld: int
    card: int


class Summary(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """What the seat to move may do now, in short; the full list is `engine.legal.legal_actions`."""

    may_draw: bool
    may_pass: bool
    takes: tuple[int, ...]
    """Depths, from 1, to which the discard pile may be taken."""
    may_lay_down: bool
    """Whether any new meld may be laid."""
    lay_offs: tuple[LayOffPlace, ...]
    swaps: tuple[SwapPlace, ...]
    discards: bytes
    """Cards that may be discarded, each once."""
    may_lay_off_several: bool
    """Whether two or more cards may be laid off at once, as where a card that was taken fits beside another alone."""


class SeatView(msgspec.Struct, frozen=True, array_like=True):
    """What all may know of a seat. `hand` is None while it is hidden from the viewer."""

    cards: int
    score: int
    out: bool
    voided: bool
    hand: bytes | None


class View(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """A match as one seat, or a spectator (`seat` None), sees it."""

    seat: int | None
    rules: RuleSet
    phase: Phase
    deal: int
    dealer: int
    round: int
    turn: int
    seats: tuple[SeatView, ...]
    melds: tuple[Meld, ...]
    """In the order in which they were laid; their indices are their numbers in actions."""
    pile: bytes
    """All of the discard pile where any of it may be taken, else its top card alone; the top is last."""
    pile_size: int
    stock_size: int
    pool: int
    turn_overs: int
    idle: int
    knocked: bool
    owed: int | None
    """The card taken from the pile that is still to be used (F10)."""
    owed_jokers: int
    """Jokers swapped into the hand that are still to be played in this turn."""
    commitment: bytes
    """SHA-256 of this deal's seed (G6)."""
    next_commitment: bytes
    """SHA-256 of the next deal's seed."""
    seed: bytes | None
    """This deal's seed, once the deal is over."""
    result: DealResult | None
    match: MatchResult | None
    options: Summary | None
    """For the seat to move alone."""


def view(state: State, seat: int | None) -> View:
    """What the seat, or a spectator (None), sees of the state: its own hand, of others the count (G3).

    Once a deal is over all its hands and its seed are open. Only the seat to move is told its options.
    """
    over = state.phase in (Phase.DEAL_OVER, Phase.MATCH_OVER)
    seats = tuple(
        SeatView(len(hand), score, not hand, index in state.voided, hand if over or index == seat else None)
        for index, (hand, score) in enumerate(zip(state.hands, state.scores, strict=True))
    )
    spread = state.rules.discard_draw is DiscardDraw.ANY
    return View(
        seat=seat,
        rules=state.rules,
        phase=state.phase,
        deal=state.deal,
        dealer=state.dealer,
        round=state.round,
        turn=state.turn,
        seats=seats,
        melds=state.melds,
        pile=state.pile if spread else state.pile[-1:],
        pile_size=len(state.pile),
        stock_size=len(state.stock),
        pool=state.pool,
        turn_overs=state.turn_overs,
        idle=state.idle,
        knocked=state.knocked,
        owed=state.taken[0] if state.owed else None,
        owed_jokers=state.owed_jokers,
        commitment=commitment(state.seed),
        next_commitment=commitment(state.next_seed),
        seed=state.seed if over else None,
        result=state.result,
        match=state.match,
        options=summary(state, seat) if seat is not None and seat == state.turn and not over else None,
    )


def summary(state: State, seat: int) -> Summary:
    """What the seat may do now, in short; nothing where it is not to move."""
    playing = seat == state.turn and state.phase is Phase.PLAY
    drawing = seat == state.turn and state.phase is Phase.DRAW
    return Summary(
        may_draw=is_legal(state, seat, Draw()),
        may_pass=is_legal(state, seat, Pass()),
        takes=tuple(takes(state, seat)) if drawing else (),
        may_lay_down=playing and any(_legal_lay_downs(state, seat)),
        lay_offs=tuple(_lay_off_places(state, seat)) if playing else (),
        swaps=tuple(_swap_places(state, seat)) if playing else (),
        discards=discards(state, seat) if playing else b"",
        may_lay_off_several=playing and any(_lay_offs_of_several(state, seat)),
    )


def redact(event: Event, seat: int | None) -> Event:
    """The event as the seat, or a spectator (None), may see it (G3)."""
    match event:
        case DealStarted():
            return replace(
                event, hands=tuple(hand if index == seat else None for index, hand in enumerate(event.hands))
            )
        case Drew() if event.seat != seat:
            return replace(event, cards=None)
        case _:
            return event


def preview(events: Sequence[Event]) -> tuple[Event, ...]:
    """What a dry run tells of the events it would bring: nothing that a hand or the stock decides (G3, P15)."""
    told: list[Event] = []
    for event in events:
        match event:
            case Drew():
                told.append(replace(event, cards=None))
            case DealEnded(end=DealEnd.STUCK) if any(isinstance(earlier, TurnStarted) for earlier in told):
                break  # whether the next seat can go on is a matter of its hand
            case DealEnded():
                told.append(replace(event, scores=(), totals=(), pool=0, hands=(), seed=b""))
                break  # whether the match goes on is a matter of the hands
            case _:
                told.append(event)
    return tuple(told)


def _legal_lay_downs(state: State, seat: int) -> Iterator[LayDown]:
    lays = possible_lays(state, seat, state.taken[0] if state.owed else None)
    return (lay for lay in lays if isinstance(lay, LayDown) and is_legal(state, seat, lay))


def _lay_offs_of_several(state: State, seat: int) -> Iterator[LayOff]:
    using = state.taken[0] if state.owed else None
    for index in range(len(state.melds)):
        lays = possible_lay_offs(state, seat, index, using)
        yield from (lay for lay in lays if len(lay.cards) > 1 and is_legal(state, seat, lay))


def _lay_off_places(state: State, seat: int) -> Iterator[LayOffPlace]:
    for index, meld in enumerate(state.melds):
        for card in sorted(set(state.hands[seat])):
            one = bytes([card])
            if not extensions(state.rules, meld, one):
                continue  # most cards fit most melds nowhere: no need to ask for the reason
            if meld.kind is MeldKind.SET:
                if is_legal(state, seat, LayOff(index, one)):
                    yield LayOffPlace(index, card, ())
            elif ends := tuple(end for end in End if is_legal(state, seat, LayOff(index, one, end))):
                yield LayOffPlace(index, card, ends)


def _swap_places(state: State, seat: int) -> Iterator[SwapPlace]:
    for index, meld in enumerate(state.melds):
        if JOKER in meld.cards:
            for card in sorted(set(state.hands[seat])):
                fits = swap_place(state.rules, meld, card) is not None
                if fits and is_legal(state, seat, SwapJoker(index, card)):
                    yield SwapPlace(index, card)
