import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.actions import Action, Discard, Draw, End, LayDown, LayOff, Pass, SwapJoker, Take
from engine.errors import Refused
from engine.events import DealEnd, DealEnded, DealStarted, Drew, MatchEnded, TurnStarted
from engine.legal import legal_actions
from engine.notation import read_action, read_cards, write_event, write_position
from engine.rules import RuleSet
from engine.state import DealResult, Phase, State
from engine.step import Played, play, start, step
from engine.view import LayOffPlace, SwapPlace, preview, redact, summary, view
from tests.strategies import moments, position, reshuffled, rules_of, seeds, some_action, tables

Table = tuple[RuleSet, int]


@given(tables(), seeds)
@settings(max_examples=25, deadline=None)
@pytest.mark.clause("G3")
def test_a_view_tells_nothing_that_its_viewer_may_not_know(table: Table, seed: int) -> None:
    """Were the hidden cards dealt otherwise, each seat and each spectator would see just the same."""
    chance = random.Random(seed)  # noqa: S311  a match to test
    for state, _ in moments(*table, seed, most=60):
        for viewer in (*range(len(state.hands)), None):
            other = reshuffled(state, viewer, chance)
            assert view(other, viewer) == view(state, viewer), write_position(state)


@given(tables(), seeds)
@settings(max_examples=25, deadline=None)
@pytest.mark.clause("G3")
def test_a_dry_run_tells_nothing_that_its_seat_may_not_know(table: Table, seed: int) -> None:
    """Were the hidden cards dealt otherwise, each dry run would tell, or refuse, just the same."""
    chance = random.Random(seed)  # noqa: S311  a match to test
    for state, action in moments(*table, seed, most=60):
        other = reshuffled(state, state.turn, chance)
        more: list[Action] = [] if isinstance(action, Draw) else [some_action(state, state.turn, chance)]
        tried = [action, *more]
        assert told(state, tried) == told(other, tried), write_position(state)


def told(state: State, actions: list[Action]) -> object:
    try:
        then, events, _ = play(state, state.turn, actions, dry_run=True)
    except Refused as refusal:
        return (refusal.reason, refusal.text, refusal.cards, refusal.index)
    assert then is state
    return events


@given(tables(), seeds)
@settings(max_examples=25, deadline=None)
@pytest.mark.clause("G3")
def test_events_tell_the_hidden_cards_to_their_holder_alone(table: Table, seed: int) -> None:
    """What a seat reads of a deal shows its own hand and its own draws, of the others only how many."""
    for state, action in moments(*table, seed, most=40):
        for viewer in (*range(len(state.hands)), None):
            for event in (redact(event, viewer) for event in step(state, state.turn, action).events):
                if isinstance(event, Drew):
                    assert (event.cards is None) == (event.seat != viewer)
                if isinstance(event, DealStarted):
                    assert [seat for seat, hand in enumerate(event.hands) if hand is not None] == [viewer]


@pytest.mark.clause("G3")
@pytest.mark.parametrize("viewer", [0, 1, None])
def test_the_dealt_hands_are_told_each_to_its_seat(viewer: int | None) -> None:
    """The event that begins a deal shows a seat its own hand and a spectator none."""
    state, events = start(rules_of(), 2, bytes(32), bytes(32))
    dealt = redact(events[0], viewer)
    assert isinstance(dealt, DealStarted)
    assert dealt.hands == tuple(hand if seat == viewer else None for seat, hand in enumerate(state.hands))
    assert redact(events[1], viewer) == events[1]


@pytest.mark.clause("G6")
def test_the_seed_is_shown_when_the_deal_is_over_and_no_sooner() -> None:
    """Before, a view holds the seeds' hashes alone; after, the deal's seed and all hands, but never the next seed."""
    state = position(rules_of(deals=2), ["7C", "9C"], seed=bytes([7] * 32), next_seed=bytes([8] * 32))
    before, over = view(state, 0), view(step(state, 0, Discard(6)).state, None)
    assert (before.seed, [seat.hand for seat in before.seats]) == (None, [b"\x06", None])
    assert (over.seed, [seat.hand for seat in over.seats]) == (bytes([7] * 32), [b"", b"\x08"])
    assert before.commitment == over.commitment != before.next_commitment
    assert over.result == DealResult(DealEnd.OUT, winners=(0,), void=False, scores=(9, 0))


@pytest.mark.clause("F8")
@pytest.mark.parametrize(("draw", "shown"), [("any", "KC 9D 2H"), ("top", "2H"), ("none", "2H")])
def test_the_pile_lies_spread_where_any_of_it_may_be_taken(draw: str, shown: str) -> None:
    """All cards of the pile are shown where all may be taken, else its top and how many there are."""
    seen = view(position(rules_of(discard_draw=draw), ["7C 2C", "9C"], pile="KC 9D 2H"), None)
    assert (seen.pile, seen.pile_size) == (read_cards(shown), 3)


@pytest.mark.clause("G7")
def test_the_options_are_told_to_the_seat_to_move_alone() -> None:
    """Only the view of the seat to move holds what it may do, and that only while the deal goes on."""
    state = position(rules_of(), ["7C", "9C"])
    assert [view(state, viewer).options is not None for viewer in (0, 1, None)] == [True, False, False]
    assert view(step(state, 0, Discard(6)).state, 0).options is None


