"""Codes of private tables."""

from collections import Counter

import pytest

from service.games.codes import ALPHABET, new_code, read_code
from service.games.desk import Desk
from service.store.keys import shard_of


def test_a_code_can_be_read_out() -> None:
    """No two characters of a code are easily mistaken for each other: there is no 0 or O, no 1, I or L, and no U."""
    assert len(set(ALPHABET)) == len(ALPHABET) == 30
    assert not set("01OILU") & set(ALPHABET)
    assert ALPHABET.upper() == ALPHABET


async def test_codes_are_drawn_evenly_from_the_whole_alphabet(desk: Desk) -> None:
    """Each character comes about as often as any other, at each of the six places, and no code is foreseen."""
    codes = [new_code(desk, f"game{number}") for number in range(3000)]
    assert len(set(codes)) > 2990
    for place in range(6):
        counts = Counter(code[place] for code in codes)
        assert set(counts) == set(ALPHABET)
        assert max(counts.values()) < 160


async def test_a_code_lies_in_the_shard_of_its_game(desk: Desk) -> None:
    """Table and code can be made by one commit, on a cluster, too."""
    games = [f"game{number}" for number in range(200)]
    assert all(shard_of(new_code(desk, game)) == shard_of(game) for game in games)


@pytest.mark.parametrize("typed", ["K7M2QX", "k7m2qx", "K7M-2QX", " k7m 2qx ", "k-7-m-2-q-x"])
def test_a_code_is_read_as_people_type_it(typed: str) -> None:
    """Small letters, blanks and hyphens make no difference."""
    assert read_code(typed) == "K7M2QX"
