import hashlib
import hmac
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import shuffle
from engine.cards import deck, write_cards
from engine.shuffle import commitment, order

SEEDS = st.binary(min_size=32, max_size=32)


def by_hand(seed: bytes, cards: bytes, label: bytes) -> bytes:
    """The documented way, written once more without a thought of speed: blocks, words, Fisher and Yates."""
    left, stream, counter = list(cards), b"", 0
    for last in range(len(left) - 1, 0, -1):
        while True:
            if len(stream) < 4:
                stream += hmac.new(seed, label + counter.to_bytes(4, "big"), hashlib.sha256).digest()
                counter += 1
            word, stream = int.from_bytes(stream[:4], "big"), stream[4:]
            if word < 2**32 - 2**32 % (last + 1):
                break
        other = word % (last + 1)
        left[last], left[other] = left[other], left[last]
    return bytes(left)


@given(SEEDS, st.integers(0, 3), st.binary(max_size=40))
@pytest.mark.clause("G6")
def test_anybody_can_recompute_the_order(seed: bytes, renewal: int, entropy: bytes) -> None:
    """The order is what the documented procedure gives, for the deal and for each renewal of the stock."""
    cards = deck(2, 2)
    assert order(seed, cards, renewal=renewal, entropy=entropy) == by_hand(seed, cards, bytes([renewal]) + entropy)


@pytest.mark.clause("G6")
@pytest.mark.parametrize(
    ("seed", "first"),
    [
        (bytes(32), "KD AC 8H 2H TH 8S 3H 5S 7D 9S 7H JD 8C"),
        (bytes(range(32)), "4C KH JS AC TC AD QC 7S TD TS 3S JH 9S"),
    ],
)
def test_the_order_of_a_seed_never_changes(seed: bytes, first: str) -> None:
    """These seeds put one pack in these orders in every release, so that a published seed stays provable."""
    assert write_cards(order(seed, deck(1, 0))[:13]) == first


@given(SEEDS, SEEDS)
@pytest.mark.clause("G6")
def test_another_seed_is_another_order(one: bytes, other: bytes) -> None:
    """The same seed orders the cards alike each time, and another seed otherwise; a renewal is ordered on its own."""
    cards = deck(1, 0)
    assert sorted(order(one, cards)) == list(cards)
    assert (order(one, cards) == order(other, cards)) == (one == other)
    assert order(one, cards) != order(one, cards, renewal=1)


@pytest.mark.clause("G6")
@pytest.mark.parametrize(
    ("limit", "words", "number"), [(3, [2**32 - 1, 5], 2), (3, [2**32 - 2], 2), (2, [2**32 - 1], 1)]
)
def test_words_that_would_favour_low_numbers_are_skipped(limit: int, words: list[int], number: int) -> None:
    """A number below 3 is never made of the one word that would make 0 likelier than 1 and 2."""
    assert shuffle._below(limit, iter(words)) == number


def test_every_order_is_as_likely_as_every_other() -> None:
    """Over many seeds each of the orders of four cards comes about as often, by a chi-square test."""
    seeds = (hashlib.sha256(number.to_bytes(4, "big")).digest() for number in range(4800))
    counts = Counter(order(seed, b"\x00\x01\x02\x03") for seed in seeds)
    assert len(counts) == 24
    assert sum((count - 200) ** 2 / 200 for count in counts.values()) < 49.7  # 23 degrees of freedom, p = 0.001


@pytest.mark.clause("G6")
def test_what_is_published_is_the_hash_of_the_seed() -> None:
    """The commitment to a seed is its SHA-256."""
    assert commitment(b"\x00" * 32).hex() == "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"
