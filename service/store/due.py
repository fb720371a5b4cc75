"""What falls due: who looks claims what he finds, so that of many servers one alone does it.

A server that ends before it has done what it claimed holds the others up for `CLAIM_MS` and no longer. Each look that
was answered is a sign of life, too, which the next one of the same server tells. Where none of a shard was answered for
longer than `SILENCE_MS`, nobody could have been served, and that time is kept as an outage.
"""

from pathlib import Path
from typing import Final, cast

import msgspec

from service.store.keys import Keys
from service.store.link import Link

__all__ = ["CLAIM_MS", "SILENCE_MS", "Due", "Look"]

CLAIM_MS: Final = 5_000
SILENCE_MS: Final = 2_000
_REMEMBERED_MS: Final = 3 * 24 * 3600 * 1000
"""Longer than any turn may last."""

_SCRIPT: Final = Path(__file__).with_name("due.lua").read_text("utf-8")


class Look(msgspec.Struct, frozen=True):
    """What was found: games in which something is due, claimed, the longest overdue first; and all outages.

    An outage is (from, to), in ms since 1970; no two overlap. `served_ms` is when a look of any server was last
    answered, as far as that was told before this one was answered.
    """

    games: tuple[str, ...]
    outages: tuple[tuple[int, int], ...]
    served_ms: int


class Due:
    """What looks over a link."""

    def __init__(self, link: Link, keys: Keys) -> None:
        self._link = link
        self._keys = keys
        self._script = link.client.register_script(_SCRIPT)

    async def look(self, shard: int, now_ms: int, limit: int, answered_ms: int | None) -> Look:
        """Claims at most `limit` games of the shard in which something is due now.

        `answered_ms` is when this server was last answered here (None: it was not yet): a claim holds from then, so
        that a look which nobody waits for any more holds nobody up. It waits for replicas as a commit does: while they
        are missing no call succeeds, which is an outage like any other.
        """
        keys = self._keys.due(shard)
        names = [keys.due, keys.pulse, keys.outages]
        known, claim_ms = ("", now_ms) if answered_ms is None else (answered_ms, answered_ms)
        arguments = [now_ms, SILENCE_MS, claim_ms + CLAIM_MS, limit, now_ms - _REMEMBERED_MS, known]
        found = await self._link.run("due", self._script, names, arguments)
        games, outages, pulse = cast(tuple[list[bytes], list[bytes], bytes], found)
        return Look(tuple(game.decode() for game in games), tuple(map(_span, outages)), int(pulse))

    async def drop(self, game: str) -> None:
        """Forgets that anything is due in a game that does not exist any more."""
        key = self._keys.of(game).due
        await self._link.call("drop", [key], lambda: self._link.client.zrem(key, game))


def _span(text: bytes) -> tuple[int, int]:
    start, _, end = text.partition(b"-")
    return int(start), int(end)
