import random

import pytest
from hypothesis import given, settings

from engine.actions import Action, Discard, Draw, LayDown, Pass, Take
from engine.errors import BadRequest, BadRules, Misfit, Reason, Refused
from engine.events import DealEnded, DealStarted, Discarded, Drew, Event, HandVoided, StockRenewed, TurnStarted
from engine.legal import check, is_legal, legal_actions
from engine.notation import read_action, read_cards, write_action, write_position
from engine.presets import PRESETS
from engine.rules import Foul, RuleSet
from engine.shuffle import SEED_SIZE
from engine.state import Phase, State, encode
from engine.status import status
from engine.step import next_deal, play, start, step
from tests.strategies import any_legal, begin, eager, moments, position, rules_of, seeds, some_action, tables

Table = tuple[RuleSet, int]
SEEDS = (bytes(SEED_SIZE), bytes(range(SEED_SIZE)))


@given(tables(), seeds)
@settings(max_examples=40, deadline=None)
@pytest.mark.clause("G1")
def test_a_match_holds_together_after_every_action(table: Table, seed: int) -> None:
    """At every moment of a match the cards are exactly the pack, and nothing else in its state is broken."""
    for state, action in moments(*table, seed):
        assert status(state) == [], write_position(state)
        then = step(state, state.turn, action)
        assert status(then.state) == [], f"{write_position(state)}\n{write_action(action)}"
        assert then.events


@given(tables(), seeds)
@settings(max_examples=40, deadline=None)
@pytest.mark.clause("G2")
def test_a_refused_action_changes_nothing_and_says_why(table: Table, seed: int) -> None:
    """Whatever is asked, it is accepted as the list has it or refused with a reason, and a refusal changes nothing."""
    chance = random.Random(seed)  # noqa: S311  a match to test
    for state, _ in moments(*table, seed, most=60):
        before = encode(state)
        seat = state.turn if chance.random() < 0.9 else chance.randrange(len(state.hands))
        action = some_action(state, seat, chance)
        if is_legal(state, seat, action) or (table[0].foul is Foul.VOID_HAND and is_misfit(state, seat, action)):
            then = step(state, seat, action).state
            assert status(then) == [], f"{write_position(state)}\n{write_action(action)}"
        else:
            with pytest.raises(Refused) as refused:
                step(state, seat, action)
            assert refused.value.text
            assert refused.value.clause
        assert encode(state) == before


def is_misfit(state: State, seat: int, action: Action) -> bool:
    try:
        check(state, seat, action)
    except Misfit:
        return True
    except Refused:
        return False
    return False


@given(tables(), seeds)
@settings(max_examples=20, deadline=None)
@pytest.mark.clause("G5")
def test_a_replay_gives_the_same_states_byte_for_byte(table: Table, seed: int) -> None:
    """The seeds, the rules and the actions decide everything: played again they give the same bytes."""
    played = [(encode(state), action) for state, action in moments(*table, seed, choose=any_legal, most=60)]
    assert [(encode(state), action) for state, action in moments(*table, seed, choose=any_legal, most=60)] == played


@given(tables(), seeds)
@settings(max_examples=25, deadline=None)
@pytest.mark.clause("G8")
def test_every_deal_ends(table: Table, seed: int) -> None:
    """Where nobody lays anything down, and only draws, takes and discards, a deal still comes to its end."""
    chance = random.Random(seed)  # noqa: S311  a match to test
    state = begin(*table, chance)
    for _ in range(12_000):
        if state.phase not in (Phase.DRAW, Phase.PLAY):
            return
        state = step(state, state.turn, idle(state, chance)).state
    raise AssertionError(f"still going on: {write_position(state)}")


