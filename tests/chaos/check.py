"""The history checker: holds what clients were told to what is stored. Nothing is done here, so that it can be tested.

faults(record, truth)       a sentence for each thing that is wrong; none where the service kept its promises:

- an acknowledged act stands in the history exactly once, at the version that was acknowledged, with the same events;
- one that was refused does not stand there, one that nobody knows of at most once, and nothing else does but what
  follows from the rules and the clock (`tests.chaos.turns`);
- the versions have no gap;
- every watcher was told the table once, and then each version once and in order, as redacted for it, but for a player
  who has left: nothing after that;
- the record, played again, comes to the stored match, byte for byte, and no card is lost or doubled on the way.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from rummy.v1.event_pb2 import EventBatch
from rummy.v1.game_pb2 import Game

from engine.errors import BadReplay
from engine.replay import recorded, replayed
from engine.status import status
from service.api.convert.events import batch_to
from service.games.play import SEED_LINE
from service.games.seen import see_batch
from service.games.tokens import hash_of
from service.store.table import Batch, Phase, SeatLeft, Table
from tests.chaos.record import Ask, TableRecord, Watched
from tests.chaos.turns import unfounded


@dataclass(frozen=True)
class Truth:
    """What is stored of a game: its table, its whole history, its record, and the version that each request made."""

    table: Table
    batches: list[Batch]
    lines: list[str]
    requests: Mapping[str, int]

    @property
    def unasked(self) -> list[Batch]:
        """What no request has made, beside the table itself."""
        made = set(self.requests.values())
        return [batch for batch in self.batches if batch.version > 1 and batch.version not in made]


def faults(
    record: TableRecord, truth: Truth, *, forked: bool = False, silences: Sequence[tuple[int, int]] = ()
) -> list[str]:
    """A sentence for each promise that was not kept to the clients of the table.

    `silences` are times, from and to in ms since 1970, in which nobody could be served.

    `forked`: a master has failed over, so that watchers may have been told of commits that no replica had, and that
    were never acknowledged. Then they may be shown the table again, and are held to what is stored from there on.
    """
    found = [*record.faults, *_versions(truth), *_asks(record, truth), *_ownership(record, truth, silences)]
    for watched in record.watched:
        hold = _followed if forked else _watched
        found += hold(watched, truth, _left(record, truth) if watched.seat == record.left else None)
    return [f"{record.name}: {fault}" for fault in (*found, *_play(truth))]


def lost(record: TableRecord, truth: Truth) -> list[Ask]:
    """The acts that were acknowledged, and do not stand in the history where they were said to."""
    return [ask for ask in record.acknowledged if {truth.requests.get(_key(record, ask))} != ask.versions]


def misled(record: TableRecord, truth: Truth) -> list[str]:
    """A sentence for each watcher who, after a failover that lost acts, was not told of the table as it is stored."""
    return [f"{record.name}: {fault}" for watched in record.watched for fault in _followed(watched, truth)]


def _versions(truth: Truth) -> Iterator[str]:
    versions = [batch.version for batch in truth.batches]
    if versions != list(range(1, truth.table.version + 1)):
        yield f"the table is at version {truth.table.version}, and its history holds {versions}"


def _asks(record: TableRecord, truth: Truth) -> Iterator[str]:
    batches = {batch.version: batch for batch in truth.batches}
    for ask in record.asks:
        stands = truth.requests.get(_key(record, ask))
        if len(ask.versions) > 1:
            yield f"the act {ask.request_id} was acknowledged with versions {sorted(ask.versions)}"
        if ask.answers and ask.refused:
            yield f"the act {ask.request_id} was both acknowledged and refused: {ask.refused}"
        if ask.refused and stands is not None:
            yield f"the act {ask.request_id} was refused ({ask.refused}), and has made version {stands}"
        for answer in ask.answers:
            if stands != answer.version:
                yield f"the act {ask.request_id} was acknowledged as version {answer.version}; it has made {stands}"
            elif stands not in batches or list(answer.events) != _told(batches[stands], ask.seat):
                yield f"the act {ask.request_id} was answered with other events than those of version {stands}"
        if stands is not None and stands != ask.expected_version + 1:
            yield f"the act {ask.request_id} expected version {ask.expected_version} and has made version {stands}"


def _ownership(record: TableRecord, truth: Truth, silences: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Each version is one request's, which some client sent, or follows without anybody's doing."""
    sent = {_key(record, ask): ask.seat for ask in record.asks}
    sent |= {_key_of(record, seat, request_id): seat for request_id, seat in record.calls.items()}
    for version, times in Counter(truth.requests.values()).items():
        if times > 1:
            yield f"version {version} was made by {times} requests"
    made = {version: sent[key] for key, version in truth.requests.items() if key in sent}
    bots = frozenset(number for number, seat in enumerate(truth.table.seats) if seat.bot)
    yield from unfounded(truth.table.limit, bots, truth.batches, made, silences)


