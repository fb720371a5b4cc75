from msgspec.structs import replace

from service.games.last_seen import LastSeen
from tests.service.store.tables import new_table


def test_the_last_table_seen_is_remembered() -> None:
    """The table last seen is the one that was put last, whatever its version: the store may have gone back."""
    seen, table = LastSeen(), new_table("a", version=3)
    assert seen.get("a") is None
    seen.put(table)
    seen.put(older := replace(table, version=2))
    assert seen.get("a") is older


def test_a_game_can_be_forgotten() -> None:
    """What is gone from the store is not remembered; to forget what was never known does nothing."""
    seen = LastSeen()
    seen.put(new_table("a"))
    seen.forget("a")
    seen.forget("b")
    assert seen.get("a") is None


def test_what_is_seen_is_bounded() -> None:
    """Beyond their number the game that was put longest ago is forgotten."""
    seen = LastSeen(size=2)
    for game in "abac":
        seen.put(new_table(game))
    assert [seen.get(game) is not None for game in "abc"] == [True, False, True]
