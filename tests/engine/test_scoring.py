import pytest

from engine.cards import NO_CARD
from engine.events import DealEnd
from engine.notation import read_card, read_cards
from engine.rules import RuleSet
from engine.scoring import card_points, hand_points, match_result, scored, shown_points
from engine.state import DealResult, State
from tests.strategies import meld, position, rules_of


def result(state: State, end: DealEnd = DealEnd.OUT) -> DealResult:
    found = scored(state, end).result
    assert found is not None
    return found


@pytest.mark.clause("B10")
@pytest.mark.parametrize(
    ("options", "card", "points"),
    [
        ({}, "KD", 10),
        ({}, "JS", 10),
        ({}, "TS", 10),
        ({}, "2C", 2),
        ({}, "JK", 15),
        ({}, "AH", 1),
        ({"ace": "either"}, "AH", 11),
        ({"ace": "either", "ace_points": "one"}, "AH", 1),
        ({"ace_points": "fifteen"}, "AH", 15),
        ({"court_points": 11, "joker_points": 20}, "QD", 11),
        ({"court_points": 11, "joker_points": 20}, "JK", 20),
    ],
)
def test_a_card_counts_what_the_table_says(options: dict[str, object], card: str, points: int) -> None:
    """Jokers, courts and aces count as the rules have it, all others their number."""
    assert card_points(rules_of("basic", **options), read_card(card)) == points


@pytest.mark.clause("P9")
@pytest.mark.parametrize(
    ("hand", "points"),
    [
        ("7C 7D 7S", 7),
        ("7C 7C 7D 7S 7H", 21),
        ("7C 7C 7D 7D 7S 7S", 14),
        ("7C 7D", 14),
        ("KC KD KH JK JK", 40),
        ("AC AD AS 2D", 3),
        ("", 0),
    ],
)
def test_three_of_a_rank_left_count_as_one(hand: str, points: int) -> None:
    """Each three cards of a rank count as one of them, those over in full, and jokers take no part."""
    assert hand_points(rules_of("pool500"), read_cards(hand)) == points
    assert hand_points(rules_of(), read_cards("7C 7D 7S")) == 21


@pytest.mark.clause("F4")
@pytest.mark.parametrize(
    ("cards", "points"), [("AS 2S 3S", 6), ("QS KS AS", 35), ("AS AD AH", 45), ("JK 2S 3S", 20), ("AS JK 3S", 19)]
)
def test_a_low_ace_on_the_table_counts_one(cards: str, points: int) -> None:
    """An ace counts 15, but 1 where it lies below the two; a joker counts as a joker wherever it lies."""
    rules = rules_of("rummy500", jokers=2)
    assert shown_points(rules, (meld(rules, cards, 1),), 1) == points
    assert shown_points(rules, (meld(rules, cards, 1),), 0) == 0


@pytest.mark.clause("P15")
def test_a_void_hand_wins_nothing_and_counts_for_the_winner() -> None:
    """The cards of a void hand are taken by the winner, and its own score for the deal is 0."""
    pool = position(rules_of("pool500"), ["", "KC 9C", "2C"], voided=(1,))
    assert result(pool).scores == (30 + 19 + 2, 0, 0)
    rules = rules_of("rummy500", foul="void_hand")
    melds = position(rules, ["", "KC 9C"], voided=(1,), melds=[("KD KH KS", 1), ("3C 3D 3H", 0)])
    assert result(melds).scores == (9, 0)


@pytest.mark.clause("B8")
@pytest.mark.parametrize("end", [end for end in DealEnd if end is not DealEnd.OUT])
def test_by_hands_a_deal_that_nobody_wins_is_void(end: DealEnd) -> None:
    """Where the winner takes what the others hold and nobody is out, nobody scores."""
    assert result(position(rules_of(), ["7C", "9C"]), end) == DealResult(end, (), True, (0, 0))


@pytest.mark.clause("B8")
@pytest.mark.parametrize("end", [DealEnd.OUT, DealEnd.STOCK, DealEnd.STUCK])
@pytest.mark.parametrize(("preset", "scores"), [("basic", (19, 0)), ("rummy500", (30, -19))])
def test_who_is_out_has_won_whatever_ends_the_deal(preset: str, scores: tuple[int, ...], end: DealEnd) -> None:
    """Where a round is completed, a deal that cannot go on after somebody is out is counted, and not void."""
    state = position(rules_of(preset, finish_round=True), ["", "9C KC"], melds=[("TC TD TH", 0)])
    assert result(state, end) == DealResult(end, (0,), False, scores)


@pytest.mark.clause("F14")
@pytest.mark.parametrize(
    ("end", "void"),
    [
        (DealEnd.STOCK, False),
        (DealEnd.IDLE, False),
        (DealEnd.ROUNDS, False),
        (DealEnd.STUCK, True),
        (DealEnd.VOIDED, True),
    ],
)
def test_by_melds_hands_are_deducted_though_nobody_is_out(end: DealEnd, void: bool) -> None:
    """A deal that the stock, the rounds or idleness ends counts what is shown minus what is held."""
    state = position(rules_of("rummy500"), ["7C", "9C"], melds=[("KD KH KS", 1)])
    assert result(state, end) == DealResult(end, (), void, (0, 0) if void else (-7, 21))


