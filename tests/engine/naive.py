"""Laying cards once more, as the rules read and without a thought of speed: nothing here knows the engine.

Cards are texts (`"7H"`, `"JK"`), rules their JSON values, a meld the cards that lie there, low to high for a run. What
the rules forbid raises `No` with its reason. Runs are found by writing down every run that there is.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations, permutations

Cards = tuple[str, ...]
Way = tuple[Cards, Cards]


@dataclass(frozen=True)
class Rules:
    """The fields that decide what may be laid, by their names and JSON values."""

    set_min: int
    set_max: int
    distinct_suits: bool
    run_min: int
    ace: str
    lay_off: str
    joker_swap: str
    opening_order: str
    go_out: str


class No(Exception):
    """The rules forbid it; the text is the reason."""


@dataclass(frozen=True)
class Lying:
    """A meld on the table: "set" or "run", its cards, who laid each of them, and who began it."""

    kind: str
    cards: Cards
    owners: tuple[int, ...]
    founder: int


@dataclass(frozen=True)
class Table:
    """What counts for a lay: the seat to move, its hand (sorted), the melds, and what it owes."""

    rules: Rules
    seat: int
    hand: Cards
    melds: tuple[Lying, ...]
    first: int = 0
    knocked: bool = True
    voided: tuple[int, ...] = ()
    owed: str | None = None
    owed_jokers: int = 0


def lay_down(table: Table, cards: Cards, kind: str | None = None) -> Table:
    """The table after a new meld."""
    _open(table)
    _held(table, cards)
    ways = [way for way in _melds(table.rules, cards) if kind in (None, way[0])]
    if not ways:
        raise No("NOT_A_MELD")
    if len(ways) > 1:
        raise No("AMBIGUOUS_PLACE")
    (kind, laid), seat = ways[0], table.seat
    return _laid(table, cards, (*table.melds, Lying(kind, laid, (seat,) * len(laid), seat)))


def lay_off(table: Table, meld: int, cards: Cards, end: str | None = None) -> Table:
    """The table after cards are added to a meld."""
    _open(table)
    if table.rules.lay_off == "none":
        raise No("LAY_OFF_CLOSED")
    lying = _named(table, meld)
    if table.rules.lay_off == "own" and lying.founder != table.seat:
        raise No("LAY_OFF_CLOSED")
    _held(table, cards)
    ways = _additions(table.rules, lying, cards)
    if end:
        ways = _at(end, ways) if lying.kind == "run" else []
    if not ways or not cards:
        raise No("NOT_A_LAY_OFF")
    if len(ways) > 1:
        raise No("AMBIGUOUS_PLACE")
    low, high = ways[0]
    mine = (table.seat,)
    now = replace(lying, cards=low + lying.cards + high, owners=mine * len(low) + lying.owners + mine * len(high))
    return _laid(table, cards, (*table.melds[:meld], now, *table.melds[meld + 1 :]))


def swap(table: Table, meld: int, card: str) -> Table:
    """The table after a natural is put for a joker."""
    _open(table)
    lying, rules = _named(table, meld), table.rules
    _held(table, (card,))
    place = None if rules.joker_swap == "never" else _joker_for(rules, lying, card)
    if place is None:
        raise No("NO_JOKER_TO_SWAP")
    if table.owed not in (None, card):
        raise No("TAKEN_CARD_UNUSED")
    cards, owners = list(lying.cards), list(lying.owners)
    cards[place], owners[place] = card, table.seat
    now = replace(lying, cards=tuple(cards), owners=tuple(owners))
    then = replace(
        table,
        hand=_sorted((*_without(table.hand, (card,)), "JK")),
        melds=(*table.melds[:meld], now, *table.melds[meld + 1 :]),
        owed=None,
        owed_jokers=table.owed_jokers + 1 if rules.joker_swap == "same_turn" else 0,
    )
    if not _can_pay(then):
        raise No("CARD_NOT_USABLE")
    return replace(then, knocked=True)


def _open(table: Table) -> None:
    waits = table.rules.opening_order == "first_player" and not table.knocked
    if waits and table.seat != table.first and table.first not in table.voided:
        raise No("LAYING_DOWN_CLOSED")


def _named(table: Table, meld: int) -> Lying:
    if meld < 0 or meld >= len(table.melds):
        raise No("NO_SUCH_MELD")
    return table.melds[meld]


def _held(table: Table, cards: Cards) -> None:
    if any(cards.count(card) > table.hand.count(card) for card in cards):
        raise No("CARD_NOT_IN_HAND")


def _laid(table: Table, cards: Cards, melds: tuple[Lying, ...]) -> Table:
    """What is the same for melds and lay-offs once their shape is right."""
    if table.owed is not None and table.owed not in cards:
        raise No("TAKEN_CARD_UNUSED")
    paid = cards.count("JK")
    owed = max(0, table.owed_jokers - paid)
    then = replace(table, hand=_without(table.hand, cards), melds=melds, owed=None, owed_jokers=owed, knocked=True)
    if not _can_pay(then):
        raise No("JOKER_NOT_PLAYED")
    if not then.hand and table.rules.go_out == "discard":
        raise No("DISCARD_REQUIRED")
    return then


@cache
def _can_pay(table: Table) -> bool:
    """Whether any row of lays whatever would bring all owed jokers to the table in this turn."""
    return table.owed_jokers == 0 or any(_can_pay(then) for then in _every_lay(table))


def _every_lay(table: Table) -> Iterator[Table]:
    """What every lay comes to that the hand allows."""
    hand, melds = table.hand, range(len(table.melds))
    orders = {cards for size in range(1, len(hand) + 1) for cards in permutations(hand, size)}
    bags = {cards for size in range(1, len(hand) + 1) for cards in combinations(hand, size)}
    lays = [partial(lay_down, table, cards, kind) for cards in sorted(orders) for kind in ("set", "run")]
    ends = (None, "low", "high")
    lays += [partial(lay_off, table, meld, cards, end) for cards in sorted(bags) for meld in melds for end in ends]
    lays += [partial(swap, table, meld, card) for card in sorted(set(hand)) for meld in melds]
    for lay in lays:
        with suppress(No):
            yield lay()


def _melds(rules: Rules, cards: Cards) -> list[tuple[str, Cards]]:
    """The melds that the cards are: a set, or runs, as ("set" or "run", cards low to high)."""
    found: list[tuple[str, Cards]] = []
    if len(cards) >= rules.set_min and _is_set(rules, cards):
        found.append(("set", _sorted(cards)))
    if len(cards) >= rules.run_min and any(card != "JK" for card in cards):
        runs = [run for run in _all_runs(rules, len(cards)) if _is_run(cards, run)]
        if "JK" not in cards and cards in runs:
            runs = [cards]
        found += [("run", cards if "JK" in cards else run) for run in runs]
    return found


def _is_run(cards: Cards, run: Cards) -> bool:
    """In the order given where there is a joker, else in any order."""
    if "JK" not in cards:
        return sorted(cards) == sorted(run)
    return all(card in ("JK", there) for card, there in zip(cards, run, strict=True))


def _is_set(rules: Rules, cards: Cards) -> bool:
    naturals = [card for card in cards if card != "JK"]
    if not naturals or any(card[0] != naturals[0][0] for card in naturals):
        return False
    if rules.set_max and len(cards) > rules.set_max:
        return False
    return not rules.distinct_suits or (len(set(naturals)) == len(naturals) and len(cards) <= 4)


def _all_runs(rules: Rules, size: int) -> Iterator[Cards]:
    """Every run of so many cards that a pack can make, low to high."""
    ranks = "A23456789TJQK" + ("A" if rules.ace == "either" else "")
    for suit in "CDHS":
        for low in range(len(ranks) - size + 1):
            run = ranks[low : low + size]
            if run.count("A") < 2:
                yield tuple(rank + suit for rank in run)


def _additions(rules: Rules, lying: Lying, cards: Cards) -> list[Way]:
    """Every way to add the cards: those before the meld's first card, those after its last (a set: all after)."""
    if lying.kind == "set":
        return [((), _sorted(cards))] if _is_set(rules, lying.cards + cards) else []
    before = len(lying.cards)
    (stands,) = [run for run in _all_runs(rules, before) if _is_place(lying.cards, run)]
    found = set[Way]()
    for run in _all_runs(rules, before + len(cards)):
        for below in range(len(cards) + 1):
            if run[below : below + before] == stands:
                found |= _fillings(run[:below], run[below + before :], cards)
    return sorted(found)


