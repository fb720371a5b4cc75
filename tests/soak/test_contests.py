"""Contests of a bot against seats of one kind: what is counted, what is due, and who the rivals are."""

import random
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from rummy.v1 import action_pb2

from clients.demo import policy
from engine.actions import Action
from engine.legal import legal_actions
from engine.presets import PRESETS
from engine.state import State
from engine.view import View, view
from service import bots
from service.api.convert.actions import action_from, action_to
from service.api.convert.tables import view_to
from service.games.seen import SeenTable
from service.store.table import Phase
from tests.strategies import moments
from tools import contests, players, soak
from tools.contests import CONTESTS, Contest, Outcome, played, shortfalls
from tools.simulate import Tally
from tools.soak_report import contests as table


def seen(state: State) -> SeenTable:
    """A table as the seat to move sees it."""
    return SeenTable(
        viewer=state.turn,
        game="g",
        epoch="e",
        version=1,
        phase=Phase.PLAYING,
        display_name="",
        created_ms=0,
        updated_ms=0,
        expires_ms=0,
        preset="",
        rules=state.rules,
        seats=(),
        commitment=None,
        entropy=b"",
        view=view(state, state.turn),
        last_deal=None,
        limit=None,
        deadline_ms=None,
        code="",
        spectators=True,
        rematch="",
    )


@pytest.mark.parametrize("preset", PRESETS)
async def test_greed_plays_as_the_demo_does(preset: str) -> None:
    """The greedy rival does in every moment what a seat of the demo does that gets the same view over the network."""
    chance = random.Random(0)  # noqa: S311  not used
    for state, _ in moments(PRESETS[preset], 3, 4, most=120):

        async def legal(state: State = state) -> AsyncIterator[action_pb2.Action]:
            for action in legal_actions(state, state.turn):
                yield action_to(action)

        message = view_to(seen(state))
        assert message is not None
        assert action_from(await policy.choose(message, legal)) == players.greedy(state, chance)


def test_a_contest_can_be_played_again() -> None:
    """A contest and the numbers of its deals name those deals, whoever plays them and in whatever parts."""
    contest = Contest("rummy500", 3, "chance")
    whole, parts = played(contest, range(4)), played(contest, range(2))
    parts.add(played(contest, range(2, 4)))
    assert replace(parts, seconds=0, slowest=0) == replace(whole, seconds=0, slowest=0)
    assert 0 < whole.slowest <= whole.seconds
    assert whole.deals == whole.scored == 4


def test_who_plays_alike_wins_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """A player that takes the bot's place, but plays as its rivals do, wins its share and outdoes one in two."""
    rival = contests.RIVALS["greed"]
    moves: list[State] = []

    def same(_seen: View, _legal: object) -> Action:
        return rival(moves[-1], random.Random(0))  # noqa: S311  not used

    def noted(state: State, outcome: Outcome) -> Action:
        moves.append(state)
        return unchanged(state, outcome)

    unchanged = contests._bots
    monkeypatch.setattr(contests, "_bots", noted)
    monkeypatch.setattr(bots, "choose", same)
    outcome = played(Contest("rummy500", 4, "greed"), range(100))
    assert outcome.scored == 100
    assert 0.15 < outcome.won / 100 < 0.35
    assert 0.4 < outcome.outdone / 100 < 0.6


def test_what_is_due_and_not_won_is_told() -> None:
    """Less than four of five against chance, and no more than a share against greed, is told with its contest."""
    poor = {
        Contest("basic", 2, "chance"): Outcome(deals=100, scored=100, won=79, outdone=79),
        Contest("basic", 4, "greed"): Outcome(deals=100, scored=100, won=25, outdone=60),
        Contest("basic", 3, "chance"): Outcome(deals=100),
    }
    assert list(shortfalls(poor)) == [
        "basic, 2 seats, a bot against chance: it outdoes a seat in 79.0% of the deals only",
        "basic, 4 seats, a bot against greed: it wins 25.0% of the deals, no more than its share",
        "basic, 3 seats, a bot against chance: nobody scored in 100 deals",
    ]
    fair = {
        Contest("basic", 3, "chance"): Outcome(deals=100, scored=100, won=70, outdone=80),
        Contest("basic", 4, "greed"): Outcome(deals=100, scored=100, won=26, outdone=30),
    }
    assert list(shortfalls(fair)) == []


def test_a_soak_run_fails_where_a_bot_wins_less_than_its_due(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bot that wins one deal in two against chance does not pass, and a run of the bots alone plays nothing else."""
    contest = Contest("rummy500", 2, "chance")
    poor = soak.Result(
        soak.Task(contest=contest), Tally(), Outcome(deals=100, scored=100, won=50, outdone=50, actions=400), [], 1
    )
    monkeypatch.setattr(soak, "CONTESTS", [contest])
    monkeypatch.setattr(soak, "_worked", lambda work: iter([poor] if all(task.contest for task in work) else []))
    assert soak.main(["--bots"]) == 1
    assert "WRONG: rummy500, 2 seats, a bot against chance: it outdoes a seat in 50.0%" in capsys.readouterr().out


def test_every_table_is_contested() -> None:
    """Each preset at each number of players is played three hundred times against each kind of rival."""
    work = soak.bots_tasks()
    assert {task.contest for task in work} == set(CONTESTS)
    assert sum(len(task.numbers) for task in work) == 300 * len(CONTESTS)
    tables = {
        (preset, seats) for preset, rules in PRESETS.items() for seats in range(rules.seats[0], rules.seats[1] + 1)
    }
    for rival in contests.RIVALS:
        assert {contest[:2] for contest in CONTESTS if contest.rival == rival} == tables


def test_the_table_of_a_contest() -> None:
    """A line says what part of the scored deals the bot won and in which it outdid a seat, and its CPU time."""
    outcome = Outcome(deals=10, scored=8, won=6, outdone=7, actions=100, seconds=0.05, slowest=0.004)
    rows = table({Contest("pool500", 2, "greed"): outcome, Contest("pool500", 2, "chance"): Outcome()}, "greed").rows
    assert rows == [("pool500", "2", "10", "8", "75 %", "88 %", "0.5 ms (≤ 4)")]
