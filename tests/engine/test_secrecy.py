"""Two worlds that a viewer cannot tell apart: the same deal, but for cards that it never gets to see.

Both are played by the same actions. Whatever the viewer is sent in the one must be, byte for byte, what it is sent in
the other: its views, events, options, lists, refusals and dry runs. Besides, at each moment, the cards that it cannot
see just then change places in the other world, and all that does not show one of them must stay the same.
"""

import random
from collections.abc import Iterator
from itertools import accumulate, count

import msgspec
import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from engine.actions import Action, Draw
from engine.cards import JOKER
from engine.errors import Refused
from engine.events import DealEnded, Discarded, Drew, Event, JokerSwapped, LaidDown, LaidOff, StockRenewed, TookPile
from engine.legal import legal_actions
from engine.notation import write_action, write_position
from engine.rules import DiscardDraw, RuleSet
from engine.shuffle import SEED_SIZE
from engine.state import Phase, State, Step
from engine.step import next_deal, play, start, step
from engine.view import redact, summary, view
from tests.strategies import Chooser, any_legal, eager, reshuffled, rules_of, seeds, some_action, tables

Table = tuple[RuleSet, int]
Viewer = int | None
Moment = tuple[State, Action, tuple[Event, ...]]
Held = list[tuple[int, int]]
"""Cards, each after the place where it lay when the deal began; SEEN for a card that has lain face up since."""
SEEN = -1


@given(tables(), seeds)
@settings(max_examples=10, deadline=None)
@pytest.mark.clause("G3")
def test_cards_that_a_viewer_never_sees_change_nothing_that_it_is_sent(table: Table, seed: int) -> None:
    """Over whole matches, cards that stay hidden may lie anywhere, and nobody is sent another byte for it."""
    look_alike(table, seed, eager, most=120)


@pytest.mark.parametrize("preset", ["basic", "rummy500", "pool500", "pool500-cutthroat"])
@pytest.mark.parametrize("options", [{"deals": 2}, {"deals": 1, "jokers": 4, "joker_swap": "same_turn"}])
@pytest.mark.clause("G3")
def test_so_it_is_in_whole_matches_of_each_game(preset: str, options: dict[str, object]) -> None:
    """Matches of each game, played to their end, look alike to everybody whatever stays hidden."""
    rules = rules_of(preset, **options)
    assert look_alike((rules, 3), 1, eager, most=2000) is Phase.MATCH_OVER
    assert look_alike((rules, 2), 2, any_legal, most=150)


@pytest.mark.clause("G3")
def test_any_hidden_card_may_lie_in_any_hidden_place() -> None:
    """In the other world jokers, and cards whose equal is seen, have changed places with others, and none is lost."""
    chance = random.Random(3)  # noqa: S311  a match to test
    state = start(rules_of("pool500"), 3, chance.randbytes(SEED_SIZE), chance.randbytes(SEED_SIZE)).state
    deal, own = list(played(state, eager, chance, 1)), state.hands[1]
    others = [dealt_otherwise(deal, 1, chance) for _ in range(10)]
    for other in others:
        assert other.hands[1] == own
        assert sorted(b"".join((*other.hands, other.stock))) == sorted(b"".join((*state.hands, state.stock)))
    single = [card for card in own if own.count(card) == 1]
    assert all(len({place_of(card, other) for other in others}) > 1 for card in (JOKER, *single))


def place_of(card: int, state: State) -> tuple[int, ...]:
    """How many of the card each hand holds, and where in the stock it first lies."""
    return (*(hand.count(card) for hand in state.hands), state.stock.find(card))


def look_alike(table: Table, seed: int, choose: Chooser, *, most: int) -> Phase:
    """Play a match, deal by deal, and compare what each viewer is sent in another world; the phase that it comes to."""
    chance = random.Random(seed)  # noqa: S311  a match to test
    state = start(*table, chance.randbytes(SEED_SIZE), chance.randbytes(SEED_SIZE)).state
    while True:
        deal = list(played(state, choose, chance, most))
        most -= len(deal)
        for viewer in (*range(len(state.hands)), None):
            watched = chance.choice([len(deal), chance.randint(0, len(deal))])  # the shorter, the more stays hidden
            compare(deal[:watched], viewer, chance)
        if deal:
            state = step(deal[-1][0], deal[-1][0].turn, deal[-1][1]).state
        if state.phase is not Phase.DEAL_OVER or most <= 0:
            return state.phase
        state = next_deal(state, chance.randbytes(SEED_SIZE)).state


def played(state: State, choose: Chooser, chance: random.Random, most: int) -> Iterator[Moment]:
    """A deal from here on: each state, what is done in it, and the events."""
    for _ in range(most):
        if state.phase not in (Phase.DRAW, Phase.PLAY):
            return
        action = choose(state, chance)
        then, events = step(state, state.turn, action)
        yield state, action, events
        state = then