@pytest.mark.clause("P17")
@pytest.mark.parametrize(
    ("options", "last", "winners", "scores", "pool"),
    [
        ({}, "3C KD", (0,), (49, 0, 0), 0),
        ({}, "KC -", (1,), (0, 49, 0), 0),
        ({}, "JK KD", (1,), (0, 49, 0), 0),
        ({}, "TC KD", (), (0, 0, 0), 49),
        ({}, "- -", (), (0, 0, 0), 49),
        ({"carry_over": False}, "TC KD", (), (0, 0, 0), 0),
        ({"court_points": 0}, "KD -", (1,), (0, 39, 0), 0),
    ],
)
def test_in_round_one_the_lowest_last_discard_takes_the_pool(
    options: dict[str, object], last: str, winners: tuple[int, ...], scores: tuple[int, ...], pool: int
) -> None:
    """Several out in round 1: no discard is lower than any, a joker counts 15, and a tie leaves the pool whole."""
    discards = bytes(NO_CARD if word == "-" else read_card(word) for word in (*last.split(), "-"))
    state = position(rules_of("pool500", **options), ["", "", "9C KC"], round=1, last_discards=discards)
    then = scored(state, DealEnd.OUT)
    assert then.result == DealResult(DealEnd.OUT, winners, False, scores)
    assert then.pool == pool


@pytest.mark.clause("P17")
def test_several_out_later_share_the_pool() -> None:
    """Several out after round 1 share the pool; what does not divide stays in it, or is lost where nothing is kept."""
    rules = rules_of("pool500")
    kept = scored(position(rules, ["", "", "AC"]), DealEnd.OUT)
    lost = scored(position(rules_of("pool500", carry_over=False), ["", "", "AC"]), DealEnd.OUT)
    assert [(then.result and then.result.scores, then.pool) for then in (kept, lost)] == [
        ((15, 15, 0), 1),
        ((15, 15, 0), 0),
    ]


@pytest.mark.clause("P26")
def test_cutthroat_has_one_winner_and_keeps_nothing() -> None:
    """In cutthroat several out in any round are decided by the lowest last discard, and a tie scores nothing."""
    rules = rules_of("pool500-cutthroat")
    decided = position(rules, ["", "", "9C"], last_discards=read_cards("3C 4C") + bytes([NO_CARD]), round=5)
    tied = position(rules, ["", "", "9C"], last_discards=read_cards("3C 3D") + bytes([NO_CARD]), round=5)
    assert [(scored(s, DealEnd.OUT).scores, scored(s, DealEnd.OUT).pool) for s in (decided, tied)] == [
        ((9, 0, 0), 0),
        ((0, 0, 0), 0),
    ]


@pytest.mark.clause("P18")
def test_nobody_out_leaves_the_pool_for_the_next_deal() -> None:
    """After the last round without a winner nobody scores, and the pool stays as it was."""
    then = scored(position(rules_of("pool500"), ["9C", "KC"], pool=60), DealEnd.ROUNDS)
    assert (then.scores, then.pool) == ((0, 0), 60)


def test_by_hands_several_out_share() -> None:
    """Where a round is completed and several are out they share what the others hold; what does not divide is lost."""
    state = position(rules_of(finish_round=True), ["", "", "9C KC"])
    assert result(state).scores == (9, 9, 0)


@pytest.mark.clause("B10")
@pytest.mark.parametrize(
    ("preset", "settlement", "scores"),
    [("basic", "none", (40, 0)), ("basic", "pay_winner", (40, -40)), ("rummy500", "none", (60, -20))],
)
def test_a_whole_hand_at_once_counts_its_factor(preset: str, settlement: str, scores: tuple[int, ...]) -> None:
    """Who lays the whole hand in one turn takes, is paid, or has shown so many times as much."""
    rules = rules_of(preset, out_at_once=2, settlement=settlement)
    state = position(rules, ["", "KC QC"], at_once=(0,), melds=[("TC TD TH", 0)])
    assert result(state).scores == scores


@pytest.mark.clause("F7")
@pytest.mark.parametrize(
    ("options", "deal", "totals", "winners", "paid"),
    [
        ({"target": 500, "deals": 0}, 9, (499, 300), None, None),
        ({"target": 500, "deals": 0}, 9, (500, 300), (0,), (200, -200)),
        ({"target": 500, "deals": 0}, 9, (530, 541, 300), (1,), (-11, 252, -241)),
        ({"target": 500, "deals": 0}, 9, (541, 541, 300), None, None),
        ({"target": 500, "deals": 9}, 9, (541, 541, 300), (0, 1), (241, 241, -482)),
        ({"target": 500, "deals": 9}, 9, (-3, -8), (0,), (5, -5)),
        ({"target": 500, "deals": 9}, 8, (-3, -8), None, None),
        ({"target": 0, "deals": 1}, 1, (0, 0), (0, 1), (0, 0)),
        ({"target": 1, "deals": 0}, 1, (1, 0), (0,), (1, -1)),
    ],
)
def test_a_match_ends_at_the_target_or_after_the_deals(
    options: dict[str, object],
    deal: int,
    totals: tuple[int, ...],
    winners: tuple[int, ...] | None,
    paid: tuple[int, ...] | None,
) -> None:
    """The highest at the target wins and collects the differences; a tie is played on, but not past the last deal."""
    match = match_result(rules_of("rummy500", **options), deal, totals)
    assert (match and match.winners, match and match.settlement) == (winners, paid)


@pytest.mark.parametrize(("settlement", "paid"), [("none", (0, 0)), ("pay_winner", (30, -30))])
def test_what_is_paid_at_the_end_is_what_the_table_settles(settlement: str, paid: tuple[int, ...]) -> None:
    """Without settlement nobody pays; where losers pay deal by deal the totals are what was paid."""
    match = match_result(rules_of(settlement=settlement), 1, (30, -30))
    assert match is not None
    assert match.settlement == paid


def test_a_deal_adds_to_the_totals() -> None:
    """What a seat scores in a deal is added to its total, or subtracted from it."""
    rules: RuleSet = rules_of("rummy500")
    state = position(rules, ["", "KC"], melds=[("TC TD TH", 0)], scores=(100, 4))
    assert scored(state, DealEnd.OUT).scores == (130, -6)
