"""The public tables that are open, across all shards: all of them, or of those that are alike the fullest.

Those of shards that do not answer at the moment are left out: they could not be played at.
"""

import heapq
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final, cast

import msgspec

from service.store.codec import decode_table
from service.store.errors import BadCursor, NewerTable
from service.store.keys import Keys
from service.store.link import Link
from service.store.table import Table

__all__ = ["MOST_READ", "Listing", "Page"]

MEMBER: Final = re.compile(r"[0-9]{13}:[!-~]{1,200}")

MOST_READ: Final = 500
"""Tables that are read for one page, however few of them pass its filter."""
_AT_ONCE: Final = 100
"""Tables that are read together where there is a filter."""


class Page(msgspec.Struct, frozen=True):
    """Tables, and the cursor of the page after; empty: there is none."""

    tables: tuple[Table, ...]
    cursor: str


class Listing:
    """What lists over a link."""

    def __init__(self, link: Link, keys: Keys) -> None:
        self._link = link
        self._keys = keys

    @staticmethod
    def member(table: Table) -> str:
        """What stands for a table in the index of its shard, and is the cursor of the page that ends with it."""
        return f"{table.created_ms:013d}:{table.game}"

    async def open_tables(self, limit: int, cursor: str, *, preset: str, seat_count: int) -> Page:
        """At most `limit` open tables, the newest first, below the cursor; empty: from the start. Raises BadCursor.

        `preset` and `seat_count`: none but those; empty and 0: any. The index tells neither, so that tables are read
        for it: no more than MOST_READ, with which a page may end early. Tables of a newer release are left out: they
        are to be had at another server. Two round trips, and two more each time that it found too few, as for entries
        of expired tables, which it drops.
        """
        if cursor and not MEMBER.fullmatch(cursor):
            raise BadCursor(cursor)
        tables: list[Table] = []
        left = MOST_READ
        while left and len(tables) < limit:
            wanted = limit - len(tables)
            size = min(max(wanted, _AT_ONCE) if preset or seat_count else wanted, left)
            members = await self._members(size, cursor)
            found = [table for table in await self._tables(members) if _passes(table, preset, seat_count)]
            tables += found[:wanted]
            if len(found) <= wanted and len(members) < size:
                return Page(tuple(tables), "")
            cursor = members[-1] if len(found) <= wanted else self.member(tables[-1])
            left -= len(members)
        return Page(tuple(tables), cursor)

    async def fullest_alike(self, likeness: str) -> str | None:
        """The game of the open table of this likeness with the fewest free seats, then the oldest; None: there is none.

        Two round trips, and two more for each entry of an expired table that it finds first, and drops.
        """
        keys = self._keys.alike_shards(likeness)
        while True:
            firsts = await self._link.each("fullest", keys, lambda pipe, key: pipe.zrange(key, 0, 0, withscores=True))
            found = [
                (float(free), str(member, "ascii"), key) for key, first in firsts.items() for member, free in first
            ]
            if not found:
                return None
            _, member, key = min(found)
            game = member.partition(":")[2]
            if await self.exists(game):
                return game
            await self._drop([(key, member)])

    async def exists(self, game: str) -> bool:
        """Whether there is such a game."""
        key = self._keys.of(game).game
        return await self._link.call("exists", [key], lambda: self._link.client.exists(key)) > 0

    async def _members(self, limit: int, cursor: str) -> list[str]:
        """The first members below the cursor, across all shards, from the greatest down."""
        most = f"({cursor}" if cursor else "+"
        found = await self._link.each(
            "list", self._keys.open_shards(), lambda pipe, key: pipe.zrevrangebylex(key, most, "-", start=0, num=limit)
        )
        merged = heapq.merge(*cast(Iterable[list[bytes]], found.values()), reverse=True)
        return [member.decode() for member, _ in zip(merged, range(limit), strict=False)]

    async def _tables(self, members: list[str]) -> list[Table]:
        """The tables of these members, in their order; members of tables that are no more are dropped."""
        keys = [self._keys.of(member.partition(":")[2]) for member in members]
        answers = await self._link.each("list", [each.game for each in keys], lambda pipe, key: pipe.hget(key, "table"))
        found = [answers.get(each.game, b"") for each in keys]
        await self._drop(
            [(each.open, member) for each, member, data in zip(keys, members, found, strict=True) if data is None]
        )
        return [table for data in found if data for table in _known(data)]

    async def _drop(self, entries: list[tuple[str, str]]) -> None:
        """Drops members from indexes, each given as (index, member)."""
        members = defaultdict[str, list[str]](list)
        for index, member in entries:
            members[index].append(member)
        await self._link.each("drop", [*members], lambda pipe, index: pipe.zrem(index, *members[index]))


def _passes(table: Table, preset: str, seat_count: int) -> bool:
    return preset in {"", table.preset} and seat_count in {0, len(table.seats)}


def _known(data: bytes) -> Iterator[Table]:
    """The table, unless a newer release has stored it."""
    with suppress(NewerTable):
        yield decode_table(data)