def _left(record: TableRecord, truth: Truth) -> int | None:
    """The version with which a player left, where one has."""
    keys = [_key_of(record, seat, request_id) for request_id, seat in record.calls.items() if seat == record.left]
    versions = [
        batch.version
        for batch in truth.batches
        if batch.version in {truth.requests.get(key) for key in keys}
        and any(isinstance(event, SeatLeft) for event in batch.events)
    ]
    return versions[0] if versions else None


def _watched(watched: Watched, truth: Truth, left: int | None = None) -> Iterator[str]:
    """What is wrong with what a watcher was told. With the version `left` the player has given up the seat."""
    who = "a spectator" if watched.seat is None else f"seat {watched.seat}"
    first, *others = watched.told
    if not isinstance(first, Game) or any(isinstance(other, Game) for other in others):
        yield f"{who} was not shown the table once, at the beginning"
        return
    epoch = truth.table.epoch
    later = [batch for batch in truth.batches if batch.version > first.version]
    if left is not None:  # one whose stream was lost just then is not even told of it
        later = [batch for batch in later if batch.version <= min(left, max([first.version, *_numbers(others)]))]
    expected = [batch_to(see_batch(batch, None if batch.version == left else watched.seat, epoch)) for batch in later]
    if others == expected:
        return
    versions = _numbers(others)
    if versions != [batch.version for batch in expected]:
        yield f"{who} was told of {versions} after version {first.version}; the table is at {truth.table.version}"
        return
    differing = [batch.version for batch, other in zip(expected, others, strict=True) if batch != other]
    yield f"{who} was told otherwise than the history says of versions {differing}"


def _followed(watched: Watched, truth: Truth, left: int | None = None) -> Iterator[str]:
    """As `_watched`, where what was told may have been lost: no version is left out, and from the last table on, all is
    as it is stored.
    """
    shown = [place for place, told in enumerate(watched.told) if isinstance(told, Game)]
    for before, told in pairwise(watched.told):
        if not isinstance(told, Game) and told.version != before.version + 1:
            yield f"a watcher was told of version {told.version} after {before.version}"
    yield from _watched(replace(watched, told=watched.told[max(shown, default=0) :]), truth, left)


def _play(truth: Truth) -> Iterator[str]:
    """What is wrong with the match itself."""
    match, table = truth.table.match, truth.table
    if match is None or table.phase is not Phase.FINISHED:
        yield f"the match is not over: {table.phase}"
        return
    seeds = [bytes.fromhex(line.removeprefix(SEED_LINE)) for line in truth.lines if line.startswith(SEED_LINE)]
    moves = [line for line in truth.lines if not line.startswith(SEED_LINE)]
    try:
        steps = [step.state for step in replayed(recorded(match.rules, len(match.hands), seeds, moves, match.entropy))]
    except BadReplay as error:
        yield f"the record cannot be played again: {error}"
        return
    for number, state in enumerate(steps):
        yield from (f"step {number}: {wrong}" for wrong in status(state))
    if steps[-1] != match:
        yield "the record, played again, comes to another end than is stored"


def _told(batch: Batch, seat: int) -> list[object]:
    return list(batch_to(see_batch(batch, seat, "")).events)


def _numbers(told: Sequence[Game | EventBatch]) -> list[int]:
    return [one.version for one in told]


def _key(record: TableRecord, ask: Ask) -> str:
    return _key_of(record, ask.seat, ask.request_id)


def _key_of(record: TableRecord, seat: int, request_id: str) -> str:
    """A request's key in the store: see `service.games.retries`."""
    return f"{hash_of(record.tokens[seat]).hex()[:16]}:{request_id}"