def idle(state: State, chance: random.Random) -> Action:
    """A turn that keeps the hand as it is, as far as the rules let it."""
    owing = state.owed or state.owed_jokers > 0
    for action in legal_actions(state, state.turn) if owing or state.phase is Phase.DRAW else ():
        if owing or isinstance(action, Take) or not is_legal(state, state.turn, Take(1)):
            return action
    discards = [Discard(card) for card in set(state.hands[state.turn]) if is_legal(state, state.turn, Discard(card))]
    return Pass() if is_legal(state, state.turn, Pass()) else chance.choice(discards)


@given(tables(only=["basic"]), seeds)
@settings(max_examples=15, deadline=None)
@pytest.mark.clause("G4")
def test_a_turn_played_as_one_request_is_the_turn_played_action_by_action(table: Table, seed: int) -> None:
    """Actions sent together come to the same state and the same events as one by one."""
    begun, turn, events = list[State](), list[Action](), list[Event]()
    for state, action in moments(*table, seed, most=60):
        begun.append(state)
        turn.append(action)
        then = step(state, state.turn, action)
        events += then.events
        assert play(begun[0], state.turn, turn) == (then.state, tuple(events), len(turn))
        if isinstance(action, Draw) or any(isinstance(event, TurnStarted | DealEnded) for event in then.events):
            begun, turn, events = [], [], []


@pytest.mark.clause("G4")
def test_of_several_actions_all_are_applied_or_none() -> None:
    """Where one action of a request is refused, those before it are not applied either, and the refusal names it."""
    state = position(rules_of(), ["7C 7D 7S 2C 3C", "9C"])
    with pytest.raises(Refused) as refused:
        play(state, 0, [LayDown(bytes([6, 19, 45])), Discard(51)])
    assert (refused.value.reason, refused.value.index) == (Reason.CARD_NOT_IN_HAND, 1)


@pytest.mark.clause("G4")
@pytest.mark.parametrize("actions", [["draw", "discard 9C"], ["draw", "draw"], ["take 1", "draw", "pass"]])
def test_nothing_follows_a_draw_from_the_stock_in_one_request(actions: list[str]) -> None:
    """A draw from the stock shows a card, so no action may come after it in its request."""
    state = position(rules_of(), ["7C 2C", "9C"], phase=Phase.DRAW)
    with pytest.raises(BadRequest) as bad:
        play(state, 0, [read_action(action) for action in actions])
    assert bad.value.index == actions.index("draw")


@pytest.mark.clause("G4")
def test_a_request_names_an_action() -> None:
    """An empty request is no request."""
    with pytest.raises(BadRequest, match="no action") as bad:
        play(position(rules_of(), ["7C", "9C"]), 0, [])
    assert bad.value.index == 0


@pytest.mark.clause("G4")
def test_a_request_ends_with_its_turn() -> None:
    """What follows the end of the own turn in one request is refused as another seat's turn."""
    state = position(rules_of(), ["7C 2C", "9C"])
    with pytest.raises(Refused) as refused:
        play(state, 0, [read_action("discard 7C"), read_action("draw")])
    assert (refused.value.reason, refused.value.index) == (Reason.NOT_YOUR_TURN, 1)
    assert str(refused.value.text) == "the turn ends with the action before"


@pytest.mark.clause("G4")
def test_a_request_goes_on_with_the_own_next_turn() -> None:
    """A seat that alone plays on may go on in the same request: the next turn is its own."""
    state = position(rules_of("pool500"), ["7C 2C", "9C"], stock="3C 4C", round=2, voided=(1,))
    played = play(state, 0, [read_action("discard 7C"), read_action("draw")])
    assert (played.accepted, played.state.phase, played.state.turn) == (2, Phase.PLAY, 0)


@pytest.mark.clause("G3")
@pytest.mark.parametrize("held", ["9H 9S", "KH KS"])
def test_what_follows_the_own_turn_is_refused_alike_whatever_the_next_seat_holds(held: str) -> None:
    """Whether the next seat is stuck, which ends the match, cannot be told from how a further action is refused."""
    rules = rules_of(use_taken=True, discard_differs=False, discard="optional")
    state = position(rules, ["7C 2C", held], stock="", pile="9D")
    with pytest.raises(Refused) as refused:
        play(state, 0, [Pass(), Pass()])
    assert (refused.value.reason, refused.value.index) == (Reason.NOT_YOUR_TURN, 1)


