"""Two worlds that a viewer cannot tell apart: the same deal, but for cards that it never gets to see.

Both are played by the same actions. Whatever the viewer is sent in the one must be, byte for byte, what it is sent in
the other: its views, events, options, refusals and dry runs.
"""

import random
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from engine.actions import Action, Draw
from engine.cards import JOKER
from engine.errors import Refused
from engine.events import DealEnded, Event
from engine.legal import legal_actions
from engine.notation import write_action, write_position
from engine.rules import RuleSet
from engine.shuffle import SEED_SIZE
from engine.state import Phase, State
from engine.step import next_deal, play, start, step
from engine.view import redact, summary, view
from tests.strategies import Chooser, any_legal, eager, rules_of, seeds, some_action, tables

Table = tuple[RuleSet, int]
Viewer = int | None
Moment = tuple[State, Action, tuple[Event, ...]]


@given(tables(), seeds)
@settings(max_examples=8, deadline=None)
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


def look_alike(table: Table, seed: int, choose: Chooser, *, most: int) -> Phase:
    """Play a match, deal by deal, and compare what each viewer is sent in another world; the phase that it comes to."""
    chance = random.Random(seed)  # noqa: S311  a match to test
    state = start(*table, chance.randbytes(SEED_SIZE), chance.randbytes(SEED_SIZE)).state
    while True:
        deal = list(played(state, choose, chance, most))
        most -= len(deal)
        for viewer in (*range(len(state.hands)), None):
            compare(deal, viewer, chance)
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
        told = f"viewer {viewer}\n{write_position(state)}\n{write_position(other)}\n{write_action(action)}"
        tried = some_action(state, 0 if viewer is None else viewer, chance)
        assert seen(state, viewer, action, tried) == seen(other, viewer, action, tried), told
        try:
            then, others = step(other, other.turn, action)
        except Refused:
            return  # another seat could do it by a hidden card alone; there the worlds part
        assert sent(events, viewer) == sent(others, viewer), told
        if then.phase not in (Phase.DRAW, Phase.PLAY):
            return
        other = then


def dealt_otherwise(deal: list[Moment], viewer: Viewer, chance: random.Random) -> State:
    """The first state of the deal, in which cards that the viewer sees in none of its states have changed places."""
    shown = set[int]()
    for state, action, _ in deal:
        after = step(state, state.turn, action).state
        for moment in (state, after):
            hand = moment.hands[viewer] if viewer is not None else b""
            shown.update(hand, moment.pile, *(meld.cards for meld in moment.melds))
    hidden = [card for card in range(JOKER) if card not in shown]
    table = bytearray(range(256))
    for card, instead in zip(hidden, chance.sample(hidden, len(hidden)), strict=True):
        table[card] = instead
    begun = deal[0][0]
    hands = tuple(bytes(sorted(hand.translate(table))) for hand in begun.hands)
    return replace(begun, hands=hands, stock=begun.stock.translate(table))


def seen(state: State, viewer: Viewer, done: Action, tried: Action) -> list[object]:
    """All that the viewer can get to know of a state, as bytes: its view, a seat's options, refusals and dry runs."""
    known: list[object] = [encoded(view(state, viewer))]
    if viewer is not None:
        known += [encoded(summary(state, viewer)), encoded(list(legal_actions(state, viewer)))]
        known += [answer(state, viewer, [tried])]
        if viewer == state.turn:
            known += [answer(state, viewer, [done])]
            known += [answer(state, viewer, [done, tried])] if not isinstance(done, Draw) else []
    return known


def answer(state: State, seat: int, actions: list[Action]) -> bytes:
    """What a dry run answers, be it a refusal: the same one by which the actions would be refused in earnest."""
    try:
        return encoded(play(state, seat, actions, dry_run=True).events)
    except Refused as no:
        return encoded((no.reason, no.text, no.cards, no.clause, no.field, no.index))


def sent(events: tuple[Event, ...], viewer: Viewer) -> list[bytes]:
    """The events as the viewer is sent them, up to the end of the deal, which opens everything."""
    told = []
    for event in events:
        if isinstance(event, DealEnded):
            break
        told.append(encoded(redact(event, viewer)))
    return told


encoded = msgspec.msgpack.encode
