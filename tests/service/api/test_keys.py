"""API keys."""

import pytest

from service.api.keys import ApiKeys, BadKeysError

OLD, NEW, OTHER = "0123456789abcdef", "fedcba9876543210", "A-Za-z0-9._~+/=="


def test_keys_are_read_from_lists_and_lines() -> None:
    """Commas and line breaks separate keys, blanks don't count, and lines may be remarks."""
    keys = ApiKeys.parse(f"shop:{OLD}, app.2:{OTHER}\n\n# shop:{'x' * 16}, and more\n  shop:{NEW}  \n")
    assert [keys.name_of(key) for key in (OLD, NEW, OTHER)] == ["shop", "shop", "app.2"]
    assert [keys.name_of(key) for key in ("", "x" * 16, OLD[:-1], OLD + "0", OLD.upper())] == [None] * 5


def test_without_keys_there_are_none() -> None:
    """A text without an entry is no keys, and says so."""
    assert not ApiKeys.parse("\n# nobody\n ,, ")
    assert not ApiKeys()
    assert ApiKeys.parse(f"shop:{OLD}")


@pytest.mark.parametrize(
    "entry", ["shop", "shop:", f":{OLD}", f"shop:{OLD[1:]}", f"shop:{'x' * 129}", f"sh op:{OLD}", f"shop:{OLD}é"]
)
def test_a_bad_entry_is_counted_and_never_repeated(entry: str) -> None:
    """A text that is no list of keys is refused with the number of each bad entry, and not with what it says."""
    with pytest.raises(BadKeysError) as caught:
        ApiKeys.parse(f"app:{NEW},{entry}\napp:{OTHER}\nbad")
    assert str(caught.value) == "entry 2, 4 is not NAME:KEY, with a key of 16 to 128 characters"


def test_what_is_kept_is_no_key() -> None:
    """Only hashes of keys are kept, so that none is shown by mistake."""
    assert OLD not in repr(vars(ApiKeys.parse(f"shop:{OLD}")))
