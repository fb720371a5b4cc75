"""The history checker finds each way in which a service could break its word."""

import asyncio
import copy
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from rummy.v1.event_pb2 import EventBatch

from service.embedded import EmbeddedRedis
from service.store.store import Store
from tests.chaos.check import Truth, faults, lost
from tests.chaos.fleet import fleet
from tests.chaos.load import Plan, play_table
from tests.chaos.record import Ask, TableRecord
from tests.chaos.scenarios import truth_of
from tests.e2e.players import game_of
from tests.patience import patient

Played = tuple[TableRecord, Truth]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A match as clients and store have it, while nothing was broken."""
    return asyncio.run(play(tmp_path_factory.mktemp("fleet"), Plan(game_of(3, deals=1))))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """As well, of three players and a bot. One of them leaves."""
    return asyncio.run(play(tmp_path_factory.mktemp("fleet"), Plan(game_of(4, deals=1), bots=1, leaves=True)))


async def play(folder: Path, plan: Plan) -> Played:
    record = TableRecord()
    with EmbeddedRedis() as redis:
        async with fleet(folder, redis.url, size=1) as ours:
            await play_table(ours.any, plan, random.Random(5), record)  # noqa: S311 - a player
            store = await Store.connect(redis.url, patient())
            truth = await truth_of(store, redis.url, record.game)
            await store.close()
    return record, truth


def acknowledged(record: TableRecord) -> Ask:
    """An act in the middle of the match."""
    asks = record.acknowledged
    return asks[len(asks) // 2]


def key_of(truth: Truth, ask: Ask) -> str:
    return next(key for key in truth.requests if key.endswith(ask.request_id))


def lose_an_act(record: TableRecord, truth: Truth) -> Truth:
    ask = acknowledged(record)
    return replace(truth, requests={key: to for key, to in truth.requests.items() if key != key_of(truth, ask)})


def do_an_act_twice(record: TableRecord, truth: Truth) -> Truth:
    ask = acknowledged(record)
    ask.answers.append(copy.deepcopy(ask.answers[0]))
    ask.answers[-1].version += 1
    return truth


def one_version_of_two_requests(record: TableRecord, truth: Truth) -> Truth:
    version = truth.requests[key_of(truth, acknowledged(record))]
    return replace(truth, requests={**truth.requests, "somebody:else": version})


def do_what_was_refused(record: TableRecord, truth: Truth) -> Truth:
    ask = acknowledged(record)
    ask.answers.clear()
    ask.refused = "VERSION_MISMATCH"
    return truth


def do_what_nobody_asked_for(record: TableRecord, truth: Truth) -> Truth:
    record.asks.remove(acknowledged(record))
    return truth


def answer_with_other_events(record: TableRecord, truth: Truth) -> Truth:
    del acknowledged(record).answers[0].events[:]
    return truth


def leave_a_gap(record: TableRecord, truth: Truth) -> Truth:
    return replace(truth, batches=[batch for batch in truth.batches if batch.version != 9])


def withhold_a_version(record: TableRecord, truth: Truth) -> Truth:
    del record.watched[0].told[5]
    return truth


def tell_a_version_twice(record: TableRecord, truth: Truth) -> Truth:
    record.watched[1].told.insert(5, record.watched[1].told[5])
    return truth


def show_the_table_again(record: TableRecord, truth: Truth) -> Truth:
    record.watched[1].told.insert(5, record.watched[1].told[0])
    return truth


def tell_of_a_version_that_was_lost(record: TableRecord, truth: Truth) -> Truth:
    """Another version of the number had been told, and the table was not shown again."""
    told = record.watched[0].told[5]
    assert isinstance(told, EventBatch)
    del told.events[:]
    return truth


def tell_a_spectator_what_a_seat_sees(record: TableRecord, truth: Truth) -> Truth:
    seat, spectator = record.watched[0].told, record.watched[-1].told
    for place, batch in enumerate(seat):
        if isinstance(batch, EventBatch) and any(event.drew.cards for event in batch.events):
            spectator[place] = batch
            break
    return truth


def record_a_move_twice(record: TableRecord, truth: Truth) -> Truth:
    return replace(truth, lines=[*truth.lines[:9], truth.lines[9], *truth.lines[9:]])


def store_another_match(record: TableRecord, truth: Truth) -> Truth:
    match = truth.table.match
    assert match is not None
    changed = structs.replace(match, scores=tuple(score + 1 for score in match.scores))
    return replace(truth, table=structs.replace(truth.table, match=changed))


def stop_before_the_end(record: TableRecord, truth: Truth) -> Truth:
    return replace(truth, table=structs.replace(truth.table, match=None))


WAYS: list[tuple[Callable[[TableRecord, Truth], Truth], str]] = [
    (lose_an_act, "it has made None"),
    (do_an_act_twice, "was acknowledged with versions"),
    (one_version_of_two_requests, "was made by 2 requests"),
    (do_what_was_refused, "was refused .* and has made version"),
    (do_what_nobody_asked_for, "that no client of it sent"),
    (answer_with_other_events, "answered with other events"),
    (leave_a_gap, "its history holds"),
    (withhold_a_version, "seat 0 was told of"),
    (tell_a_version_twice, "seat 1 was told of"),
    (show_the_table_again, "seat 1 was not shown the table once"),
    (tell_a_spectator_what_a_seat_sees, "a spectator was told otherwise"),
    (record_a_move_twice, "cannot be played again"),
    (store_another_match, "comes to another end"),
    (stop_before_the_end, "the match is not over"),
]


def test_an_honest_service_has_no_fault(played: Played) -> None:
    """Where nothing was broken, nothing is found."""
    record, truth = played
    assert faults(record, truth) == []
    assert lost(record, truth) == []


def test_bots_and_those_who_leave_are_no_fault(mixed: Played) -> None:
    """A bot's moves, and what is played for a seat that was left, are asked for by nobody; who left is told no more."""
    record, truth = mixed
    assert faults(record, truth) == []
    assert truth.unasked
    assert record.left == 2
    assert record.watched[2].told[-1].version < truth.table.version


