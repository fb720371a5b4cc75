"""API keys: who may create tables, where not everybody may.

keys = ApiKeys.parse("shop:5f2c…,shop:9a41…")     two keys of one name, while one takes the other's place
keys.name_of("5f2c…")                             "shop"; None for a key that is none of them
"""

import hashlib
import hmac
import re
from collections.abc import Iterable
from typing import Final

__all__ = ["ApiKeys", "BadKeysError"]

_ENTRY: Final = re.compile(r"([A-Za-z0-9._-]{1,40}):([A-Za-z0-9._~+/=-]{16,128})")


class BadKeysError(Exception):
    """A text that is no list of keys. Says where, and never repeats a key."""


class ApiKeys:
    """Names and what is kept of their keys: SHA-256. Without any, no key is asked for."""

    def __init__(self, keys: Iterable[tuple[str, str]] = ()) -> None:
        self._known = tuple((_hash(key), name) for name, key in keys)

    @classmethod
    def parse(cls, text: str) -> "ApiKeys":
        """The keys in a text: `NAME:KEY`, separated by commas or line breaks; a line that begins with # is a remark.

        A name has 1 to 40 letters, digits, dots, hyphens and underscores; a key 16 to 128 of these and `~+/=`. Raises
        BadKeysError.
        """
        lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
        entries = [entry.strip() for line in lines for entry in line.split(",") if entry.strip()]
        found = [_ENTRY.fullmatch(entry) for entry in entries]
        bad = [str(number) for number, entry in enumerate(found, start=1) if entry is None]
        if bad:
            raise BadKeysError(f"entry {', '.join(bad)} is not NAME:KEY, with a key of 16 to 128 characters")
        return cls((entry[1], entry[2]) for entry in found if entry)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._known)

    def name_of(self, key: str) -> str | None:
        """Whose key it is. Takes as long for one as for another."""
        digest, name = _hash(key), None
        for known, owner in self._known:
            if hmac.compare_digest(known, digest):
                name = owner
        return name


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()
