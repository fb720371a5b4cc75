from msgspec.structs import replace

from service.games.hints import Hints
from tests.service.store.tables import new_table


def test_the_last_table_seen_is_remembered() -> None:
    """A hint is the table that was put last, whatever its version: the store may have gone back."""
    hints, table = Hints(), new_table("a", version=3)
    assert hints.get("a") is None
    hints.put(table)
    hints.put(older := replace(table, version=2))
    assert hints.get("a") is older


def test_a_game_can_be_forgotten() -> None:
    """What is gone from the store goes from the hints; to forget what was never known does nothing."""
    hints = Hints()
    hints.put(new_table("a"))
    hints.forget("a")
    hints.forget("b")
    assert hints.get("a") is None


def test_hints_are_bounded() -> None:
    """Beyond their number the game that was put longest ago is forgotten."""
    hints = Hints(size=2)
    for game in "abac":
        hints.put(new_table(game))
    assert [hints.get(game) is not None for game in "abc"] == [True, False, True]
