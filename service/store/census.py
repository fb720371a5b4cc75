"""The census: how many tables there are, by phase, and how long ago the oldest of what is due fell due."""

import asyncio
from pathlib import Path
from typing import Final, cast

import msgspec

from service.store.keys import PHASES, SHARDS, Keys
from service.store.link import Link

__all__ = ["Census", "Counted"]

_SCRIPT: Final = Path(__file__).with_name("census.lua").read_text("utf-8")


class Counted(msgspec.Struct, frozen=True):
    """The number of tables of each phase, and for how many ms what nobody has claimed is overdue, at the most."""

    tables: dict[str, int]
    overdue_ms: int


class Census:
    """What counts over a link."""

    def __init__(self, link: Link, keys: Keys) -> None:
        self._link = link
        self._keys = keys
        self._script = link.client.register_script(_SCRIPT)

    async def count(self, now_ms: int) -> Counted:
        """Counts now. A table is counted until it expires, by the clock of who counts."""
        shards = await asyncio.gather(*(self._shard(shard, now_ms) for shard in range(SHARDS)))
        overdue, *tables = zip(*shards, strict=True)
        return Counted(dict(zip(PHASES, map(sum, tables), strict=True)), max(overdue))

    async def _shard(self, shard: int, now_ms: int) -> list[int]:
        keys = [self._keys.due(shard).due, *self._keys.tables(shard)]

        async def send() -> list[int]:
            return cast(list[int], await self._link.evaluate(self._script, keys, [now_ms]))

        return await self._link.call("census", keys, send)
