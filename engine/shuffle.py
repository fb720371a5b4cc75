"""The order of the cards, decided by a seed and provable afterwards (G6).

Anyone can recompute it. Let `block(i)` be HMAC-SHA256 with the seed as key over the bytes

    renewal (1 byte) ‖ entropy ‖ i (4 bytes, big-endian)        i = 0, 1, 2 …

where `renewal` is 0 for the deal and k for the k-th renewal of the stock. The blocks, one after the other, are read as
32-bit big-endian words. A number below n is a word w modulo n, where a w of at least ⌊2³² / n⌋ · n is skipped. With
such numbers the cards, sorted (at a renewal: as they lie in the pile, oldest first), are permuted by Fisher and Yates:
for i from the last index down to 1, card i changes places with card j, j being a number below i + 1.

What is published before the deal is the SHA-256 of the seed; the seed itself is published when the deal is over.
"""

import hashlib
import hmac
import struct
from collections.abc import Iterator

__all__ = ["SEED_SIZE", "commitment", "order"]

SEED_SIZE = 32


def order(seed: bytes, cards: bytes, *, renewal: int = 0, entropy: bytes = b"") -> bytes:
    """The cards in the order that the seed (32 bytes) decides."""
    shuffled = bytearray(cards)
    words = _words(seed, bytes([renewal]) + entropy)
    for last in range(len(shuffled) - 1, 0, -1):
        other = _below(last + 1, words)
        shuffled[last], shuffled[other] = shuffled[other], shuffled[last]
    return bytes(shuffled)


def commitment(seed: bytes) -> bytes:
    """What is published of a seed before its deal: its SHA-256, 32 bytes."""
    return hashlib.sha256(seed).digest()


def _below(limit: int, words: Iterator[int]) -> int:
    fair = 2**32 // limit * limit
    for word in words:
        if word < fair:
            return word % limit
    raise AssertionError("the words do not end")


def _words(seed: bytes, label: bytes) -> Iterator[int]:
    for counter in range(2**32):
        block = hmac.digest(seed, label + counter.to_bytes(4, "big"), "sha256")
        yield from struct.unpack(">8I", block)