def test_who_has_left_is_told_nothing_more(mixed: Played) -> None:
    """To tell a player who has left of what follows is a fault."""
    record, truth = copy.deepcopy(mixed)
    missed = [told for told in record.watched[-1].told if told.version > record.watched[2].told[-1].version]
    record.watched[2].told.append(missed[0])
    assert re.search("seat 2 was told of", "\n".join(faults(record, truth)))


def test_a_bot_moves_for_no_other(mixed: Played) -> None:
    """A bot's move in the name of a player is found."""
    record, truth = mixed
    moved = next(batch for batch in truth.unasked if batch.actor == 3)
    others = [structs.replace(batch, actor=0) if batch is moved else batch for batch in truth.batches]
    assert re.search("is an act of seat 0 that no client", "\n".join(faults(record, replace(truth, batches=others))))


FORKED_WAYS: list[tuple[Callable[[TableRecord, Truth], Truth], str]] = [
    (withhold_a_version, "was told of version"),
    (tell_a_version_twice, "was told of version"),
    (tell_of_a_version_that_was_lost, "was told otherwise"),
    (tell_a_spectator_what_a_seat_sees, "a spectator was told otherwise"),
]


@pytest.mark.parametrize(("lie", "found"), FORKED_WAYS, ids=[lie.__name__ for lie, _ in FORKED_WAYS])
def test_a_failover_excuses_no_watcher(played: Played, lie: Callable[[TableRecord, Truth], Truth], found: str) -> None:
    """After a failover, too, a watcher is told every version, and from the last table on as it is stored."""
    record = copy.deepcopy(played[0])
    truth = lie(record, played[1])
    said = "\n".join(faults(record, truth, forked=True))
    assert re.search(found, said), said


def test_a_table_shown_after_a_failover_makes_up_for_what_was_lost(played: Played) -> None:
    """What was told before the table was shown again may have been lost with the master."""
    record = copy.deepcopy(played[0])
    told = record.watched[1].told
    told[4:4] = [copy.deepcopy(told[3])]
    shown = copy.deepcopy(told[0])
    shown.version = told[4].version
    told[5:5] = [shown]
    told[4].version += 1
    assert faults(record, played[1], forked=True) == []


@pytest.mark.parametrize(("lie", "found"), WAYS, ids=[lie.__name__ for lie, _ in WAYS])
def test_each_broken_promise_is_found(played: Played, lie: Callable[[TableRecord, Truth], Truth], found: str) -> None:
    """Each promise that is broken is named."""
    record = copy.deepcopy(played[0])
    truth = lie(record, played[1])
    said = "\n".join(faults(record, truth))
    assert re.search(found, said), said


def test_lost_acts_are_counted(played: Played) -> None:
    """An act that was acknowledged and is not in the history counts as lost."""
    record = copy.deepcopy(played[0])
    ask = acknowledged(record)
    assert lost(record, lose_an_act(record, played[1])) == [ask]
