import hashlib
import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from engine.cards import JOKER, deck
from engine.deal import dealt, draw_count, first_player
from engine.events import DealEnded, DealStarted
from engine.presets import PRESETS
from engine.rules import RuleSet, hand_size_for, packs_for
from engine.shuffle import SEED_SIZE, order
from engine.state import Phase, State, Step
from engine.step import next_deal, start, step
from engine.view import view
from tests.strategies import any_legal, position, rules_of, tables

SEED = bytes(range(32))


def deal(rules: RuleSet, seats: int, *, dealer: int = 0, pool: int = 0) -> State:
    return dealt(rules, deal=2, dealer=dealer, scores=(0,) * seats, pool=pool, seed=SEED, next_seed=SEED)


def deals(rules: RuleSet, seats: int, seeds: list[bytes], entropy: bytes = b"") -> Iterator[tuple[Step, Step]]:
    """The deals of a match played at random, all but the last seed dealt by: what began each, and what ended it."""
    chance = random.Random(seats)  # noqa: S311  a match to test
    begun = start(rules, seats, seeds[0], seeds[1], entropy)
    for following in (*seeds[2:], None):
        then = begun
        while then.state.phase in (Phase.DRAW, Phase.PLAY):
            then = step(then.state, then.state.turn, any_legal(then.state, chance))
        yield begun, then
        if following is not None:
            begun = next_deal(then.state, following)


@given(tables())
@settings(max_examples=50, deadline=None)
@pytest.mark.clause("B3")
def test_cards_are_dealt_one_at_a_time_from_the_dealers_left(table: tuple[RuleSet, int]) -> None:
    """Hands are dealt clockwise, card by card; then an up-card, where there is one; the rest is the stock."""
    rules, seats = table
    state, cards = deal(rules, seats, dealer=1), list(order(SEED, deck(packs_for(rules, seats), rules.jokers)))
    hands: list[list[int]] = [[] for _ in range(seats)]
    for given_out in range(seats * hand_size_for(rules, seats)):
        hands[(2 + given_out) % seats].append(cards.pop(0))
    assert [list(hand) for hand in state.hands] == [sorted(hand) for hand in hands]
    assert list(state.pile) == ([cards.pop(0)] if rules.up_card else [])
    assert list(state.stock) == cards


@pytest.mark.clause("P4")
@pytest.mark.parametrize(("preset", "pool"), [("pool500", 75), ("pool500-cutthroat", 45), ("basic", 45)])
def test_the_stake_is_put_into_the_pool_at_each_deal(preset: str, pool: int) -> None:
    """At the start of a deal the stake is added to what the pool holds."""
    assert deal(PRESETS[preset], 3, pool=45).pool == pool


@pytest.mark.clause("P4")
def test_without_a_pool_there_is_no_stake() -> None:
    """Where the pool is not what is scored nothing is put into it."""
    assert deal(rules_of("pool500", scoring="melds"), 3).pool == 0


@pytest.mark.clause("P3")
def test_the_player_left_of_the_dealer_begins() -> None:
    """The first player is the next seat after the dealer, and begins in phase draw of round 1."""
    state = deal(PRESETS["pool500"], 4, dealer=3)
    assert (first_player(state), state.turn, state.round, state.phase) == (0, 0, 1, "draw")


@pytest.mark.clause("P3")
@pytest.mark.parametrize("seats", [2, 3, 4])
def test_the_last_seat_deals_first_and_then_each_next_one(seats: int) -> None:
    """Seat 0 begins the first deal of a match, and each next deal is dealt by the seat to the dealer's left."""
    seeds = [bytes([number] * SEED_SIZE) for number in range(seats + 2)]
    begun = [first.state for first, _ in deals(PRESETS["pool500"], seats, seeds)]
    assert [state.dealer for state in begun] == [seats - 1, *range(seats)]
    assert [state.turn for state in begun] == [*range(seats), 0]


@pytest.mark.clause("G6")
@pytest.mark.parametrize("preset", ["basic", "rummy500", "pool500"])
@pytest.mark.parametrize("entropy", [b"", b"salt"])
def test_each_deal_is_dealt_and_proved_by_a_seed_of_its_own(preset: str, entropy: bytes) -> None:
    """Before a deal the hashes of its seed and of the next one's are published, and after it the seed that dealt it."""
    rules, seeds = rules_of(preset, deals=9), [bytes([number] * SEED_SIZE) for number in range(4)]
    hashes, cards = [hashlib.sha256(seed).digest() for seed in seeds], deck(packs_for(rules, 3), rules.jokers)
    played = list(deals(rules, 3, seeds, entropy))
    for number, ((state, (started, *_)), (_, events)) in enumerate(played):
        assert isinstance(started, DealStarted)
        shown = view(state, None)
        assert [started.commitment, started.next_commitment] == hashes[number : number + 2]
        assert [shown.commitment, shown.next_commitment] == hashes[number : number + 2]
        assert order(seeds[number], cards, entropy=entropy).endswith(state.pile + state.stock)
        assert [event.seed for event in events if isinstance(event, DealEnded)] == [seeds[number]]
    assert len(played) == 3


@pytest.mark.clause("P7")
@pytest.mark.parametrize(("round_", "counts"), [(1, [3, 4, 5, 6]), (2, [1, 1, 1, 1])])
def test_opening_draws_grow_by_one_from_the_first_player(round_: int, counts: list[int]) -> None:
    """In round 1 the first player draws three cards and each next one more; afterwards everyone draws one."""
    hands, rules = ["9C"] * 4, PRESETS["pool500"]
    turns = [position(rules, hands, dealer=1, turn=turn, round=round_) for turn in (2, 3, 0, 1)]
    assert [draw_count(state) for state in turns] == counts


@pytest.mark.clause("P1")
@pytest.mark.clause("P6")
@pytest.mark.parametrize("preset", ["pool500", "pool300", "pool500-cutthroat"])
def test_a_pool_game_is_dealt_from_two_packs_and_two_jokers(preset: str) -> None:
    """Of 106 cards, two of them jokers, each of three players gets thirteen, and no card is turned up."""
    state = deal(PRESETS[preset], 3)
    cards = b"".join((*state.hands, state.stock, state.pile))
    assert (len(cards), cards.count(JOKER), {cards.count(card) for card in range(JOKER)}) == (106, 2, {2})
    assert ([len(hand) for hand in state.hands], state.pile) == ([13, 13, 13], b"")


@pytest.mark.clause("B11")
@pytest.mark.parametrize(("hand_size", "left"), [(None, 30), (10, 21)])
def test_three_may_choose_ten_cards(hand_size: int | None, left: int) -> None:
    """Three players are dealt seven cards each, or ten where their table has it so."""
    state = deal(rules_of(hand_size=hand_size), 3)
    assert ([len(hand) for hand in state.hands], len(state.stock)) == ([hand_size or 7] * 3, left)


@pytest.mark.clause("P7")
def test_four_players_use_the_pool_pack_to_the_last_card() -> None:
    """Thirteen cards each, the opening draws and nine rounds of one card are all 106 cards."""
    state = deal(PRESETS["pool500"], 4)
    assert len(state.stock) == 3 + 4 + 5 + 6 + 9 * 4


def test_without_opening_draws_the_first_round_is_as_any() -> None:
    """Where no opening draw is agreed each seat draws one card in round 1."""
    assert draw_count(position(rules_of(), ["9C", "9D"], round=1, turn=1)) == 1
