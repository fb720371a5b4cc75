import random
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from engine.actions import Action, LayDown, LayOff, Take
from engine.legal import is_legal, legal_actions
from engine.notation import read_action
from engine.presets import PRESETS
from engine.state import Phase, State, Step
from engine.step import step
from tests.strategies import moments, position, rules_of
from tools import players, simulate, soak
from tools.contests import Outcome
from tools.move_counts import files
from tools.simulate import ALL, SHARE, Series, Tally, Trouble, simulated
from tools.soak_report import findings, markdown, tables


@pytest.mark.clause("G8")
@pytest.mark.parametrize("player", players.PLAYERS)
def test_every_game_comes_to_its_end_under_all_kinds_of_players(player: str) -> None:
    """A match of every preset at every number of players ends, with no table stuck and no invariant broken."""
    of_player = [task for task in soak.tasks(part=1000) if task.series and task.series.player == player]
    results = [soak.run(task) for task in of_player]
    assert [line for result in results for line in result.wrong] == []
    assert all(result.tally.matches == 1 <= result.tally.deals for result in results)
    assert {task.series[:2] for task in of_player if task.series} == {
        (preset, seats) for preset, rules in PRESETS.items() for seats in range(rules.seats[0], rules.seats[1] + 1)
    }


def test_all_the_work_is_shared_out_once() -> None:
    """A whole soak run has a thousand matches of each series, two hundred sensible ones, and all move counts, deep."""
    work = soak.tasks()
    matches = Counter((task.series, number) for task in work if task.series for number in task.numbers)
    assert max(matches.values()) == 1
    assert {series: sum(1 for played, _ in matches if played == series) for series in ALL} == {
        series: 200 if series.player == "sensible" else 1000 for series in ALL
    }
    assert sorted(task.counts for task in work if task.counts and task.deep) == files()


def test_a_match_can_be_played_again() -> None:
    """A series and a number name one match."""
    series = Series("rummy500", 3, "sensible")
    assert simulated(series, 5) == simulated(series, 5) != simulated(series, 6)


def test_who_stresses_the_rules_plays_alone_and_at_all_seats() -> None:
    """Of three matches of two seats a player of one idea plays both, the first alone, the second alone."""
    series = Series("basic", 2, "top only")
    top, chance = players.top_only, players.anything
    assert [series.players(number) for number in range(4)] == [[top, top], [top, chance], [chance, top], [top, top]]
    assert Series("basic", 2, "sensible").players(1) == [players.sensible] * 2


def test_a_stuck_table_is_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    """A seat without any action ends the run of its task, which names the match and the position."""
    monkeypatch.setattr(players, "legal_actions", lambda state, seat: iter(()))
    result = soak.run(soak.Task(series=Series("basic", 2, "anything"), numbers=range(3, 4)))
    (line,) = result.wrong
    assert line.startswith("basic, 2 seats, anything, match 3: the table is stuck: schema=1 rules=[basic] phase=draw")
    assert result.tally == Tally()


def test_a_lost_card_is_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    """A card that gets lost is found by the invariants."""

    def lossy(state: State, seat: int, action: Action) -> Step:
        then, events = step(state, seat, action)
        return Step(replace(then, pile=then.pile[1:]), events)

    monkeypatch.setattr(simulate, "step", lossy)
    with pytest.raises(Trouble, match=r"match 0: 0 of .., where the pack has 1"):
        simulated(Series("basic", 2, "anything"), 0)


def test_a_deal_without_end_is_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deal of too many actions, or a match of too many deals, counts as one without end."""
    monkeypatch.setattr(simulate, "MOST_ACTIONS", 5)
    with pytest.raises(Trouble, match="no end"):
        simulated(Series("basic", 2, "anything"), 0)
    monkeypatch.setattr(simulate, "MOST_ACTIONS", 20_000)
    monkeypatch.setattr(simulate, "MOST_DEALS", 1)
    with pytest.raises(Trouble, match="no end"):
        simulated(Series("pool500", 2, "sensible"), 0)


def test_an_error_of_the_engine_names_the_match(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the engine should never raise comes with the match in which it did."""

    def faulty(state: State, seat: int, action: Action) -> Step:
        raise AssertionError("a lay is always placed")

    monkeypatch.setattr(simulate, "step", faulty)
    with pytest.raises(AssertionError) as caught:
        simulated(Series("basic", 2, "anything"), 7)
    assert caught.value.__notes__ == ["basic, 2 seats, anything, match 7"]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("player", players.PLAYERS)
