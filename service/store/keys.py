"""Where everything lies in Redis.

    rummyd:{s8}:game:<id>      hash     version   the table's version, a decimal number
                                        table     the table, encoded
                                        commit    the mark of the commit that made this version
                                        phase     the number of the table's phase, from 1
                                        request:<actor>:<request id>
                                                  "<version that it made>:<fingerprint of its payload>"
    rummyd:{s8}:history:<id>   stream   one entry a version; its id is "<version>-0"
                                        batch     the batch that led to this version, encoded
    rummyd:{s8}:record:<id>    list     what a replay of the match needs, a line each (see `service.games.play`)
    rummyd:{s8}:code:<code>    string   <id> of the private table that has this code
    rummyd:{s8}:open           zset     the public open tables of the shard, all of score 0, so that Redis keeps them in
                                        the order of their names: "<time of creation, 13 digits of ms>:<id>"
    rummyd:{s8}:alike:<likeness>
                               zset     "<time of creation, 13 digits of ms>:<id>" of the public open tables of the
                                        shard that are alike, the score the free seats
    rummyd:{s8}:next:<likeness>
                               string   <id> of the table that is created where none of this likeness is open
    rummyd:{s8}:quick:<digest of a request id>
                               string   "<fingerprint of its payload>:<id>" of the table at which it takes a seat
    rummyd:{s8}:due            zset     <id>, its score the ms at which something falls due in the game
    rummyd:{s8}:tables:<phase> zset     <id> of each table of the shard in this phase, the score the ms at which it
                                        expires
    rummyd:{s8}:pulse          string   the ms at which a server was last answered that looked what is due
    rummyd:{s8}:outages        zset     times in which none was, "<from>-<to>" in ms, the score the latter
    rummyd:{s8}:probe          string   nothing: it is written to see whether the shard takes commits
    rummyd:{s8}:feed:<id>      channel  (sharded) every batch as it is committed, encoded

`rummyd` is the namespace, a setting. `{s8}` is the shard, one of 16, derived from the game's id: it is the hash tag of
every key of the game, so that all of them lie in one slot of a Redis Cluster and a commit is atomic there, too. The
tags are chosen so that their slots lie evenly: however many masters share the slots out, none has two shards more than
another. The code of a private table is drawn so that it gives the game's shard; what servers agree on (`next`, `quick`)
lies in the shard of its own name. The keys of a game expire together, and each commit postpones that; entries of
expired games in the indexes are dropped by whoever meets them, and each new game looks at two others in those that it
enters. Hands and seeds lie there as they are: whoever may read this Redis may see all.
"""

from typing import Final
from zlib import crc32

import msgspec

__all__ = ["PHASES", "SHARDS", "DueKeys", "GameKeys", "Keys", "shard_of"]

_TAGS: Final = (
    "s10", "s29", "s109", "s43", "s11", "s28", "s108", "s42", "s12", "s158", "s8", "s41", "s13", "s159", "s9", "s40"
)  # fmt: skip
"""The hash tag of each shard, whose slot is near the middle of its sixteenth of the slots."""
PHASES: Final = ("open", "playing", "finished", "abandoned")
"""The names of `service.store.table.Phase`, in the order by which they are counted."""
SHARDS: Final = len(_TAGS)
"""Fixed: another number would look for every game in the wrong place."""


def shard_of(name: str) -> int:
    """The shard of a game by its id, or of another name: 0 to `SHARDS` - 1."""
    return crc32(name.encode()) % SHARDS


class DueKeys(msgspec.Struct, frozen=True):
    """Where a shard keeps what falls due."""

    due: str
    pulse: str
    outages: str


class GameKeys(msgspec.Struct, frozen=True):
    """The keys of one game, the indexes that it stands in, and its channel."""

    game: str
    history: str
    record: str
    code: str
    open: str
    alike: str
    due: str
    tables: tuple[str, ...]
    """One for each phase."""
    feed: str


class Keys:
    """The keys of one namespace."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace

    def of(self, game: str, *, code: str = "", likeness: str = "") -> GameKeys:
        """The keys of a game, by its id, its code where it is private, and its likeness where it is public."""
        shard = shard_of(game)
        return GameKeys(
            game=self._key(shard, f"game:{game}"),
            history=self._key(shard, f"history:{game}"),
            record=self._key(shard, f"record:{game}"),
            code=self._key(shard, f"code:{code}"),
            open=self._key(shard, "open"),
            alike=self._key(shard, f"alike:{likeness}"),
            due=self._key(shard, "due"),
            tables=self.tables(shard),
            feed=self._key(shard, f"feed:{game}"),
        )

    def tables(self, shard: int) -> tuple[str, ...]:
        """The tables of a shard, for each phase."""
        return tuple(self._key(shard, f"tables:{phase}") for phase in PHASES)

    def code(self, code: str) -> str:
        """Where the game of a code is to be found."""
        return self._key(shard_of(code), f"code:{code}")

    def open_shards(self) -> list[str]:
        """The index of open tables of every shard."""
        return [self._key(shard, "open") for shard in range(SHARDS)]

    def alike_shards(self, likeness: str) -> list[str]:
        """The index of open tables of a likeness, of every shard."""
        return [self._key(shard, f"alike:{likeness}") for shard in range(SHARDS)]

    def next(self, likeness: str) -> str:
        """Where those who find no open table of a likeness agree on the one to create."""
        return self._key(shard_of(likeness), f"next:{likeness}")

    def quick(self, digest: str) -> str:
        """Where the table of a request that may be at any is kept, by the digest of its id."""
        return self._key(shard_of(digest), f"quick:{digest}")

    def due(self, shard: int) -> DueKeys:
        """Where a shard keeps what falls due."""
        return DueKeys(self._key(shard, "due"), self._key(shard, "pulse"), self._key(shard, "outages"))

    def probe(self, shard: int) -> str:
        """Where a shard is written to, to see whether it takes commits."""
        return self._key(shard, "probe")

    def _key(self, shard: int, rest: str) -> str:
        return f"{self._namespace}:{{{_TAGS[shard]}}}:{rest}"