@pytest.mark.clause("G3")
@pytest.mark.parametrize("held", ["2H", "KH KS QD JD TD"])
def test_what_follows_the_last_card_is_refused_alike_whether_or_not_the_match_is_won(held: str) -> None:
    """Whether the other hand is worth enough to end the match cannot be told from how a further action is refused."""
    state = position(rules_of("rummy500", target=40), ["7C 7D 7H", held], stock="2S 3S")
    with pytest.raises(Refused) as refused:
        play(state, 0, [read_action("lay down 7C 7D 7H"), Pass()], dry_run=True)
    assert (refused.value.reason, refused.value.index) == (Reason.NOT_YOUR_TURN, 1)


@pytest.mark.clause("P15")
def test_a_foul_ends_its_request_and_stands_with_what_came_before() -> None:
    """A foul is committed with the actions before it, and those after it are not looked at."""
    state = position(rules_of("pool500"), ["7C 7D 7S 2C 3C", "9C"])
    requested = ["lay down 7C 7D 7S", "lay down 2C 3C", "discard AS"]
    then, events, accepted = play(state, 0, [read_action(action) for action in requested])
    assert (then.voided, len(then.melds), then.turn, accepted) == ((0,), 1, 1, 2)
    assert events[-2:] == (HandVoided(0), TurnStarted(1, 2))


@pytest.mark.clause("P15")
def test_a_dry_run_is_never_a_foul() -> None:
    """What would be a foul is refused in a dry run."""
    state = position(rules_of("pool500"), ["7C 7D 8S 2C", "9C"])
    with pytest.raises(Refused, match="NOT_A_MELD"):
        play(state, 0, [read_action("lay down 7C 7D 8S")], dry_run=True)


@pytest.mark.clause("P15")
@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ("lay down 7H JK JK", "AMBIGUOUS_PLACE"),
        ("lay off JK on 0", "AMBIGUOUS_PLACE"),
        ("lay off 7H on 7", "NO_SUCH_MELD"),
        ("lay down AC 2C 3C", "CARD_NOT_IN_HAND"),
        ("lay off 9D on 1 at low", "NOT_A_LAY_OFF"),
    ],
)
def test_what_is_unclear_or_names_what_is_not_there_is_no_foul(asked: str, reason: str) -> None:
    """Ambiguous cards, cards not held, melds that are not there and ends of a set are refused, and void no hand."""
    rules = rules_of("pool500")
    melds = [("4D 5D 6D", 1), ("9C 9S 9H", 1)]
    state = position(rules, ["7H JK JK 2C 9D", "9C"], melds=melds)
    with pytest.raises(Refused) as refused:
        step(state, 0, read_action(asked))
    assert refused.value.reason == reason


@pytest.mark.clause("B2")
def test_the_deal_passes_to_the_left() -> None:
    """The last seat deals first, then seat 0, and the player left of the dealer begins."""
    state = start(rules_of(deals=3), 3, *SEEDS).state
    assert (state.dealer, state.turn, state.deal) == (2, 0, 1)
    over = step(position(state.rules, ["7C", "9C", "9D"]), 0, Discard(6)).state
    then, events = next_deal(over, bytes(SEED_SIZE))
    assert (then.dealer, then.turn, then.deal, then.scores) == (0, 1, 2, (18, 0, 0))
    assert (then.seed, then.next_seed) == (over.next_seed, bytes(SEED_SIZE))
    assert events[-1] == TurnStarted(1, 1)


