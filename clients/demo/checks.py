"""What must be true of a match when it is over, by what its watchers were told.

for name, faults in checks(played): …      each with the faults that it found; none: it holds
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from rummy.v1.event_pb2 import Event
from rummy.v1.game_pb2 import Game
from rummy.v1.view_pb2 import View

from clients.demo import fairness
from clients.demo.table import Table
from clients.demo.watcher import Watcher

__all__ = ["Played", "checks"]


@dataclass(frozen=True, slots=True)
class Played:
    """A match that was played: the table as it was created, what watchers were told, and what is seen at the end.

    `added` is what each seat's player added to the shuffle, `views` are what each seat sees, `final` what a spectator
    does.
    """

    created: Game
    watchers: Sequence[Watcher]
    added: Sequence[str]
    views: Sequence[View]
    final: Game


def checks(played: Played) -> list[tuple[str, list[str]]]:
    """Every check, in words, with the faults that it found."""
    created, watchers, final = played.created, played.watchers, played.final
    first, *others = watchers
    events = [event for batch in first.batches for event in batch.events]
    deals = list(_deals(events))
    named = {
        f"both watchers saw versions {created.version} to {final.version} without a gap": _each(
            watchers, lambda watcher: _gaps(created, watcher, final)
        ),
        "both watchers saw the same events": _each(others, lambda other: _differences(first, other)),
        "no watcher was shown a hand, a drawn card or a seed before its time": _each(watchers, _leaks),
        "the events alone lead to the table that the server shows": _drawn(first).differs(final.view),
        "every seat knows the same scores": _disagreements(played.views, final),
        "every deal was shuffled by the seed that its commitment names": _broken_promises(created, deals),
        "every card was the one that the seed, and what the players added to it, put there": _stacked(played, deals),
    }
    return [(name, list(faults)) for name, faults in named.items()]


def _each(watchers: Iterable[Watcher], check: Callable[[Watcher], Iterable[str]]) -> Iterator[str]:
    """What a check finds of any of the watchers."""
    for watcher in watchers:
        yield from check(watcher)


def _gaps(created: Game, watcher: Watcher, final: Game) -> Iterator[str]:
    """Versions that are missing, twice or out of order."""
    if [snapshot.version for snapshot in watcher.snapshots] != [created.version]:
        yield f"{watcher.how}: snapshots at {[snapshot.version for snapshot in watcher.snapshots]}"
    due = list(range(created.version + 1, final.version + 1))
    told = [batch.version for batch in watcher.batches]
    if told != due:
        where = next((at for at, pair in enumerate(zip(told, due, strict=False)) if pair[0] != pair[1]), len(told))
        yield f"{watcher.how}: version {told[where : where + 1]} where {due[where : where + 1]} is due"


def _differences(one: Watcher, other: Watcher) -> Iterator[str]:
    for first, second in zip(one.batches, other.batches, strict=False):
        if first != second:
            yield f"version {first.version} is {first} by {one.how} and {second} by {other.how}"


def _leaks(watcher: Watcher) -> Iterator[str]:
    """What a spectator must not know."""
    for snapshot in watcher.snapshots:
        if snapshot.view.hand or snapshot.view.HasField("options"):
            yield f"{watcher.how}: the snapshot of version {snapshot.version} shows a hand"
    for batch in watcher.batches:
        for event in batch.events:
            if event.deal_started.hand or event.drew.cards:
                yield f"{watcher.how}: version {batch.version} shows hidden cards: {event}"
    opened = {event.deal_ended.seed: batch.version for batch in watcher.batches for event in batch.events}
    opened.pop("", None)
    for seed, version in opened.items():
        early = [batch.version for batch in watcher.batches if batch.version < version and seed in str(batch)]
        if early:
            yield f"{watcher.how}: version {early[0]} shows the seed that version {version} opens"


def _drawn(watcher: Watcher) -> Table:
    table = Table()
    for snapshot in watcher.snapshots[:1]:
        table.hear(snapshot)
    for batch in watcher.batches:
        table.hear(batch)
    return table


def _disagreements(views: Sequence[View], final: Game) -> Iterator[str]:
    """Seats that know other scores than a spectator does."""
    if final.state != Game.STATE_FINISHED:
        yield f"the match is not over: it is {Game.State.Name(final.state)}"
    scores = list(final.view.result.scores)
    for view in views:
        if list(view.result.scores) != scores or [seat.score for seat in view.seats] != scores:
            yield f"seat {view.seat} sees {list(view.result.scores)}, a spectator {scores}"


def _deals(events: Sequence[Event]) -> Iterator[list[Event]]:
    """The events of each deal, from its start to its end."""
    deal: list[Event] = []
    for event in events:
        if deal or event.HasField("deal_started"):
            deal.append(event)
        if event.HasField("deal_ended"):
            yield deal
            deal = []


def _broken_promises(created: Game, deals: Sequence[list[Event]]) -> Iterator[str]:
    """Deals by another seed than the one whose hash was published: for the first with the table, then a deal before."""
    if not deals:
        yield "no deal was played to its end"
    promised = created.commitment
    for number, deal in enumerate(deals, 1):
        started, ended = deal[0].deal_started, deal[-1].deal_ended
        if started.commitment != promised:
            yield f"deal {number} began with another commitment than was published before it"
        if hashlib.sha256(bytes.fromhex(ended.seed)).hexdigest() != started.commitment:
            yield f"deal {number}: the SHA-256 of the seed is not the commitment"
        promised = started.next_commitment


def _stacked(played: Played, deals: Sequence[list[Event]]) -> Iterator[str]:
    """Cards that are not where the seed, and what each player knows that he added, put them."""
    entropy = fairness.entropy_of(played.added)
    if played.final.view.entropy != entropy.hex():
        yield f"the players added {entropy.hex()}, and the table says {played.final.view.entropy}"
    for number, deal in enumerate(deals, 1):
        for fault in fairness.faults(played.final.rule_set, entropy, deal):
            yield f"deal {number}: {fault}"
