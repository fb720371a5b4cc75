import pytest

from engine.actions import Discard, Draw, LayDown, Pass
from engine.events import DealEnd, DealEnded, SeatOut, TurnStarted
from engine.notation import read_action, read_cards
from engine.state import Phase, State
from engine.step import step
from tests.strategies import position, rules_of


def end_of(state: State) -> DealEnd | None:
    return state.result.end if state.result else None


@pytest.mark.clause("P16")
def test_seats_that_are_out_or_void_are_passed_over() -> None:
    """The turn goes to the next seat that has cards and a hand that counts; the round goes on with it."""
    state = position(rules_of("pool500"), ["9C 2C", "", "9D", "9H"], voided=(2,), dealer=3)
    assert step(state, 0, Discard(8)).events[-1] == TurnStarted(3, 2)


@pytest.mark.clause("P16")
def test_a_round_with_somebody_out_is_the_last() -> None:
    """With a seat out the round is completed, and the deal ends before the next begins."""
    state = position(rules_of("pool500"), ["", "9C 2C", "9D"], turn=1, dealer=2)
    after = step(state, 1, Discard(8)).state
    assert (after.turn, after.phase) == (2, Phase.DRAW)
    drawn = step(after, 2, Draw()).state
    assert end_of(step(drawn, 2, Pass()).state) is DealEnd.OUT


@pytest.mark.clause("P15")
def test_a_deal_in_which_every_hand_is_void_has_no_winner() -> None:
    """When the last hand is voided the deal ends without a winner; where somebody is out he has won."""
    foul = read_action("lay down 9C 2C 4D")
    all_void = step(position(rules_of("pool500"), ["9C 2C 4D", "9D"], voided=(1,)), 0, foul).state
    assert (end_of(all_void), all_void.result and all_void.result.winners) == (DealEnd.VOIDED, ())
    one_out = step(position(rules_of("pool500"), ["9C 2C 4D", ""]), 0, foul).state
    assert (end_of(one_out), one_out.result and one_out.result.winners) == (DealEnd.OUT, (1,))


@pytest.mark.clause("F5")
@pytest.mark.clause("B9")
@pytest.mark.parametrize("asked", ["discard 9C", "lay off 9C on 0"])
def test_the_last_card_ends_the_deal_at_once(asked: str) -> None:
    """Where rounds are not completed the deal ends with the last card, however it leaves the hand."""
    state = position(rules_of(), ["9C", "9D", "9H"], melds=[("6C 7C 8C", 1)])
    then, events = step(state, 0, read_action(asked))
    assert end_of(then) is DealEnd.OUT
    assert [type(event) for event in events[1:3]] == [SeatOut, DealEnded]


@pytest.mark.clause("B8")
@pytest.mark.parametrize(("busy", "idle", "end"), [(False, 8, None), (False, 9, DealEnd.IDLE), (True, 9, None)])
def test_idle_rounds_on_end_end_the_deal(busy: bool, idle: int, end: DealEnd | None) -> None:
    """After ten rounds on end in which nobody drew from the stock or laid down the deal is over."""
    state = position(rules_of(), ["9C", "9D 2D"], turn=1, busy=busy, idle=idle)
    then = step(state, 1, Discard(21)).state
    assert end_of(then) is end
    if end is None:
        assert then.idle == (0 if busy else 9)


@pytest.mark.clause("B8")
@pytest.mark.parametrize("asked", ["draw", "lay down 2C 3C 4C"])
def test_a_draw_or_a_lay_makes_a_round_busy(asked: str) -> None:
    """A card from the stock or on the table is what keeps a round from being idle."""
    phase = Phase.DRAW if asked == "draw" else Phase.PLAY
    state = position(rules_of(), ["2C 3C 4C 9C", "9D"], phase=phase)
    assert step(state, 0, read_action(asked)).state.busy


@pytest.mark.clause("P5")
@pytest.mark.parametrize(("round_", "end"), [(9, None), (10, DealEnd.ROUNDS)])
def test_a_deal_lasts_ten_rounds(round_: int, end: DealEnd | None) -> None:
    """The last seat's turn of round ten ends the deal, that of round nine does not."""
    state = position(rules_of("pool500"), ["9C 2C", "9D 2D"], turn=1, round=round_)
    assert end_of(step(state, 1, Discard(21)).state) is end


@pytest.mark.clause("B10")
@pytest.mark.parametrize(
    ("laid", "first", "factor"),
    [((), "lay down 2C 3C 4C", 2), ((0,), "lay down 2C 3C 4C", 1), ((), "discard 9C", 1)],
)
def test_a_whole_hand_counts_at_once_where_nothing_was_laid_before(
    laid: tuple[int, ...], first: str, factor: int
) -> None:
    """The factor is for a hand laid in one turn, a final discard included, by a seat that had laid nothing before."""
    hand = "2C 3C 4C 9C" if first.startswith("lay") else "9C"
    state = position(rules_of(out_at_once=2), [hand, "KD"], laid=laid)
    then = step(state, 0, read_action(first)).state
    if then.phase is Phase.PLAY:
        then = step(then, 0, Discard(8)).state
    assert then.result is not None
    assert then.result.scores == (10 * factor, 0)


@pytest.mark.clause("B10")
def test_a_turn_without_a_meld_is_no_laying_before() -> None:
    """A seat that ended its turns with a discard alone has laid nothing before: its whole hand at once still counts."""
    state = position(rules_of(out_at_once=2), ["2C 3C 4C 9C QH", "KD"], stock="5C 5C 5C")
    for asked in ("discard QH", "draw", "discard 5C", "draw", "lay down 2C 3C 4C 5C", "discard 9C"):
        state = step(state, state.turn, read_action(asked)).state
    assert state.result is not None
    assert state.result.scores == (20, 0)


@pytest.mark.clause("P14")
def test_who_lays_down_first_has_knocked() -> None:
    """The first lay-down of a deal opens laying down to all, and what was laid is remembered by seat."""
    state = position(rules_of("pool500"), ["2C 3C 4C 9C 9H", "9D"], knocked=False)
    then = step(state, 0, LayDown(read_cards("2C 3C 4C"))).state
    after = step(then, 0, Discard(8)).state
    assert (then.knocked, then.laid_now, after.laid_now, after.laid) == (True, True, False, (0,))