def test_players_play_by_the_rules_and_by_their_idea(player: str, preset: str) -> None:
    """What a player does is legal; each follows its idea: the top of the pile, no lay ever, or every lay at once."""
    for state, action in moments(PRESETS[preset], 3, 1, choose=players.PLAYERS[player], most=60):
        assert is_legal(state, state.turn, action)
        if player == "top only" and is_legal(state, state.turn, Take(1)):
            assert action == Take(1)
        if player == "never lays":
            assert not isinstance(action, LayDown | LayOff)
        if player == "sensible" and state.phase is Phase.PLAY and not isinstance(action, LayDown | LayOff):
            assert not any(isinstance(other, LayDown | LayOff) for other in legal_actions(state, state.turn))


def test_a_sensible_player_keeps_pairs_and_discards_the_dearest_of_the_rest() -> None:
    """Of cards that go with no other the dearest is discarded, a joker never."""
    chance = random.Random(0)  # noqa: S311  not used
    rules = rules_of("basic", jokers=2)
    assert players.sensible(position(rules, ["KS KH 2C 9D", "3C"]), chance) == read_action("discard 9D")
    assert players.sensible(position(rules, ["2C 9D JK", "3C"]), chance) == read_action("discard 9D")


def test_odd_results_are_findings() -> None:
    """A game that hardly ever ends by going out, and a seat that wins far too often, are told; fair play is not."""
    rare, leaning, fair = (Series(preset, 2, "sensible") for preset in ("basic", "rummy500", "pool500"))
    tallies = {
        rare: Tally(
            matches=200, deals=200, ends=Counter(out=60, stuck=140), wins=Counter({0: 30 * SHARE, 1: 30 * SHARE})
        ),
        leaning: Tally(matches=200, deals=200, ends=Counter(out=200), wins=Counter({0: 60 * SHARE, 1: 140 * SHARE})),
        fair: Tally(matches=200, deals=200, ends=Counter(out=200), wins=Counter({0: 110 * SHARE, 1: 90 * SHARE})),
    }
    assert findings(tallies) == [
        "basic, 2 seats, sensible: 30 % of the deals end by going out",
        "rummy500, 2 seats, sensible: seat 1 wins 70 % of the matches that somebody wins",
    ]


def test_the_tables_say_how_deals_end_and_who_wins() -> None:
    """A sensible series has a line of its own; of other players the numbers of seats stand together."""
    one = Tally(
        matches=2,
        deals=3,
        ends=Counter(out=2, rounds=1, void=0),
        rounds=Counter({4: 2, 10: 1}),
        actions=Counter({50: 3}),
        lengths=Counter({1: 1, 2: 1}),
        wins=Counter({0: SHARE, 1: SHARE}),
        won=Counter({0: SHARE // 2, 1: 3 * SHARE // 2}),
    )
    sensible, *others = tables({Series("pool500", 2, "sensible"): one})
    assert sensible.rows == [
        ("pool500", "2", "2", "out 67 %, rounds 33 %", "0 %", "4 (≤ 10)", "50 (≤ 50)", "2 (≤ 2)", "25 %", "50 / 50")
    ]
    assert not any(table.rows for table in others)
    rare = Tally(matches=1, deals=999, ends=Counter(out=998, stuck=1, void=1))
    assert tables({Series("basic", 2, "sensible"): rare})[0].rows[0][3:5] == ("out > 99 %, stuck < 1 %", "< 1 %")
    wild = tables({Series("pool500", seats, "anything"): one for seats in (2, 3)})[1]
    assert [row[:4] for row in wild.rows] == [("pool500", "2-4", "4", "out 67 %, rounds 33 %")]
    assert markdown(wild).splitlines()[2].startswith("| game    | seats | matches | how deals end         |")


def test_a_quick_run_tells_its_results_and_writes_them_into_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command prints the tables, puts them between the marks of the page, and fails where anything went wrong."""
    page = tmp_path / "proof.md"
    page.write_text(
        "before\n<!-- soak: written by `make soak` -->\nlast time\n<!-- /soak -->\n"
        "<!-- bots: written by `make soak` -->\nlast time\n<!-- /bots -->\nafter\n"
    )
    monkeypatch.setattr(soak, "PAGE", page)
    series = Series("basic", 2, "sensible")
    monkeypatch.setattr(soak, "tasks", lambda part: [soak.Task(series=series, numbers=range(2))])
    assert soak.main(["--quick", "--report"]) == 0
    text = page.read_text()
    assert text.startswith("before\n<!-- soak: written by `make soak` -->\n2 matches, 2 deals; ")
    assert "<!-- bots: written by `make soak` -->\n### A bot against chance" in text
    assert text.endswith("<!-- /bots -->\nafter\n")
    assert "last time" not in text
    assert "### Sensible players" in capsys.readouterr().out
    monkeypatch.setattr(soak, "_worked", lambda work: iter([soak.Result(work[0], Tally(), Outcome(), ["wrong"], 1.0)]))
    assert soak.main([]) == 1
    assert "WRONG: wrong" in capsys.readouterr().out