@pytest.mark.clause("P4")
@pytest.mark.clause("P17")
@pytest.mark.clause("P18")
@pytest.mark.parametrize(
    ("preset", "left", "pool"),
    [("pool500", 0, 30), ("pool500", 75, 105), ("pool300", 1, 31), ("pool500-cutthroat", 0, 0)],
)
def test_what_is_left_in_the_pool_is_in_the_next_deals(preset: str, left: int, pool: int) -> None:
    """What nobody has won, and what did not divide, is carried over to the next deal, and the stake comes on top."""
    over = position(rules_of(preset), ["7C", "9C"], phase=Phase.DEAL_OVER, pool=left)
    then, (begun, *_) = next_deal(over, bytes(SEED_SIZE))
    assert isinstance(begun, DealStarted)
    assert (then.pool, begun.pool) == (pool, pool)


def test_a_next_deal_needs_an_ended_one() -> None:
    """While a deal is being played, and after the match, there is no next deal."""
    with pytest.raises(Refused, match=r"WRONG_PHASE.*the deal is not over"):
        next_deal(position(rules_of(), ["7C 2C", "9C"]), bytes(SEED_SIZE))
    with pytest.raises(Refused, match=r"MATCH_OVER.*the match is over"):
        next_deal(step(position(rules_of(), ["7C", "9C"]), 0, Discard(6)).state, bytes(SEED_SIZE))


def test_a_match_begins_by_rules_that_can_be_played_alone() -> None:
    """A rule set with faults begins no match, and all of them are named."""
    with pytest.raises(BadRules) as bad:
        start(rules_of(deals=0, hand_size=40), 2, *SEEDS)
    assert {fault.field for fault in bad.value.faults} == {"hand_size", "target"}
    with pytest.raises(ValueError, match="32 bytes"):
        start(rules_of(), 2, b"short", SEEDS[1])


@pytest.mark.clause("B8")
def test_the_events_of_a_draw_come_in_the_order_in_which_it_went() -> None:
    """An opening draw over the end of the stock shows the cards before the renewal, the renewal, and those after it."""
    rules = rules_of(opening_draw=3, discard_draw="none", discard_differs=False)
    state = position(rules, ["7C", "9C"], phase=Phase.DRAW, round=1, stock="2C", pile="4C 9D KS 2H")
    _, events = step(state, 0, Draw())
    assert [type(event) for event in events] == [Drew, StockRenewed, Drew]
    assert sum(event.count for event in events if isinstance(event, Drew)) == 3


@pytest.mark.clause("B8")
@pytest.mark.parametrize(
    ("options", "pile", "turn_overs", "drawn", "phase"),
    [
        ({}, "4C 5C", 2, "2C 5C", Phase.PLAY),
        ({}, "4C", 2, "2C", Phase.PLAY),
        ({}, "4C", 3, "2C", Phase.PLAY),
        ({}, "4C 5C", 3, "2C", Phase.DEAL_OVER),
        ({"turn_over_limit": 4}, "4C 5C 6C", 3, "2C 5C 6C", Phase.PLAY),
        ({"stock_empty": "shuffle"}, "4C 5C", 2, "2C 4C", Phase.PLAY),
        ({"stock_empty": "shuffle"}, "4C 5C", 3, "2C", Phase.DEAL_OVER),
        ({"stock_empty": "pile_only"}, "4C 5C 6C", 0, "2C", Phase.PLAY),
        ({"stock_empty": "end_deal"}, "4C 5C 6C", 0, "", Phase.DEAL_OVER),
    ],
)
def test_an_opening_draw_over_the_end_of_the_stock(
    options: dict[str, object], pile: str, turn_overs: int, drawn: str, phase: Phase
) -> None:
    """It gives as many cards as there are, but one turn-over or shuffle too many voids the deal, a lone card never."""
    rules = rules_of(**{"opening_draw": 3, "discard_draw": "none", "discard_differs": False, "deals": 2, **options})  # type: ignore[arg-type]
    state = position(rules, ["7C", "9C"], phase=Phase.DRAW, round=1, stock="2C", pile=pile, turn_overs=turn_overs)
    then = step(state, 0, Draw()).state
    assert (then.hands[0], then.phase) == (bytes(sorted(read_cards(f"7C {drawn}"))), phase)
    assert then.result is None or (then.result.void and then.result.winners == ())


