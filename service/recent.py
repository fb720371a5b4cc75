"""A memory of bounded size: of too many entries, those put longest ago are forgotten.

seen = Recent[str, Table](4096)
seen.put("a", table)
seen.get("a")
"""

from typing import Generic, TypeVar

__all__ = ["Recent"]

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Recent(Generic[_Key, _Value]):
    """The entries put last, at most `most` of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: dict[_Key, _Value] = {}

    def get(self, key: _Key) -> _Value | None:
        """What was put for the key, if it is remembered."""
        return self._entries.get(key)

    def put(self, key: _Key, value: _Value) -> None:
        """Remembers a value for the key, in place of the one before."""
        self._entries.pop(key, None)
        self._entries[key] = value  # put last: a dict keeps the order
        if len(self._entries) > self._most:
            del self._entries[next(iter(self._entries))]

    def forget(self, key: _Key) -> None:
        """Forgets the key, if it is remembered."""
        self._entries.pop(key, None)

    def __contains__(self, key: _Key) -> bool:
        """Whether the key is remembered."""
        return key in self._entries

    def __len__(self) -> int:
        """How many are remembered."""
        return len(self._entries)
