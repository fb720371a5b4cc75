"""The code of a private table: short enough for a person to read out, and for another to type in."""

from typing import Final

from service.games.desk import Desk
from service.store.keys import shard_of

__all__ = ["ALPHABET", "new_code", "read_code"]

ALPHABET: Final = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
"""What is not mistaken for anything else in here, read or heard: without 0 O, 1 I L, and U."""

_LENGTH: Final = 6
"""30 to the power of 6: 729 million."""


def new_code(desk: Desk, game: str) -> str:
    """A code for the game, drawn by chance. Another game may have it already.

    It lies in the game's shard, so that table and code are made by one commit; one in sixteen does.
    """
    while True:
        code = _digits(int.from_bytes(desk.chance(16)))
        if shard_of(code) == shard_of(game):
            return code


def read_code(text: str) -> str:
    """The code that somebody has typed: in letters of either case, with blanks and hyphens where he likes them."""
    return text.replace(" ", "").replace("-", "").upper()


def _digits(number: int) -> str:
    digits = []
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(ALPHABET))
        digits.append(ALPHABET[digit])
    return "".join(digits)