def compare(deal: list[Moment], viewer: Viewer, chance: random.Random) -> None:
    """Play the deal again with the cards dealt otherwise that the viewer never sees, as long as it can be played so."""
    if not deal:
        return
    other = dealt_otherwise(deal, viewer, chance)
    for state, action, events in deal:
        now = laid_otherwise(other, viewer, chance)
        told = f"viewer {viewer}\n{write_position(state)}\n{write_position(now)}\n{write_action(action)}"
        tried = some_action(state, 0 if viewer is None else viewer, chance)
        assert seen(state, viewer, action, tried) == seen(now, viewer, action, tried), told
        shown = done(now, action) if viewer != state.turn else None
        assert shown is None or sent(events, viewer) == sent(shown.events, viewer), told
        then = done(other, action)
        if then is None:
            return  # another seat could do it by a hidden card alone; there the worlds part
        assert sent(events, viewer) == sent(then.events, viewer), told
        other = then.state
        if other.phase not in (Phase.DRAW, Phase.PLAY):
            return


def done(state: State, action: Action) -> Step | None:
    """What comes of the action of the seat to move; None where the rules forbid it."""
    try:
        return step(state, state.turn, action)
    except Refused:
        return None


def laid_otherwise(state: State, viewer: Viewer, chance: random.Random) -> State:
    """The state in which all cards that the viewer does not see just now lie otherwise: in hands, stock and pile.

    The oldest card of the pile is kept, with the top: it would be turned up with a new stock.
    """
    other, pile = reshuffled(state, viewer, chance), state.pile
    if state.rules.discard_draw is DiscardDraw.ANY or len(pile) < 4:
        return other
    return replace(other, pile=pile[:1] + bytes(chance.sample(pile[1:-1], len(pile) - 2)) + pile[-1:])


def dealt_otherwise(deal: list[Moment], viewer: Viewer, chance: random.Random) -> State:
    """The first state of the deal, in which cards that the viewer sees in none of its states have changed places."""
    begun = deal[0][0]
    cards = b"".join((*begun.hands, begun.stock))
    hidden = sorted(set(range(len(cards))) - shown_places(deal, viewer))
    dealt = bytearray(cards)
    for place, other in zip(hidden, chance.sample(hidden, len(hidden)), strict=True):
        dealt[place] = cards[other]
    *starts, stock = accumulate(map(len, begun.hands), initial=0)
    hands = tuple(bytes(sorted(dealt[at : at + len(hand)])) for at, hand in zip(starts, begun.hands, strict=True))
    return replace(begun, hands=hands, stock=bytes(dealt[stock:]))


def shown_places(deal: list[Moment], viewer: Viewer) -> set[int]:
    """Of the places of the hands, one after the other, and of the stock, those whose card the viewer ever sees."""
    begun, numbers = deal[0][0], count()
    held: list[Held] = [[(next(numbers), card) for card in hand] for hand in begun.hands]
    stock = [next(numbers) for _ in begun.stock]
    shown = {SEEN, *(place for place, _ in held[viewer])} if viewer is not None else {SEEN}
    for event in (event for _, _, events in deal for event in events):
        match event:
            case Drew(seat=seat, cards=bytes() as cards):
                drawn, stock = stock[: len(cards)], stock[len(cards) :]
                held[seat] += zip(drawn, cards, strict=True)
                shown.update(drawn if seat == viewer else ())
            case StockRenewed(stock=size):
                stock = [SEEN] * size
            case TookPile(seat=seat, cards=taken):
                held[seat] += [(SEEN, card) for card in taken]
            case LaidDown(seat=seat) | LaidOff(seat=seat) | Discarded(seat=seat) | JokerSwapped(seat=seat):
                shown.update(parted(held[seat], card) for card in put_up(event))
                held[seat] += [(SEEN, JOKER)] if isinstance(event, JokerSwapped) else []
    return shown


def put_up(event: LaidDown | LaidOff | Discarded | JokerSwapped) -> bytes:
    """The cards that leave the hand."""
    match event:
        case LaidDown(cards=cards):
            return cards
        case LaidOff(low=low, high=high):
            return low + high
        case Discarded(card=card) | JokerSwapped(card=card):
            return bytes([card])


def parted(held: Held, card: int) -> int:
    """Take the card out of the hand, an equal one that has been seen before any other; where it came from."""
    place = min(place for place, other in held if other == card)
    held.remove((place, card))
    return place


def seen(state: State, viewer: Viewer, chosen: Action, tried: Action) -> list[object]:
    """All that the viewer can get to know of a state, as bytes: its view, a seat's options, refusals and dry runs."""
    known: list[object] = [encoded(view(state, viewer))]
    if viewer is not None:
        known += [encoded(summary(state, viewer)), encoded(list(legal_actions(state, viewer)))]
        known += [answer(state, viewer, [tried]), answer(state, viewer, [tried], dry_run=False)]
        if viewer == state.turn:
            known += [answer(state, viewer, [chosen]), answer(state, viewer, [chosen], dry_run=False)]
            known += [answer(state, viewer, [chosen, tried])] if not isinstance(chosen, Draw) else []
    return known


def answer(state: State, seat: int, actions: list[Action], *, dry_run: bool = True) -> bytes:
    """What is answered, be it a refusal; in earnest without the card that a draw shows."""
    try:
        events = play(state, seat, actions, dry_run=dry_run).events
    except Refused as no:
        return encoded((no.reason, no.text, no.cards, no.clause, no.field, no.index))
    return encoded(events if dry_run else sent(events, None))


def sent(events: tuple[Event, ...], viewer: Viewer) -> list[bytes]:
    """The events as the viewer is sent them, up to the end of the deal, which opens everything."""
    told = []
    for event in events:
        if isinstance(event, DealEnded):
            break
        told.append(encoded(redact(event, viewer)))
    return told


encoded = msgspec.msgpack.encode