@pytest.mark.clause("B8")
def test_a_pile_of_two_renews_the_stock_amid_a_draw() -> None:
    """Where the stock runs out in an opening draw, two cards of the pile are enough to go on with one of them."""
    rules = rules_of(opening_draw=2, discard_draw="none", discard_differs=False)
    state = position(rules, ["7C", "9C"], phase=Phase.DRAW, round=1, stock="2C", pile="4C 5C")
    then, events = step(state, 0, Draw())
    assert then.hands[0] == read_cards("2C 5C 7C")
    assert [type(event) for event in events] == [Drew, StockRenewed, Drew]


@pytest.mark.clause("B8")
@pytest.mark.parametrize("pile", ["4C", ""])
def test_a_seat_that_can_do_nothing_voids_the_deal_at_once(pile: str) -> None:
    """Where the next seat can neither draw nor take the deal is void as soon as its turn begins."""
    rules = rules_of(discard_draw="none", discard_differs=False, discard="optional", deals=2)
    state = position(rules, ["7C 2C", "9C"], stock="", pile=pile)
    then, events = step(state, 0, Pass())
    assert then.phase is Phase.DEAL_OVER
    assert then.result is not None
    assert then.result.void
    assert [type(event) for event in events[-2:]] == [TurnStarted, DealEnded]


@pytest.mark.clause("B8")
def test_a_stuck_position_is_left_by_any_draw() -> None:
    """A draw asked for in a position that is stuck already is accepted and voids the deal."""
    rules = rules_of(discard_draw="none", discard_differs=False, deals=2)
    state = position(rules, ["7C 2C", "9C"], stock="", pile="4C", phase=Phase.DRAW)
    assert list(legal_actions(state, 0)) == [Draw()]
    assert step(state, 0, Draw()).state.phase is Phase.DEAL_OVER


@pytest.mark.clause("B8")
def test_a_shuffled_renewal_leaves_the_top_card_and_follows_the_seed() -> None:
    """By `shuffle` the pile's top stays up, and the deal's seed orders the rest, differently each time."""
    rules = rules_of(stock_empty="shuffle")
    pile = "4C 9D KS 2H 5D 6D 7D 8D"
    state = position(rules, ["7C", "9C"], phase=Phase.DRAW, stock="", pile=pile)
    later = position(rules, ["7C", "9C"], phase=Phase.DRAW, stock="", pile=pile, turn_overs=1)
    first, second = step(state, 0, Draw()).state, step(later, 0, Draw()).state
    assert (first.pile, first.turn_overs, second.turn_overs) == (state.pile[-1:], 1, 2)
    assert sorted(first.stock + first.hands[0]) == sorted((*state.pile[:-1], *state.hands[0]))
    assert first.stock != second.stock


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.clause("G8")
def test_a_match_of_each_game_is_won_by_sensible_play(preset: str, seats: int) -> None:
    """Played with every meld that comes, each named game is over after some deals, and somebody has won it."""
    chance = random.Random(seats)  # noqa: S311  a match to test
    state = begin(PRESETS[preset], seats, chance)
    while state.phase is not Phase.MATCH_OVER:
        if state.phase is Phase.DEAL_OVER:
            assert state.deal < 2000
            state = next_deal(state, chance.randbytes(SEED_SIZE)).state
        state = step(state, state.turn, eager(state, chance)).state
    assert state.match is not None
    assert all(state.scores[seat] == max(state.scores) for seat in state.match.winners)


def test_a_discard_is_told_with_the_turn_that_follows() -> None:
    """The events of a discard are the discard and the next seat's turn."""
    then = step(position(rules_of(), ["7C 2C", "9C"]), 0, Discard(6))
    assert then.events == (Discarded(0, 6), TurnStarted(1, 2))
