"""The probe: which shards would take no commit, as of now."""

import asyncio
from pathlib import Path
from typing import Final

from service.store.errors import StoreUnavailable
from service.store.keys import SHARDS, Keys
from service.store.link import Link

__all__ = ["Probe"]

_SCRIPT: Final = Path(__file__).with_name("probe.lua").read_text("utf-8")
_LIFETIME_MS: Final = 60_000


class Probe:
    """What probes over a link."""

    def __init__(self, link: Link, keys: Keys) -> None:
        self._link = link
        self._keys = keys
        self._script = link.client.register_script(_SCRIPT)

    async def lost(self) -> dict[int, str]:
        """The shards that take no commit, each with the reason.

        Each is written to, for what is full, frozen or a mere replica answers a PING as ever. What is written has to
        reach as many replicas as a commit.
        """
        reasons = await asyncio.gather(*map(self._reason, range(SHARDS)))
        return {shard: reason for shard, reason in enumerate(reasons) if reason}

    async def _reason(self, shard: int) -> str:
        try:
            await self._link.run("probe", self._script, [self._keys.probe(shard)], [_LIFETIME_MS])
        except StoreUnavailable as error:
            return str(error)
        return ""
