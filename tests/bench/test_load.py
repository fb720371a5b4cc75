import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("hdrh", reason="hdrhistogram has no wheel for this machine: the load driver did not run")

from rummy.v1.game_pb2 import Game

from bench.load import __main__ as command
from bench.load import capacity, run
from bench.load.connection import FRONTS, Front, connect
from bench.load.pace import Pace, Work, closed, opened
from bench.load.report import FROM_DUE, as_json, figures
from bench.load.run import Outcome, Plan, measure
from bench.load.server import Server, Where, serving
from bench.load.table import Table
from bench.load.tally import Latency, Tally, now
from tests.servers import free_ports

PATIENT = ("--redis-timeout-seconds", "30")
"""What is counted here is right on a server that is held up for some seconds, too."""
SHORT = Plan(tables=4, seconds=30, most=300)
PACED = Plan(tables=4, seconds=30, most=40, rate=40.0, connections=0)
PLANS = (SHORT, replace(SHORT, streams=False), PACED, replace(PACED, front="rest"))


@pytest.fixture(scope="module")
def outcomes() -> Sequence[Outcome]:
    """Four short runs, as many as those of `make capacity`, on one server."""

    async def measured() -> Sequence[Outcome]:
        async with serving(Where(flags=PATIENT)) as server:
            return [await measure(server, plan) for plan in PLANS]

    return asyncio.run(measured())


async def test_what_waits_for_a_busy_server_is_late_from_when_it_was_due() -> None:
    """On a schedule a piece of work that a slow one holds up counts its wait, and none is left out."""
    late = list[float]()

    async def slow_at_first(due: float) -> None:
        if not late:
            await asyncio.sleep(0.3)
        late.append(now() - due)

    assert await opened(20.0)([slow_at_first], 30.0, 20) == 0
    assert len(late) == 20
    assert late[0] >= 0.29
    assert late[1] >= 0.24
    assert sum(late) > 0.9


async def test_a_schedule_that_is_hopeless_is_given_up() -> None:
    """After twice its time a schedule ends, and tells how much of it was not begun."""
    done = 0

    async def slow(_due: float) -> None:
        nonlocal done
        done += 1
        await asyncio.sleep(0.05)

    assert await opened(1000.0)([slow], 0.2, 1000) == 200 - done
    assert 0 < done <= 10


@pytest.mark.parametrize("pace", [closed, opened(1000.0)])
async def test_no_more_is_done_than_asked_for(pace: Pace) -> None:
    """Both paces stop at the number of pieces, and no worker has two at a time."""
    done, busy = 0, 0

    def worker() -> Work:
        working = False

        async def work(_due: float) -> None:
            nonlocal done, busy, working
            busy += working
            working = True
            await asyncio.sleep(0.001)
            done, working = done + 1, False

        return work

    await pace([worker() for _ in range(5)], 30.0, 37)
    assert (done, busy) == (37, 0)


def test_latencies_are_kept_within_a_thousandth() -> None:
    """A percentile is off by a thousandth at most, and the longest is that."""
    latency = Latency()
    for _ in range(99):
        latency.add(0.012345)
    latency.add(1.0)
    assert latency.count == 100
    assert latency.ms((50, 99, 100)) == pytest.approx([12.345, 12.345, 1000.0], rel=1e-3)


def test_a_run_counts_every_act(outcomes: Sequence[Outcome]) -> None:
    """Each act is counted and timed once, and no call of a run fails."""
    for outcome in outcomes:
        tally = outcome.tally
        assert not tally.errors
        assert tally.acts == tally.from_due.count == tally.from_send.count > 0
        assert tally.nulls == tally.null.count > 0
    assert outcomes[2].tally.acts == outcomes[3].tally.acts == 40


def test_the_news_of_an_act_is_timed_at_the_other_seat(outcomes: Sequence[Outcome]) -> None:
    """With streams each act of a table for two reaches the other seat, but for those on their way at the end."""
    for outcome in (outcomes[0], *outcomes[2:]):
        assert outcome.tally.acts - SHORT.tables <= outcome.tally.to_observer.count <= outcome.tally.acts
        assert outcome.tally.to_observer_from_due.count == outcome.tally.to_observer.count
    assert outcomes[1].tally.to_observer.count == outcomes[1].tally.delivered == 0


def test_a_run_tells_what_an_act_costs(outcomes: Sequence[Outcome]) -> None:
    """CPU time of server and Redis, scripts, memory and bytes come out of every run, an act beside a null call."""
    for outcome in outcomes:
        found = {name: value for name, (value, _) in figures(outcome).items()}
        assert found["server, per act"] > 0
        assert found["server, per null call"] > 0
        assert found["one act, in null calls"] > 0
        assert found["Redis, per act"] > 0
        assert 1 <= found["Redis, scripts"] < 20
        assert found["Redis, per table"] > 0.5
        assert found["server, memory"] > 20
        assert json.loads(json.dumps(as_json(outcome)))["latencies_ms"]["act"]["count"] == outcome.tally.acts


def kept(outcome: Outcome) -> Outcome:
    """What came of a plan at the rate that was kept, on a machine however busy."""
    rate = outcome.tally.acts / outcome.used.wall_s
    return replace(outcome, plan=replace(outcome.plan, rate=rate)) if outcome.plan.rate else outcome


