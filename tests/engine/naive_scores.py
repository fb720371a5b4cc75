"""Scoring once more, as the rules read and without a thought of speed: nothing here knows the engine.

Cards are texts (`"7H"`, `"JK"`), rules their JSON values, melds those of `tests.engine.naive`.
"""

from dataclasses import dataclass

from tests.engine.naive import Cards, Lying


@dataclass(frozen=True)
class Rules:
    """The fields that decide what is scored, by their names and JSON values."""

    scoring: str
    ace: str
    ace_points: str
    court_points: int
    joker_points: int
    sets_count_once: bool
    out_at_once: int
    settlement: str
    carry_over: bool | None
    one_winner: bool | None
    target: int
    deals: int


@dataclass(frozen=True)
class Deal:
    """A deal at its end: by seat the hands, and the cards with whose discard it went out; and what else counts."""

    hands: tuple[Cards, ...]
    melds: tuple[Lying, ...]
    end: str
    round: int
    pool: int
    last_discards: tuple[str | None, ...]
    voided: tuple[int, ...] = ()
    at_once: tuple[int, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What each seat scores, who has won, whether the deal is void, and what stays in the pool."""

    scores: tuple[int, ...]
    winners: tuple[int, ...]
    void: bool
    pool: int


def outcome(rules: Rules, deal: Deal) -> Outcome:
    """The deal scored."""
    out = [seat for seat, hand in enumerate(deal.hands) if hand == ()]
    if rules.scoring == "hands":
        return _by_hands(rules, deal, out)
    if rules.scoring == "melds":
        return _by_melds(rules, deal, out)
    return _by_pool(rules, deal, out)


def match(rules: Rules, deal: int, totals: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Who has won the match after this deal, and what is paid; None while it goes on."""
    seats = range(len(totals))
    winners = tuple(seat for seat in seats if totals[seat] == max(totals))
    reached = rules.target > 0 and max(totals) >= rules.target
    over = (reached and len(winners) == 1) or (rules.deals > 0 and deal >= rules.deals)
    if not over:
        return None
    paid = [0] * len(totals)
    if rules.settlement == "pay_winner":
        paid = list(totals)
    if rules.settlement == "difference":
        for winner in winners:
            for other in seats:
                paid[winner] += totals[winner] - totals[other]
                paid[other] -= totals[winner] - totals[other]
    return winners, tuple(paid)


def points(rules: Rules, card: str, *, low_in_a_run: bool = False) -> int:
    """What one card counts."""
    if card == "JK":
        return rules.joker_points
    if card[0] in "JQK":
        return rules.court_points
    if card[0] != "A":
        return 10 if card[0] == "T" else int(card[0])
    if rules.ace_points == "fifteen":
        return 1 if low_in_a_run else 15
    return 11 if rules.ace_points == "eleven_if_high" and rules.ace == "either" else 1


def in_hand(rules: Rules, cards: Cards) -> int:
    """What cards left in a hand count: where triples count once, strike two of each three of a rank."""
    left = list(cards)
    if rules.sets_count_once:
        for rank in "A23456789TJQK":
            of_rank = [card for card in left if card[0] == rank and card != "JK"]
            for card in of_rank[: len(of_rank) // 3 * 2]:
                left.remove(card)
    return sum(points(rules, card) for card in left)


def shown(rules: Rules, melds: tuple[Lying, ...], seat: int) -> int:
    """What the cards count that the seat has laid on the table."""
    total = 0
    for meld in melds:
        for place, (card, owner) in enumerate(zip(meld.cards, meld.owners, strict=True)):
            low = meld.kind == "run" and place == 0
            total += points(rules, card, low_in_a_run=low) if owner == seat else 0
    return total


def _by_hands(rules: Rules, deal: Deal, out: list[int]) -> Outcome:
    scores = [0] * len(deal.hands)
    if not out:
        return Outcome(tuple(scores), (), True, deal.pool)
    for seat in out:
        factor = rules.out_at_once if seat in deal.at_once else 1
        scores[seat] = factor * (sum(in_hand(rules, hand) for hand in deal.hands) // len(out))
        if rules.settlement == "pay_winner":
            for loser, hand in enumerate(deal.hands):
                scores[loser] -= factor * in_hand(rules, hand)
    return Outcome(tuple(scores), tuple(out), False, deal.pool)


def _by_melds(rules: Rules, deal: Deal, out: list[int]) -> Outcome:
    scores = [0] * len(deal.hands)
    if not out and deal.end in ("stuck", "voided"):
        return Outcome(tuple(scores), (), True, deal.pool)
    for seat, hand in enumerate(deal.hands):
        if seat not in deal.voided:
            factor = rules.out_at_once if seat in deal.at_once else 1
            scores[seat] = factor * shown(rules, deal.melds, seat) - in_hand(rules, hand)
    return Outcome(tuple(scores), tuple(out), False, deal.pool)


def _by_pool(rules: Rules, deal: Deal, out: list[int]) -> Outcome:
    scores = [0] * len(deal.hands)
    if not out:
        return Outcome(tuple(scores), (), False, deal.pool if rules.carry_over else 0)
    pool = deal.pool + sum(in_hand(rules, hand) for hand in deal.hands)
    winners = out
    if len(out) >= 2 and (deal.round == 1 or rules.one_winner):
        winners = _decided(rules, deal, out)
    for seat in winners:
        scores[seat] = pool // len(winners)
    left = pool - sum(scores)
    return Outcome(tuple(scores), tuple(winners), False, left if rules.carry_over else 0)


def _decided(rules: Rules, deal: Deal, out: list[int]) -> list[int]:
    """Who alone has the lowest last discard: none is lower than any, and a tie has no winner."""
    for seat in out:
        mine = deal.last_discards[seat]
        others = [deal.last_discards[other] for other in out if other != seat]
        if mine is None and None not in others:
            return [seat]
        if mine is not None and all(card is not None and points(rules, mine) < points(rules, card) for card in others):
            return [seat]
    return []
