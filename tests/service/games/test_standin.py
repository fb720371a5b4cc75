"""The stand-in, over whole matches of every game and under any house rules."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.actions import Discard, Draw, LayDown, LayOff, Pass, SwapJoker, Take
from engine.legal import is_legal, legal_actions
from engine.notation import read_cards
from engine.presets import PRESETS
from engine.rules import OpeningOrder, RuleSet
from engine.shuffle import SEED_SIZE
from engine.state import Phase, State
from engine.status import status
from engine.step import next_deal, step
from engine.view import summary
from service.games.standin import choose
from tests.strategies import begin, eager, position, rules_of, seeds, tables

QUIET = (Draw, Discard, Pass)


def stood_in(rules: RuleSet, seats: int, seed: int, left: set[int], most: int) -> State:
    """A match in which stand-ins play for the seats that are left, each of their actions checked."""
    chance = random.Random(seed)  # noqa: S311  a match to test, and to replay
    state = begin(rules, seats, chance)
    for _ in range(most):
        if state.phase is Phase.MATCH_OVER:
            break
        if state.phase is Phase.DEAL_OVER:
            state = next_deal(state, chance.randbytes(SEED_SIZE)).state
            continue
        if state.turn in left:
            action = choose(state)
            assert is_legal(state, state.turn, action), "never a foul, nor anything that is refused"
            assert isinstance(action, QUIET) or laying_is_called_for(state), action
        else:
            action = eager(state, chance)
        state = step(state, state.turn, action).state
    assert status(state) == []
    return state


def laying_is_called_for(state: State) -> bool:
    """Whether nothing else is legal, or the others wait for somebody to knock."""
    waiting = state.rules.opening_order is OpeningOrder.FIRST_PLAYER and not state.knocked
    return waiting or not any(isinstance(action, QUIET) for action in legal_actions(state, state.turn))


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("seats", [2, 4])
def test_a_stand_in_plays_any_game_to_its_end(preset: str, seats: int) -> None:
    """In every game a seat that was left is played for, legally and quietly, and the match comes to its end."""
    rules = rules_of(preset, deals=3)
    assert stood_in(rules, seats, 5, {0}, 4000).phase is Phase.MATCH_OVER
    assert stood_in(rules, seats, 6, set(range(1, seats)), 4000).phase is Phase.MATCH_OVER


@settings(max_examples=60)
@given(tables(), seeds, st.data())
def test_a_stand_in_keeps_to_any_rules(table: tuple[RuleSet, int], seed: int, data: st.DataObject) -> None:
    """Whatever the house rules and whoever left, a stand-in is never stuck, never fouls, and lays only if it must."""
    rules, seats = table
    left = data.draw(st.sets(st.integers(0, seats - 1), min_size=1))
    stood_in(rules, seats, seed, left, 150)


def test_it_draws_and_discards_what_counts_most() -> None:
    """It draws from the stock, and throws the natural that would count most in its hand, jokers last."""
    rules = rules_of(jokers=2)
    assert choose(position(rules, ["AS 2C JK", "KC"], phase=Phase.DRAW)) == Draw()
    assert choose(position(rules, ["AS 2C 9D TH JK", "KC"])) == Discard(read_cards("TH")[0])
    assert choose(position(rules, ["JK JK", "KC"])) == Discard(read_cards("JK")[0])


def test_an_ace_weighs_what_the_rules_say() -> None:
    """Where an ace counts fifteen it goes before a king, and where it counts one it goes last."""
    hand = "AS 2C KD"
    assert choose(position(rules_of("rummy500"), [hand, "9C"])) == Discard(read_cards("AS")[0])
    assert choose(position(rules_of("basic"), [hand, "9C"])) == Discard(read_cards("KD")[0])


def test_it_lays_nothing_that_it_need_not() -> None:
    """It does not play to win: melds and lay-offs that it holds stay in its hand."""
    state = position(rules_of(), ["7C 7D 7S KC 4H", "9C"], melds=[("4C 4D 4S", 1)])
    assert isinstance(choose(state), Discard)


def test_it_declines_a_pile_that_it_need_not_take() -> None:
    """With the stock gone it passes rather than take a card that it would have to use (F14)."""
    state = position(rules_of("rummy500"), ["7C 7D 2S", "9C"], phase=Phase.DRAW, stock="", pile="KC 7S")
    assert any(isinstance(action, Take) for action in legal_actions(state, 0))
    assert choose(state) == Pass()


def test_it_takes_and_lays_what_it_must() -> None:
    """Where it can neither draw nor pass it takes from the pile, and uses what it took before it discards."""
    rules = rules_of("rummy500", stock_empty="turn_over")
    state = position(rules, ["7C 7D 2S 9H", "9C"], phase=Phase.DRAW, stock="", pile="7S")
    action = choose(state)
    assert action == Take(1)
    state = step(state, 0, action).state
    action = choose(state)
    assert isinstance(action, LayDown)
    assert choose(step(state, 0, action).state) == Discard(read_cards("9H")[0])


def test_it_finishes_what_its_player_began() -> None:
    """A player who left with a swapped joker still to be played leaves that to the stand-in."""
    rules = rules_of(jokers=2, joker_swap="same_turn")
    state = position(rules, ["5H 9C 9D KC", "2C"], melds=[("3H 4H JK 6H", 1)])
    state = step(state, 0, SwapJoker(0, read_cards("5H")[0])).state
    assert summary(state, 0).discards == b""
    assert isinstance(choose(state), LayDown | LayOff)


@pytest.mark.clause("P14")
def test_it_knocks_where_the_others_wait_for_it() -> None:
    """Until somebody knocks only the first player may lay down, so its stand-in does so once, as soon as it can."""
    state = position(rules_of("pool500"), ["7C 7D 7S 2C 2D 2S KC", "9C", "8C"], knocked=False)
    action = choose(state)
    assert isinstance(action, LayDown)
    assert isinstance(choose(step(state, 0, action).state), Discard)
