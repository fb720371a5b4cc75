"""Proof that nobody stacked the cards: a deal played again from its seed, once the seed is open.

The SHA-256 of the seed was published before the deal, and before the players added to the shuffle. From the seed and
what they added follows the order of the cards (docs/api.md tells how), from the order and what everybody saw follows
what each hand must hold when the deal is over.
"""

import hashlib
import hmac
import struct
from collections import Counter
from collections.abc import Iterator, Sequence

from rummy.v1.event_pb2 import DealResult, Event
from rummy.v1.rule_set_pb2 import RuleSet

__all__ = ["entropy_of", "faults"]

_SUITS, _RANKS, _JOKER = "CDHS", "A23456789TJQK", "JK"


def entropy_of(added: Sequence[str]) -> bytes:
    """What the texts that the seats' players added come to; nothing where none of them added anything."""
    return hashlib.sha256("".join(f"{text}\n" for text in added).encode()).digest() if any(added) else b""


def faults(rule_set: RuleSet, entropy: bytes, events: Sequence[Event]) -> list[str]:
    """What is wrong with a deal, of which these are all events from `deal_started` to `deal_ended`; a line each."""
    started, ended = events[0].deal_started, events[-1].deal_ended
    seed = bytes.fromhex(ended.seed)
    if hashlib.sha256(seed).hexdigest() != started.commitment:
        return ["the seed is not the one that was committed to"]
    cards = _Cards(rule_set, started, _Shuffle(seed, entropy))
    found = cards.surprises(started)
    try:
        for event in events[1:-1]:
            cards.move(event)
    except (ValueError, IndexError):
        return [*found, f"seat {_seat_of(event)} played a card that it cannot have: {event}"]
    return found + cards.left_otherwise(ended)


class _Cards:
    """Where each card is: hands, stock and pile of one deal."""

    def __init__(self, rule_set: RuleSet, started: Event.DealStarted, shuffle: "_Shuffle") -> None:
        seats, size = len(started.card_counts), started.card_counts[0]
        naturals = [rank + suit for suit in _SUITS for rank in _RANKS for _ in range(rule_set.packs)]
        order = shuffle.order([*naturals, *[_JOKER] * rule_set.jokers])
        first, given, up = (started.dealer + 1) % seats, seats * size, int(rule_set.up_card)
        self._shuffle, self._renewals = shuffle, 0
        self.hands = [order[(seat - first) % seats : given : seats] for seat in range(seats)]
        self.pile, self.stock = order[given : given + up], order[given + up :]
        self._melds: list[list[str]] = []

    def surprises(self, started: Event.DealStarted) -> list[str]:
        """Whether the deal began otherwise than the seed has it."""
        told = (started.up_card, started.stock_size)
        due = (self.pile[-1] if self.pile else "", len(self.stock))
        return [] if told == due else [f"up-card and stock were {told}, and the seed gives {due}"]

    def left_otherwise(self, ended: DealResult) -> list[str]:
        """Whether a hand that was shown at the end is not the one that must be left."""
        pairs = enumerate(zip(self.hands, ended.hands, strict=True))
        return [
            f"seat {seat} showed {sorted(shown.cards)} and must have held {sorted(held)}"
            for seat, (held, shown) in pairs
            if Counter(held) != Counter(shown.cards)
        ]

    def move(self, event: Event) -> None:
        """Moves the cards as the event tells. Raises ValueError where one is not where it must be."""
        kind = event.WhichOneof("event")
        if kind == "drew":
            drawn, self.stock = self.stock[: event.drew.count], self.stock[event.drew.count :]
            self.hands[event.drew.seat] += drawn
        elif kind == "took_pile":
            taken = list(event.took_pile.cards)
            if self.pile[-len(taken) :] != taken:
                raise ValueError(taken)
            del self.pile[-len(taken) :]
            self.hands[event.took_pile.seat] += taken
        elif kind == "laid_down":
            self._melds.append(self._play(event.laid_down.seat, event.laid_down.cards))
        elif kind == "laid_off":
            lay = event.laid_off
            self._melds[lay.meld] = [
                *self._play(lay.seat, lay.low),
                *self._melds[lay.meld],
                *self._play(lay.seat, lay.high),
            ]
        elif kind == "joker_swapped":
            swap = event.joker_swapped
            self._play(swap.seat, [swap.card])
            self.hands[swap.seat].append(self._melds[swap.meld][swap.place])
            self._melds[swap.meld][swap.place] = swap.card
        elif kind == "discarded":
            self.pile += self._play(event.discarded.seat, [event.discarded.card])
        elif kind == "stock_renewed":
            self._renew(shuffled=event.stock_renewed.shuffled)

    def _play(self, seat: int, cards: Sequence[str]) -> list[str]:
        """Takes cards out of a hand."""
        for card in cards:
            self.hands[seat].remove(card)
        return list(cards)

    def _renew(self, *, shuffled: bool) -> None:
        """Makes the pile the stock: turned over as it lies, or all below its top in an order of the seed's."""
        self._renewals += 1
        if shuffled:
            self.stock, self.pile = self._shuffle.order(self.pile[:-1], self._renewals), self.pile[-1:]
        else:
            self.stock, self.pile = self.pile[1:], self.pile[:1]


def _seat_of(event: Event) -> int:
    seat: int = getattr(event, event.WhichOneof("event") or "").seat
    return seat


class _Shuffle:
    """The order of cards by a seed and what the players added: Fisher and Yates, with numbers out of HMAC-SHA256."""

    def __init__(self, seed: bytes, entropy: bytes) -> None:
        self._seed, self._entropy = seed, entropy

    def order(self, cards: Sequence[str], renewal: int = 0) -> list[str]:
        """The cards in their order, for the deal (0) or a renewal of the stock (from 1)."""
        numbers, shuffled = self._numbers(renewal), list(cards)
        for last in range(len(shuffled) - 1, 0, -1):
            fair = 2**32 // (last + 1) * (last + 1)
            other = next(number for number in numbers if number < fair) % (last + 1)
            shuffled[last], shuffled[other] = shuffled[other], shuffled[last]
        return shuffled

    def _numbers(self, renewal: int) -> Iterator[int]:
        for block in range(2**32):
            label = bytes([renewal]) + self._entropy + block.to_bytes(4, "big")
            yield from struct.unpack(">8I", hmac.digest(self._seed, label, "sha256"))
