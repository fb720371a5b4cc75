import pytest
from msgspec.structs import replace

from engine.actions import MeldKind
from engine.events import DealEnd
from engine.notation import read_cards
from engine.state import DealResult, MatchResult, Meld, Phase
from engine.status import status
from engine.step import start
from tests.strategies import meld, rules_of

FRESH = start(rules_of(), 2, bytes(32), bytes(32)).state
RESULT = DealResult(DealEnd.OUT, (0,), False, (1, 0))


def test_a_fresh_deal_has_nothing_wrong() -> None:
    """A deal as it is dealt breaks no invariant."""
    assert status(FRESH) == []


@pytest.mark.clause("G1")
@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ({"stock": FRESH.stock[1:]}, "where the pack has"),
        ({"pile": FRESH.pile * 2}, "where the pack has"),
        ({"hands": FRESH.hands[::-1], "scores": (0,)}, "scores"),
        ({"hands": (FRESH.hands[0][::-1], FRESH.hands[1])}, "hand 0 is not sorted"),
        ({"turn": 2}, "there is no seat 2"),
        ({"voided": (5,)}, "there is no seat 5"),
        ({"voided": (0,)}, "out or void"),
        ({"taken": FRESH.pile}, "before the draw"),
        ({"phase": Phase.PLAY, "owed": True}, "owed, but not held"),
        ({"phase": Phase.PLAY, "owed_jokers": 1}, "jokers are owed"),
        ({"phase": Phase.DEAL_OVER}, "no result of the deal"),
        ({"result": RESULT}, "a result of the deal"),
        ({"phase": Phase.MATCH_OVER, "result": RESULT}, "no result of the match"),
        ({"match": MatchResult((0,), (2, -1))}, "paid and what is received"),
        ({"round": 0}, "round 0"),
        ({"deal": 0}, "deal 0"),
        ({"rules": rules_of(jokers=1)}, "0 of JK, where the pack has 1"),
        ({"last_discards": read_cards("9C 9D")}, "gone out by a discard"),
        ({"melds": (meld(rules_of(), "2C 3C 4C", 0),)}, "nobody has knocked"),
        ({"melds": (Meld(MeldKind.RUN, read_cards("2C 3C 4C"), b"\0\0\0", 0, 3),)}, "is no run from 3"),
        ({"melds": (Meld(MeldKind.RUN, read_cards("2C 3C 4C"), b"\0\0", 0, 2),)}, "2 owners"),
        ({"rules": rules_of(deals=0)}, "target"),
        ({"rules": rules_of(round_limit=2), "round": 3}, "round 3 of at most 2"),
        ({"hands": (b"", FRESH.hands[1]), "turn": 1}, "somebody is out"),
    ],
)
def test_each_broken_invariant_is_told(broken: dict[str, object], told: str) -> None:
    """What is wrong with a state is told in a sentence."""
    assert any(told in line for line in status(replace(FRESH, **broken)))


def test_all_broken_invariants_are_told() -> None:
    """Not the first fault alone is told."""
    assert len(status(replace(FRESH, stock=FRESH.stock[2:], round=0, result=RESULT))) >= 4
