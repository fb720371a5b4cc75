"""The store: tables, their histories and their feeds, in Redis.

Every call is one round trip (a listing may need more), raises StoreUnavailable where Redis cannot be reached, and is
safe to be cancelled. A commit is atomic: the next version, its batch, the answer to its request, what falls due, the
listing and the wake-up of those who watch, or nothing of it. Where replicas are waited for and too few have it in time,
it is made, but not confirmed: that is StoreUnavailable, and the request is answered when it comes again.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, cast

import msgspec
from msgspec.structs import replace

from service.observability import metrics
from service.store.address import open_link
from service.store.agreement import Agreement
from service.store.census import Census, Counted
from service.store.codec import decode_table, encode_batch, encode_table
from service.store.due import Due, Look
from service.store.errors import ServerTooOld, StoreUnavailable
from service.store.feed import Feed, FeedLimits
from service.store.history import History, HistoryReader
from service.store.keys import PHASES, Keys, shard_of
from service.store.link import Limits, Link
from service.store.listing import Listing, Page
from service.store.outcome import (
    Answered,
    Chosen,
    CodeTaken,
    Committed,
    Conflict,
    Created,
    Exists,
    Gone,
    Loaded,
    Request,
)
from service.store.probe import Probe
from service.store.table import Batch, Phase, Table

__all__ = ["Options", "Store"]

COMMIT: Final = Path(__file__).with_name("commit.lua").read_text("utf-8")
REMEMBER: Final = Path(__file__).with_name("remember.lua").read_text("utf-8")
CONFIRM: Final = Path(__file__).with_name("confirm.lua").read_text("utf-8")
_NEXT_MS: Final = 60_000


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How a store behaves. `keep_*_s`: seconds that a table is kept after its last commit, by its phase."""

    namespace: str = "rummyd"
    history: int = 1000
    """Versions that a game's history keeps at least."""
    keep_open_s: int = 24 * 3600
    keep_playing_s: int = 7 * 24 * 3600
    keep_over_s: int = 24 * 3600
    link: Limits = Limits()
    feed: FeedLimits = FeedLimits()