def _is_place(cards: Cards, run: Cards) -> bool:
    """Whether a run on the table lies there."""
    return all(card in ("JK", there) for card, there in zip(cards, run, strict=True))


def _fillings(low: Cards, high: Cards, cards: Cards) -> set[Way]:
    """The cards in these free places, each natural in its own."""
    found = set[Way]()
    for order in set(permutations(cards)):
        if all(card in ("JK", there) for card, there in zip(order, low + high, strict=True)):
            found.add((order[: len(low)], order[len(low) :]))
    return found


def _at(end: str, ways: list[Way]) -> list[Way]:
    """The ways in which that end gets at least one card, all free jokers, and an ace that could go either way."""
    if end == "low":
        fitting = [(low, high) for low, high in ways if low and high[-1:] != ("JK",)]
        with_ace = [way for way in fitting if any(card[0] == "A" for card in way[0])]
    else:
        fitting = [(low, high) for low, high in ways if high and low[:1] != ("JK",)]
        with_ace = [way for way in fitting if any(card[0] == "A" for card in way[1])]
    return with_ace if len(fitting) > 1 and with_ace else fitting


def _joker_for(rules: Rules, lying: Lying, card: str) -> int | None:
    """The place of the joker that the natural is put for."""
    if card == "JK" or "JK" not in lying.cards:
        return None
    if lying.kind == "set":
        of_rank = any(held[0] == card[0] for held in lying.cards if held != "JK")
        return lying.cards.index("JK") if of_rank and not (rules.distinct_suits and card in lying.cards) else None
    (stands,) = [run for run in _all_runs(rules, len(lying.cards)) if _is_place(lying.cards, run)]
    places = [index for index, there in enumerate(stands) if there == card and lying.cards[index] == "JK"]
    return places[0] if places else None


def _without(hand: Sequence[str], cards: Sequence[str]) -> Cards:
    left = list(hand)
    for card in cards:
        left.remove(card)
    return tuple(left)


def _sorted(cards: Sequence[str]) -> Cards:
    """In the order in which the engine's sets and hands stand, so that results can be compared: suits, then ranks."""
    return tuple(sorted(cards, key=lambda card: (card == "JK", "CDHS".find(card[1]), "A23456789TJQK".find(card[0]))))
