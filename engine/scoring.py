"""What a deal is worth to each seat, and when and how a match ends."""

from msgspec.structs import replace

from engine.actions import MeldKind
from engine.cards import JOKER, NO_CARD
from engine.events import DealEnd
from engine.rules import Ace, AcePoints, RuleSet, Scoring, Settlement
from engine.state import DealResult, MatchResult, Meld, State

__all__ = ["card_points", "hand_points", "match_result", "out_seats", "scored", "shown_points"]


def scored(state: State, end: DealEnd) -> State:
    """The state with the deal's result, and with totals and pool as the result leaves them."""
    scoring = _scored_pool if state.rules.scoring is Scoring.POOL else _scored_cards
    result, pool = scoring(state, end)
    totals = tuple(total + score for total, score in zip(state.scores, result.scores, strict=True))
    return replace(state, result=result, pool=pool, scores=totals)


def match_result(rules: RuleSet, deal: int, totals: tuple[int, ...]) -> MatchResult | None:
    """How the match ends after so many deals with these totals, or None where it goes on (F7).

    A tie for the highest total at the target is played on; after the agreed number of deals there are joint winners.
    """
    best = max(totals)
    winners = tuple(seat for seat, total in enumerate(totals) if total == best)
    by_deals = 0 < rules.deals <= deal
    by_target = 0 < rules.target <= best and len(winners) == 1
    return MatchResult(winners, _settlement(rules, totals, winners)) if by_deals or by_target else None


def card_points(rules: RuleSet, card: int) -> int:
    """What a card counts in a hand (B10, F4, P17)."""
    if card == JOKER:
        return rules.joker_points
    rank = card % 13 + 1
    if rank > 10:
        return rules.court_points
    if rank > 1:
        return rank
    if rules.ace_points is AcePoints.FIFTEEN:
        return 15
    return 11 if rules.ace_points is AcePoints.ELEVEN_IF_HIGH and rules.ace is Ace.EITHER else 1


def hand_points(rules: RuleSet, hand: bytes) -> int:
    """What the cards left in a hand count; where `sets_count_once`, three of a rank as one card (P9)."""
    points = sum(card_points(rules, card) for card in hand)
    if rules.sets_count_once:
        for rank in range(13):
            triples = sum(hand.count(suit * 13 + rank) for suit in range(4)) // 3
            points -= 2 * triples * card_points(rules, rank)
    return points


def shown_points(rules: RuleSet, melds: tuple[Meld, ...], seat: int) -> int:
    """What the cards count that the seat has laid on the table, on whosever meld (F6, F12)."""
    points = 0
    for meld in melds:
        points += sum(card_points(rules, card) for card, by in zip(meld.cards, meld.owners, strict=True) if by == seat)
        low_ace = meld.kind is MeldKind.RUN and meld.low == 1 and meld.cards[0] != JOKER and meld.owners[0] == seat
        if low_ace and rules.ace_points is AcePoints.FIFTEEN:
            points -= 14
    return points


def out_seats(state: State) -> tuple[int, ...]:
    """The seats that have no card left: they are out."""
    return tuple(seat for seat, hand in enumerate(state.hands) if not hand)


def _scored_cards(state: State, end: DealEnd) -> tuple[DealResult, int]:
    """By `hands` or by `melds` (B10, F6, F14); where nobody is out, a deal by hands is void."""
    rules, seats = state.rules, range(len(state.hands))
    winners = out_seats(state)
    by_hands = rules.scoring is Scoring.HANDS
    if not winners and (by_hands or end in (DealEnd.STUCK, DealEnd.VOIDED)):
        return DealResult(end, (), True, (0,) * len(seats)), state.pool
    left = [hand_points(rules, hand) for hand in state.hands]
    factor = [rules.out_at_once if seat in state.at_once else 1 for seat in seats]
    if by_hands:
        share = sum(left) // len(winners)
        scores = [share * factor[seat] if seat in winners else 0 for seat in seats]
        if rules.settlement is Settlement.PAY_WINNER:
            (winner,) = winners
            scores = [scores[seat] if seat == winner else -left[seat] * factor[winner] for seat in seats]
    else:
        shown = [shown_points(rules, state.melds, seat) for seat in seats]
        scores = [0 if seat in state.voided else shown[seat] * factor[seat] - left[seat] for seat in seats]
    return DealResult(end, winners, False, tuple(scores)), state.pool


def _scored_pool(state: State, end: DealEnd) -> tuple[DealResult, int]:
    """By the pool (P17, P18): what the winners take, and what stays for the next deal."""
    rules = state.rules
    winners = out_seats(state)
    pool = state.pool
    if winners:
        pool += sum(hand_points(rules, hand) for hand in state.hands)
    if len(winners) > 1 and (rules.one_winner or state.round == 1):
        winners = _lowest_discard(state, winners)
    share, rest = divmod(pool, len(winners)) if winners else (0, pool)
    scores = tuple(share if seat in winners else 0 for seat in range(len(state.hands)))
    return DealResult(end, winners, False, scores), rest if rules.carry_over else 0


def _lowest_discard(state: State, winners: tuple[int, ...]) -> tuple[int, ...]:
    """The one whose last discard is lowest in points, no discard being lower than any; nobody where that is a tie."""
    last = {seat: state.last_discards[seat] for seat in winners}
    points = {seat: -1 if card == NO_CARD else card_points(state.rules, card) for seat, card in last.items()}
    lowest = tuple(seat for seat in winners if points[seat] == min(points.values()))
    return lowest if len(lowest) == 1 else ()


def _settlement(rules: RuleSet, totals: tuple[int, ...], winners: tuple[int, ...]) -> tuple[int, ...]:
    """What each seat receives or pays: sums to zero."""
    if rules.settlement is Settlement.PAY_WINNER:
        return totals  # paid deal by deal
    if rules.settlement is Settlement.NONE:
        return (0,) * len(totals)
    gap = [totals[winners[0]] - total for total in totals]
    return tuple(sum(gap) if seat in winners else -gap[seat] * len(winners) for seat in range(len(totals)))
