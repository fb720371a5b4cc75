"""Matches of any rules, played by rules and against them, every invariant checked at every moment."""

import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from engine.actions import Action, Draw, LayDown, LayOff
from engine.errors import Misfit, Refused
from engine.events import DealEnded, HandVoided, TurnStarted
from engine.lays import Lay
from engine.legal import check, is_legal, legal_actions
from engine.notation import write_action, write_position
from engine.rules import Foul, RuleSet
from engine.shuffle import SEED_SIZE
from engine.state import Phase, State, decode, encode
from engine.status import status
from engine.step import next_deal, play, start, step
from tests.strategies import seeds, some_action, tables

PICKS = st.integers(0, 2**20)


def outcome(state: State, action: Action) -> object:
    """What tells two legal actions apart: for a lay the table that it leads to, whatever the order of its cards."""
    placed = check(state, state.turn, action)
    return action if placed is None else placed.melds


class Matches(RuleBasedStateMachine):
    """A match by any rules, and whatever may be asked of it."""

    state: State

    @initialize(table=tables(), seed=seeds)
    def begin(self, table: tuple[RuleSet, int], seed: int) -> None:
        """Deal the first deal."""
        self.chance = random.Random(seed)  # noqa: S311  a match to test
        self.state = start(*table, self.chance.randbytes(SEED_SIZE), self.chance.randbytes(SEED_SIZE)).state

    def playing(self) -> bool:
        return self.state.phase in (Phase.DRAW, Phase.PLAY)

    @precondition(playing)
    @rule(pick=PICKS, lay=st.booleans())
    def do_what_is_listed(self, pick: int, lay: bool) -> None:
        """Every listed action is accepted; where there is a lay, it is chosen half of the time."""
        listed = list(legal_actions(self.state, self.state.turn))
        assert len(listed) == len(set(listed))
        lays: list[Action] = [action for action in listed if isinstance(action, Lay)]
        chosen = lays if lay and lays else listed
        assert chosen, self.told()
        self.accepted(chosen[pick % len(chosen)])

    @precondition(playing)
    @rule(seed=seeds)
    def ask_for_anything(self, seed: int) -> None:
        """An action that is accepted was listed, or is a foul; any other is refused and changes nothing."""
        chance = random.Random(seed)  # noqa: S311  an action to try
        self.tried(some_action(self.state, self.state.turn, chance))

    @precondition(playing)
    @rule(pick=PICKS, seed=seeds)
    def name_a_lay_otherwise(self, pick: int, seed: int) -> None:
        """A listed lay whose cards are named in another order, or without its kind or end, is as it is or refused."""
        listed = [lay for lay in legal_actions(self.state, self.state.turn) if isinstance(lay, LayDown | LayOff)]
        if listed:
            lay, chance = listed[pick % len(listed)], random.Random(seed)  # noqa: S311  an action to try
            cards = bytes(chance.sample(lay.cards, len(lay.cards)))
            kept = chance.random() < 0.5
            if isinstance(lay, LayOff):
                self.tried(LayOff(lay.meld, cards, lay.end if kept else None))
            else:
                self.tried(LayDown(cards, lay.kind if kept else None))

    @rule(pick=PICKS, seed=seeds)
    def ask_out_of_turn(self, pick: int, seed: int) -> None:
        """Whatever a seat asks that is not to move, it is refused, and nothing is listed for it."""
        others = [seat for seat in range(len(self.state.hands)) if seat != self.state.turn]
        seat, chance = others[pick % len(others)], random.Random(seed)  # noqa: S311  an action to try
        before = encode(self.state)
        with pytest.raises(Refused):
            step(self.state, seat, some_action(self.state, seat, chance))
        assert (encode(self.state), list(legal_actions(self.state, seat))) == (before, [])

    @precondition(playing)
    @rule(picks=st.lists(PICKS, min_size=1, max_size=6))
    def send_a_turn(self, picks: list[int]) -> None:
        """Several listed actions as one request come to what they come to one by one, and a dry run changes nothing."""
        state, seat, actions = self.state, self.state.turn, list[Action]()
        for pick in picks:
            listed = list(legal_actions(state, seat))
            actions.append(listed[pick % len(listed)])
            state, events = step(state, seat, actions[-1])
            if isinstance(actions[-1], Draw) or any(isinstance(event, TurnStarted | DealEnded) for event in events):
                break
        before = encode(self.state)
        assert play(self.state, seat, actions, dry_run=True).state is self.state
        assert encode(self.state) == before
        assert play(self.state, seat, actions).state == state
        self.state = state

    @precondition(lambda self: self.state.phase is Phase.DEAL_OVER)
    @rule()
    def deal_again(self) -> None:
        """The next deal begins, dealt by the seed that was waiting for it."""
        waiting = self.state.next_seed
        self.state = next_deal(self.state, self.chance.randbytes(SEED_SIZE)).state
        assert (self.state.seed, self.state.round) == (waiting, 1)

    @invariant()
    def holds_together(self) -> None:
        """Nothing about the state is wrong, and it survives being written down."""
        if hasattr(self, "state"):
            assert status(self.state) == [], self.told()
            assert decode(encode(self.state)) == self.state

    def tried(self, action: Action) -> None:
        """An action of the seat to move that may well be refused."""
        state, before = self.state, encode(self.state)
        seat = state.turn
        if is_legal(state, seat, action):
            listed = {outcome(state, other) for other in legal_actions(state, seat) if type(other) is type(action)}
            assert outcome(state, action) in listed, self.told(action)
            self.accepted(action)
            return
        with pytest.raises(Refused) as refused:
            play(state, seat, [action], dry_run=True)
        if isinstance(refused.value, Misfit) and state.rules.foul is Foul.VOID_HAND:
            self.state, events = step(state, seat, action)
            assert HandVoided(seat) in events
        else:
            with pytest.raises(Refused) as again:
                step(state, seat, action)
            assert (again.value.reason, again.value.text) == (refused.value.reason, refused.value.text)
        assert encode(state) == before, self.told(action)

    def accepted(self, action: Action) -> None:
        self.state, events = step(self.state, self.state.turn, action)
        assert events

    def told(self, action: Action | None = None) -> str:
        return f"{write_position(self.state)}\n{write_action(action) if action else ''}"


@pytest.mark.clause("G1")
@pytest.mark.clause("G2")
@pytest.mark.clause("G7")
def test_matches_hold_whatever_is_asked_of_them() -> None:
    """However lawful and unlawful actions follow one another, the list, the refusals and the state keep their word."""
    run_state_machine_as_test(Matches, settings=settings(max_examples=80, stateful_step_count=50, deadline=None))
