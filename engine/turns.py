"""How turns follow one another, and how a deal and a match come to their end."""

from msgspec.structs import replace

from engine.deal import first_player
from engine.draws import stuck
from engine.events import DealEnd, DealEnded, Event, MatchEnded, SeatOut, TurnStarted
from engine.scoring import match_result, scored
from engine.state import Phase, State, Step

__all__ = ["begin_turn", "end_deal", "end_turn"]


def end_turn(state: State, *before: Event) -> Step:
    """The turn of the seat to move is over: the next seat's, or the end of the deal (B9, P5, P16, B8).

    `before`, here as below, are the events that led there.
    """
    seat = state.turn
    out = not state.hands[seat]
    if out:
        before = (*before, SeatOut(seat))
        if state.laid_now and seat not in state.laid:
            state = replace(state, at_once=(*state.at_once, seat))
    laid = (*state.laid, seat) if state.laid_now and seat not in state.laid else state.laid
    state = replace(state, laid=laid, laid_now=False, taken=b"", owed=False, owed_jokers=0)
    if out and not state.rules.finish_round:
        return end_deal(state, DealEnd.OUT, *before)
    return _next_turn(state, *before)


def begin_turn(state: State, *before: Event) -> Step:
    """The seat to move begins; where it can do nothing at all the deal is void (B8)."""
    started = TurnStarted(state.turn, state.round)
    return end_deal(state, DealEnd.STUCK, *before, started) if stuck(state) else Step(state, (*before, started))


def end_deal(state: State, end: DealEnd, *before: Event) -> Step:
    """The deal is over: it is scored, and the match may be over with it."""
    state = scored(state, end)
    result, match = state.result, match_result(state.rules, state.deal, state.scores)
    assert result is not None  # noqa: S101  scored always leaves one; this tells the type checker
    ended = DealEnded(
        state.deal, end, result.winners, result.void, result.scores, state.scores, state.pool, state.hands, state.seed
    )
    if match is None:
        return Step(replace(state, phase=Phase.DEAL_OVER), (*before, ended))
    over = replace(state, phase=Phase.MATCH_OVER, match=match)
    return Step(over, (*before, ended, MatchEnded(match.winners, state.scores, match.settlement)))


def _next_turn(state: State, *before: Event) -> Step:
    """The next seat that is neither out nor void, clockwise; on the way there a round may end."""
    hands, voided = state.hands, state.voided
    out = not all(hands)
    if (out or voided) and not any(hand and seat not in voided for seat, hand in enumerate(hands)):
        return end_deal(state, DealEnd.OUT if out else DealEnd.VOIDED, *before)
    first, seat = first_player(state), state.turn
    while True:
        seat = (seat + 1) % len(hands)
        if seat == first:
            idle = 0 if state.busy else state.idle + 1
            end = _end_of_round(state, idle, out)
            if end:
                return end_deal(replace(state, idle=idle, busy=False), end, *before)
            state = replace(state, idle=idle, busy=False, round=state.round + 1)
        if hands[seat] and seat not in voided:
            return begin_turn(replace(state, phase=Phase.DRAW, turn=seat), *before)


def _end_of_round(state: State, idle: int, somebody_out: bool) -> DealEnd | None:
    """Whether the round that is now complete is the deal's last, and why; it makes `idle` idle rounds on end."""
    if somebody_out:
        return DealEnd.OUT
    if state.rules.round_limit and state.round >= state.rules.round_limit:
        return DealEnd.ROUNDS
    return DealEnd.IDLE if state.rules.idle_limit and idle >= state.rules.idle_limit else None
