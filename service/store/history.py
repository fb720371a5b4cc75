"""Reading a game's history: the batches that led from version to version."""

from collections.abc import Sequence
from typing import Final, cast

import msgspec

from service.store.codec import decode_batch
from service.store.keys import Keys
from service.store.link import Link
from service.store.table import Batch

__all__ = ["PAGE", "Cursor", "Fresh", "History", "HistoryReader"]

PAGE: Final = 100
"""Batches read at a time by those who follow a game."""

Entry = tuple[bytes, dict[bytes, bytes]]


class History(msgspec.Struct, frozen=True):
    """A page of a game's history, and the last version that the game has.

    A reader who asked for what comes after version v finds it trimmed away where the first batch does not follow v,
    and v ahead of the game where `last_version` < v.
    """

    batches: tuple[Batch, ...]
    last_version: int


class Cursor(msgspec.Struct, frozen=True):
    """A game, and the version after which it is to be read; None: only its version is asked for."""

    game: str
    after: int | None


class Fresh(msgspec.Struct, frozen=True):
    """A game's version, the first encoded batches after a cursor's version, `PAGE` at most, and the version's mark."""

    version: int
    batches: tuple[bytes, ...]
    mark: bytes = b""


class HistoryReader:
    """What reads histories over a link; every call is one round trip and raises StoreUnavailable."""

    def __init__(self, link: Link, keys: Keys) -> None:
        self._link = link
        self._keys = keys

    async def page(self, game: str, after: int, limit: int) -> History | None:
        """At most `limit` ≥ 1 batches of versions above `after` ≥ 0, in order; None where there is no such game."""
        keys = self._keys.of(game)

        async def send() -> list[object]:
            pipe = self._link.client.pipeline(transaction=False)
            pipe.hget(keys.game, "version")
            pipe.xrange(keys.history, min=f"({after}", count=limit)
            return cast(list[object], await pipe.execute())

        version, entries = cast(tuple[bytes | None, list[Entry]], await self._link.call("history", [keys.game], send))
        if version is None:
            return None
        batches = tuple(decode_batch(data) for data in _encoded(entries))
        last = batches[-1].version if batches else 0
        return History(batches, max(int(version), last))

    async def batch(self, game: str, version: int) -> Batch | None:
        """The batch that led to this version; None where it is not kept, or not yet made."""
        key = self._keys.of(game).history

        async def send() -> list[Entry]:
            return cast(list[Entry], await self._link.client.xrange(key, f"{version}-0", f"{version}-0"))

        found = _encoded(await self._link.call("batch", [key], send))
        return decode_batch(found[0]) if found else None

    async def fresh(self, cursors: Sequence[Cursor]) -> list[Fresh | None]:
        """What is new of each of some games, in the same order; None for one that does not exist."""

        async def send() -> list[object]:
            pipe = self._link.client.pipeline(transaction=False)
            for cursor in cursors:
                keys = self._keys.of(cursor.game)
                # The version first: the entries, read after it, reach at least as far.
                pipe.hmget(keys.game, "version", "commit")
                if cursor.after is not None:
                    pipe.xrange(keys.history, min=f"({cursor.after}", count=PAGE)
            return cast(list[object], await pipe.execute())

        games = [self._keys.of(cursor.game).game for cursor in cursors]
        replies = iter(await self._link.call("catch_up", games, send))
        found: list[Fresh | None] = []
        for cursor in cursors:
            version, mark = cast(list[bytes | None], next(replies))
            entries = cast(list[Entry], next(replies)) if cursor.after is not None else []
            found.append(None if version is None else Fresh(int(version), tuple(_encoded(entries)), mark or b""))
        return found


def _encoded(entries: list[Entry]) -> list[bytes]:
    return [fields[b"batch"] for _, fields in entries]