def test_the_summary_names_what_may_be_done() -> None:
    """It names single cards to lay off with the ends they fit, naturals to swap, discards, and whether to meld."""
    rules = rules_of(jokers=2)
    melds = [("4H 5H 6H", 1), ("9C 9D JK", 1)]
    options = summary(position(rules, ["3H 9S JK 2C 2D", "KD"], melds=melds), 0)
    assert options.lay_offs == (
        LayOffPlace(0, read_cards("3H")[0], (End.LOW,)),
        LayOffPlace(0, 52, (End.LOW, End.HIGH)),
        LayOffPlace(1, read_cards("9S")[0], ()),
        LayOffPlace(1, 52, ()),
    )
    assert options.swaps == (SwapPlace(1, read_cards("9S")[0]),)
    assert options.discards == bytes(sorted(read_cards("3H 9S JK 2C 2D")))
    assert (options.may_lay_down, options.may_draw, options.may_pass, options.takes) == (True, False, False, ())


@given(tables(), seeds)
@settings(max_examples=20, deadline=None)
@pytest.mark.clause("G7")
def test_the_summary_agrees_with_the_list(table: Table, seed: int) -> None:
    """What the summary says is just what the whole list of legal actions says at more length."""
    for state, _ in moments(*table, seed, most=40):
        listed, told = list(legal_actions(state, state.turn)), summary(state, state.turn)
        assert told.may_draw == (Draw() in listed)
        assert told.may_pass == (Pass() in listed)
        assert told.may_lay_down == any(isinstance(action, LayDown) for action in listed)
        assert list(told.takes) == [action.count for action in listed if isinstance(action, Take)]
        assert list(told.discards) == [action.card for action in listed if isinstance(action, Discard)]
        swaps = [SwapPlace(action.meld, action.card) for action in listed if isinstance(action, SwapJoker)]
        assert list(told.swaps) == swaps
        single = {(lay.meld, lay.cards[0]) for lay in listed if isinstance(lay, LayOff) and len(lay.cards) == 1}
        assert {(place.meld, place.card) for place in told.lay_offs} == single
        assert told.may_lay_off_several == any(isinstance(lay, LayOff) and len(lay.cards) > 1 for lay in listed)
        said = [told.may_draw, told.may_pass, told.takes, told.may_lay_down, told.lay_offs, told.swaps, told.discards]
        assert any([*said, told.may_lay_off_several]) == bool(listed)
        for place in told.lay_offs:
            for end in place.ends:
                step(state, state.turn, LayOff(place.meld, bytes([place.card]), end))


@pytest.mark.clause("G7")
@pytest.mark.clause("F10")
def test_the_summary_says_where_a_card_taken_fits_beside_another_alone() -> None:
    """A card from the pile that can only be laid off together with another leaves no option but that one."""
    state = position(rules_of("rummy500"), ["7H 2C", "9C"], melds=[("4H 5H 6H", 1)], pile="KD 8H", phase=Phase.DRAW)
    options = summary(step(state, 0, Take(1)).state, 0)
    assert options.may_lay_off_several
    assert not any((options.may_lay_down, options.lay_offs, options.swaps, options.discards, options.may_pass))


@pytest.mark.clause("G7")
@pytest.mark.clause("F10")
@pytest.mark.parametrize(("hand", "several"), [("7H 7C 7D KS", False), ("7H 8H KS", True)])
def test_the_summary_goes_by_the_card_that_was_chosen(hand: str, several: bool) -> None:
    """Of several cards from the pile the deepest is the one that is owed: what may be laid is sought with that one."""
    state = position(rules_of("rummy500"), [hand, "9C"], melds=[("4H 5H 6H", 1)], pile="7H 2C", phase=Phase.DRAW)
    state = step(replace(state, hands=(read_cards(hand.removeprefix("7H ")), state.hands[1])), 0, Take(2)).state
    assert view(state, 0).owed == read_cards("7H")[0]
    options = summary(state, 0)
    assert (options.may_lay_down, options.may_lay_off_several) == (not several, several)


@pytest.mark.clause("G3")
@pytest.mark.parametrize("deals", [1, 2])
def test_a_dry_run_tells_not_whether_the_next_seat_can_go_on(deals: int) -> None:
    """Whether the next seat is stuck is decided by its hand, so a dry run ends with that seat's turn."""
    rules = rules_of(use_taken=True, discard_differs=False, deals=deals)
    state = position(rules, ["7C 2C", "9C 3D"], stock="", pile="")
    real, dry = play(state, 0, [Discard(6)]), play(state, 0, [Discard(6)], dry_run=True)
    assert isinstance(real.events[-1], DealEnded if deals > 1 else MatchEnded)
    assert dry == Played(state, real.events[:2], accepted=1)
    assert isinstance(dry.events[-1], TurnStarted)


@pytest.mark.clause("G3")
def test_a_dry_run_tells_that_a_deal_would_end_but_not_what_it_would_bring() -> None:
    """Going out in a dry run shows the winner, and neither the hands, nor what they count, nor the seed."""
    state = position(rules_of(), ["7C", "9C"])
    _, events, _ = play(state, 0, [Discard(6)], dry_run=True)
    ended = events[-1]
    assert isinstance(ended, DealEnded)
    assert ended.winners == (0,)
    assert (ended.hands, ended.scores, ended.totals, ended.seed, ended.pool) == ((), (), (), b"", 0)


@pytest.mark.clause("G3")
def test_a_dry_run_shows_no_card_still_to_be_drawn() -> None:
    """A draw tried out tells how many cards it would bring, even to the seat that would draw them."""
    state = position(rules_of(), ["7C", "9C"], phase=Phase.DRAW)
    assert preview(step(state, 0, Draw()).events) == (Drew(0, 1, None),)
    assert play(state, 0, [read_action("draw")], dry_run=True).events == (Drew(0, 1, None),)


@given(st.sampled_from([0, 1, None]))
def test_a_redacted_event_has_its_text(viewer: int | None) -> None:
    """Hidden cards show as question marks in an event's text."""
    drew = redact(Drew(0, 1, b"\x08"), viewer)
    assert write_event(drew).endswith("cards=[9C]" if viewer == 0 else "cards=?")