def test_the_figures_are_written_into_their_place(outcomes: Sequence[Outcome], tmp_path: Path) -> None:
    """What is between the marks is replaced, what is around them stays, and a page without marks is refused."""
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- capacity: written by `make capacity` -->\nold\n<!-- /capacity -->\nafter\n")
    # So few tables as these tell nothing of the memory of one.
    many = [replace(kept(outcome), plan=replace(kept(outcome).plan, tables=500, connections=0)) for outcome in outcomes]
    capacity.write(many, page)
    text = page.read_text()
    assert text.startswith("before\n<!--")
    assert text.endswith("<!-- /capacity -->\nafter\n")
    assert "old" not in text
    assert "| acts a second that a core can serve |" in text
    assert "| act to observer, from when it was due: median, 99 % |" in text
    assert "| 1,000 active players | over gRPC | over REST, with server-sent events |" in text
    assert "| 100,000 such players, calculated from these | over gRPC | over REST |" in text
    page.write_text("no marks\n")
    with pytest.raises(ValueError, match="0 places"):
        capacity.write(many, page)
    assert "<!-- capacity: written by `make capacity` -->" in capacity.PAGE.read_text()


@pytest.mark.parametrize(
    ("cores", "told"),
    [(0.5, "1"), (1.0, "2"), (2.0, "4"), (3.7, "6"), (5.6, "8"), (11.0, "16"), (11.3, "more than 16")],
)
def test_masters_share_whole_shards(cores: float, told: str) -> None:
    """A shard's work is one master's, so that there are as many masters as leave none with a shard too many."""
    assert capacity.masters(cores) == told


def test_figures_of_a_pace_that_was_not_kept_are_not_written(outcomes: Sequence[Outcome], tmp_path: Path) -> None:
    """Where players acted less often than they should have, it is said of which front, and the page stays as it is."""
    page = tmp_path / "page.md"
    slower = replace(outcomes[3], plan=replace(outcomes[3].plan, rate=1000.0))
    with pytest.raises(capacity.TooBusyError, match="over rest there were"):
        capacity.write([*map(kept, outcomes[:3]), slower], page)
    assert not page.exists()


async def test_the_news_of_an_act_that_was_sent_late_counts_from_when_it_was_due() -> None:
    """What an act waited for before it was sent is in the time to its observers, as it is in that to its answer."""
    async with serving(Where(flags=PATIENT)) as server:
        connection, tally = connect(server, "grpc"), Tally()
        table = Table([connection.api] * 2, Game(seat_count=2), tally)
        await table.sit_down()
        await table.watch()
        await table.act(now() - 5.0)
        async with asyncio.timeout(60):
            while not tally.to_observer.count:  # noqa: ASYNC110 - a tally tells nobody that it has grown
                await asyncio.sleep(0.01)
        await table.leave()
        await connection.close()
    (due,), (answered,), (sent,) = (
        latency.ms([100]) for latency in (tally.to_observer_from_due, tally.from_due, tally.to_observer)
    )
    assert min(due, answered) >= 5000
    assert due - sent >= 5000 - 10  # kept within a thousandth


def test_a_schedule_tells_what_its_acts_waited(outcomes: Sequence[Outcome]) -> None:
    """Where acts are due by a schedule, both times of an act are told from then, too; elsewhere nothing is due."""
    for outcome in outcomes:
        told = as_json(outcome)["latencies_ms"]
        assert isinstance(told, dict)
        late = {name for name in told if name.endswith(FROM_DUE)}
        assert late == ({f"act, {FROM_DUE}", f"act to observer, {FROM_DUE}"} if outcome.plan.rate else set())


async def test_a_match_that_is_over_is_followed_by_another() -> None:
    """A table plays match after match, each at a table of its own."""
    async with serving(Where(flags=PATIENT)) as server:
        connection, tally = connect(server, "grpc"), Tally()
        table = Table([connection.api] * 2, Game(seat_count=2), tally)
        await table.sit_down()
        first = table.name
        while table.name == first and tally.acts < 2000:
            await table.act(now())
        assert tally.tables == 2
        assert not tally.errors
        await connection.close()


@pytest.mark.parametrize("front", FRONTS)
async def test_what_fails_is_counted_by_its_code(front: Front) -> None:
    """Without a server an act is an error with its code, and so is a null call."""
    nobody = f"127.0.0.1:{free_ports(1)[0]}"
    connection, tally = connect(Server(nobody, f"http://{nobody}", "", ""), front), Tally()
    await Table([connection.api] * 2, Game(seat_count=2), tally).act(now())
    await run._null(connection, tally)(now())
    await connection.close()
    assert tally.errors == {"act UNAVAILABLE": 1, "null call UNAVAILABLE": 1}
    assert tally.acts == tally.nulls == 0


@pytest.mark.parametrize(
    "flags",
    [
        ["--rate", "0"],
        ["--rate", "inf"],
        ["--server", "h:1", "--workers", "2"],
        ["--front", "rest", "--server", "h:1"],
        ["--redis", "redis+cluster://h"],
        ["--tables", "0"],
    ],
)
def test_bad_flags_are_refused(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A flag that makes no sense ends the command with 2, and its name is told."""
    with pytest.raises(SystemExit) as ended:
        command.main(flags)
    assert ended.value.code == 2
    assert flags[0] in capsys.readouterr().err


def test_a_server_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Where nobody answers the command says so in a line, and ends with 1."""
    assert command.main(["--server", f"127.0.0.1:{free_ports(1)[0]}"]) == 1
    errors = capsys.readouterr().err
    assert errors.startswith("load: UNAVAILABLE: ")
    assert errors.count("\n") == 1