class Store:
    """Tables in Redis. Made by `connect`; `feed` tells what is committed."""

    def __init__(self, link: Link, options: Options) -> None:
        keys = Keys(options.namespace)
        reader = HistoryReader(link, keys)
        self.feed = Feed(link, keys, reader, options.feed)
        self._link = link
        self._options = options
        self._keys = keys
        self._reader = reader
        self._listing = Listing(link, keys)
        self._due = Due(link, keys)
        self._census = Census(link, keys)
        self._agreement = Agreement(link)
        self._probe = Probe(link, keys)
        self._commit = link.client.register_script(COMMIT)
        self._remember = link.client.register_script(REMEMBER)
        self._confirm = link.client.register_script(CONFIRM)

    @classmethod
    async def connect(cls, url: str, options: Options | None = None) -> "Store":
        """A store in the Redis at this address; see `link` for the schemes.

        Raises BadAddress, StoreUnavailable, and ServerTooOld for a server before Redis 7.0.
        """
        options = options or Options()
        store = cls(open_link(url, options.link), options)
        try:
            await store._check_server()
        except BaseException:
            await store.close()
            raise
        return store

    async def lost_shards(self) -> dict[int, str]:
        """The shards, 0 to `SHARDS` - 1, that take no commit at the moment, each with the reason. Raises nothing."""
        return await self._probe.lost()

    async def close(self) -> None:
        """Ends all watches, and closes all connections."""
        await self.feed.close()
        await self._link.close()

    async def create(
        self, table: Table, batch: Batch, request: Request | None = None
    ) -> Created | Answered | Exists | CodeTaken:
        """Stores a new game at version 1. Where this request or another has created it before, nothing changes.

        A private table's code must lie in the game's shard (`keys.shard_of`).
        """
        if table.code and shard_of(table.code) != shard_of(table.game):
            raise ValueError("the code lies in another shard than the game")
        outcome = await self._write(replace(table, mark=b""), batch, request, (), None)  # it follows none
        match outcome:
            case Answered() | CodeTaken():
                return outcome
            case Committed(stored):
                return Created(stored)
            case Conflict() | Gone():
                return Exists()

    async def commit(
        self,
        table: Table,
        batch: Batch,
        request: Request | None = None,
        *,
        record: Sequence[str] = (),
        due_ms: int | None = None,
    ) -> Committed | Answered | Conflict | Gone:
        """Stores a game's next version, if it is still at the one before, by number and mark.

        `table` has the mark of the version that it was made from, and is given another: after a failover that lost some
        versions, others may have taken their numbers. Without a mark the number alone is compared. `batch` is what led
        there; `record` has lines to add to the game's record; `due_ms` is when something falls due next, in ms since
        1970 (None: nothing does). A request that has been answered before changes nothing, whatever the version.
        """
        match await self._write(table, batch, request, record, due_ms):
            case CodeTaken():
                raise AssertionError("a game that exists has its code already")
            case outcome:
                return outcome

    async def remember(self, table: Table, request: Request) -> Committed | Answered | Conflict | Gone:
        """Keep that the request has found nothing to do at this version, which is answered as 0; see `commit`."""
        key = self._keys.of(table.game).game
        arguments: list[str | bytes | int] = [table.version, table.mark, _field(request), request.fingerprint]
        reply = cast(list[bytes], await self._link.run("remember", self._remember, [key], arguments))
        match _outcome(reply, table, request):
            case CodeTaken():
                raise AssertionError("nothing is created")
            case outcome:
                return outcome

    async def load(self, game: str, request: Request | None = None) -> Loaded | None:
        """The table of a game, and how the request was answered if it was; None where there is no such game.

        An answer is given once the replicas that are waited for have it, as by the commit itself.
        """
        key = self._keys.of(game).game
        fields = ["table", _field(request)] if request else ["table"]
        found = cast(
            list[bytes | None], await self._link.call("load", [key], lambda: self._link.client.hmget(key, fields))
        )
        if found[0] is None:
            return None
        answered = _answered(found[1], request) if request and found[1] is not None else None
        if answered and self._link.replicas:
            await self._link.run("confirm", self._confirm, [key], [])
        return Loaded(decode_table(found[0]), answered)

    async def exists(self, game: str) -> bool:
        """Whether there is such a game."""
        return await self._listing.exists(game)

    async def find(self, code: str) -> str | None:
        """The id of the private game that has this code; None where none has."""
        key = self._keys.code(code)
        found = cast(bytes | None, await self._link.call("find", [key], lambda: self._link.client.get(key)))
        return None if found is None else found.decode()

    async def history(self, game: str, after: int, limit: int) -> History | None:
        """At most `limit` ≥ 1 batches of versions above `after` ≥ 0, in order; None where there is no such game."""
        return await self._reader.page(game, after, limit)

    async def batch(self, game: str, version: int) -> Batch | None:
        """The batch that led to this version; None where it is not kept, or not yet made."""
        return await self._reader.batch(game, version)

    async def record(self, game: str) -> list[str]:
        """Every line of the game's record, in order; none where there is no such game."""
        key = self._keys.of(game).record
        lines = await self._link.call("record", [key], lambda: self._link.client.lrange(key, 0, -1))
        return [line.decode() for line in cast(list[bytes], lines)]

    async def open_tables(self, limit: int, cursor: str = "", *, preset: str = "", seat_count: int = 0) -> Page:
        """At most `limit` ≥ 1 open tables, the newest first, from where the page before ended. Raises BadCursor.

        `preset` and `seat_count`: none but those. With them, a page may have fewer tables though others follow.
        """
        return await self._listing.open_tables(limit, cursor, preset=preset, seat_count=seat_count)

    async def fullest_alike(self, likeness: str) -> str | None:
        """The public open game of this likeness with the fewest free seats, then the oldest, by its id; None: none."""
        return await self._listing.fullest_alike(likeness)

    async def next_alike(self, likeness: str, proposed: str, *, instead_of: str = "") -> str:
        """The id of the game that all create who find none of this likeness open: the one proposed, if it is the first.

        `instead_of` is one that was told here before, and that is known to be open no more.
        """
        lifetime_ms = min(_NEXT_MS, self.lifetime_ms(Phase.OPEN))  # no longer than the game, which is not to rise again
        return await self._agreement.reach(self._keys.next(likeness), proposed, instead_of, lifetime_ms)

    async def chosen(self, request: Request) -> Chosen | None:
        """The game at which a request that may be at any takes a seat; None where none has been chosen.

        It is told once the replicas that are waited for have it.
        """
        key = self._keys.quick(_digest(request))
        value = await self._agreement.reached(key)
        if value is not None and self._link.replicas:
            value = await self._agreement.reach(key, value, "", self.lifetime_ms(Phase.PLAYING))
        return None if value is None else _chosen(value, request)

    async def choose(self, request: Request, game: str, *, instead_of: str = "") -> Chosen:
        """Chooses the game at which a request that may be at any takes a seat: this one, if it is the first.

        `instead_of` is the one chosen before, which is known to have refused, and for good. Kept like a match.
        """
        value, old = (f"{request.fingerprint.hex()}:{name}" for name in (game, instead_of))
        key, lifetime_ms = self._keys.quick(_digest(request)), self.lifetime_ms(Phase.PLAYING)
        return _chosen(await self._agreement.reach(key, value, old, lifetime_ms), request)

    async def look(self, shard: int, now_ms: int, limit: int, answered_ms: int | None = None) -> Look:
        """Claims at most `limit` ≥ 1 games of a shard in which something is due; see `due`."""
        return await self._due.look(shard, now_ms, limit, answered_ms)

    async def census(self, now_ms: int) -> Counted:
        """How many tables there are, and how late what is due is."""
        return await self._census.count(now_ms)

    async def drop_due(self, game: str) -> None:
        """Forgets that anything is due in a game that does not exist any more."""
        await self._due.drop(game)

    def lifetime_ms(self, phase: Phase) -> int:
        """How long a table of this phase is kept after its last commit, in ms."""
        seconds = {Phase.OPEN: self._options.keep_open_s, Phase.PLAYING: self._options.keep_playing_s}
        return seconds.get(phase, self._options.keep_over_s) * 1000

    async def _check_server(self) -> None:
        """Refuse a server without sharded channels, which `commit.lua` needs. Valkey tells the Redis that it equals."""
        info = cast(dict[str, object], await self._link.call("info", [], lambda: self._link.client.info("server")))
        version = str(info.get("redis_version", "0"))
        if int(version.partition(".")[0]) < 7:
            raise ServerTooOld(version)

    async def _write(
        self, table: Table, batch: Batch, request: Request | None, record: Sequence[str], due_ms: int | None
    ) -> Committed | Answered | Conflict | Gone | CodeTaken:
        if batch.version != table.version:
            raise ValueError(f"the batch is of version {batch.version}, the table of version {table.version}")
        keys = self._keys.of(table.game, code=table.code, likeness=table.likeness)
        before, mark = table.mark, os.urandom(8)
        table = replace(table, mark=mark)
        batch = replace(batch, mark=mark, before=before)
        arguments: list[str | bytes | int] = [
            table.version - 1,
            table.version,
            encode_table(table),
            encode_batch(batch),
            mark,
            _field(request) if request else "",
            request.fingerprint if request else b"",
            keys.feed,
            self.lifetime_ms(table.phase),
            self._options.history,
            self._listing.member(table),
            int(table.phase is Phase.OPEN and not table.code),
            table.game,
            "" if due_ms is None else due_ms,
            int(self._link.replicas > 0),
            before,
            int(table.code != ""),
            sum(not seat.taken for seat in table.seats) if table.phase is Phase.OPEN and table.likeness else "",
            PHASES.index(table.phase) + 1,
            table.updated_ms + self.lifetime_ms(table.phase),
            0,  # not sent again
            *record,
        ]
        names = [keys.game, keys.history, keys.open, keys.due, keys.record, keys.code, keys.alike, *keys.tables]
        sent_again = len(arguments) - len(record) - 1
        reply = cast(list[bytes], await self._link.run("commit", self._commit, names, arguments, sent_again))
        return _outcome(reply, table, request)


def _field(request: Request) -> str:
    return f"request:{request.key}"


def _digest(request: Request) -> str:
    return hashlib.sha256(request.key.encode()).hexdigest()[:32]


def _chosen(value: str, request: Request) -> Chosen:
    fingerprint, _, game = value.partition(":")
    return Chosen(game, fingerprint == request.fingerprint.hex())


def _answered(value: bytes, request: Request) -> Answered:
    version, _, fingerprint = value.partition(b":")
    return Answered(int(version), fingerprint == request.fingerprint)


def _outcome(
    reply: list[bytes], table: Table, request: Request | None
) -> Committed | Answered | Conflict | Gone | CodeTaken:
    """What the script's answer means."""
    match reply:
        case [b"committed"]:
            return Committed(table)
        case [b"answered", value] if request is not None:
            return _answered(value, request)
        case [b"conflict", current]:
            metrics.commit_conflicts.inc()
            return Conflict(decode_table(current))
        case [b"unknown"]:
            raise StoreUnavailable("Redis: the history is too short to tell whether it was made; it is not made now")
        case [b"gone"]:
            return Gone()
        case [b"code_taken"]:
            return CodeTaken()
    raise StoreUnavailable(f"Redis: the commit script answered {reply[:1]!r}")
