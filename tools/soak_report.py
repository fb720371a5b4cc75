"""What came of a soak run, as tables: how deals end, how long they last, who wins; and what of it is a finding."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from engine.presets import PRESETS
from tools.contests import Contest, Outcome
from tools.move_counts import files, read_moves
from tools.players import PLAYERS
from tools.simulate import SHARE, Series, Tally

__all__ = ["Table", "contests", "counts", "findings", "markdown", "tables"]


class Table(NamedTuple):
    """A table: its title, its head, its rows."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


HEAD = (
    "game", "seats", "matches", "how deals end", "void", "rounds per deal", "actions per deal", "deals per match",
    "first player wins", "seats win",
)  # fmt: skip
BY_SEAT = 7
"""The first of the columns that make sense for one number of seats, and whole matches, alone."""
TITLES = {
    "anything": "Any legal action, all equally likely; one deal",
    "sensible": "Sensible players, to the match's natural end",
    "top only": "Players who take the top of the pile whenever they may, mostly one among random ones; one deal",
    "never lays": "Players who never lay a card on the table, mostly one among random ones; one deal",
}


def tables(tallies: Mapping[Series, Tally]) -> list[Table]:
    """Sensible play by game and number of seats, other play by game, and the move counts."""
    sensible = [series for series in tallies if series.player == "sensible"]
    found = [Table(TITLES["sensible"], HEAD, [_row(str(series.seats), series, tallies[series]) for series in sensible])]
    others = (player for player in PLAYERS if player != "sensible")
    return found + [Table(TITLES[player], HEAD[:BY_SEAT], list(_by_game(tallies, player))) for player in others]


def counts() -> Table:
    """The move counts to the deep depth, as they are recorded."""
    rows = []
    for path in files():
        recorded = read_moves(path)
        sequences = sum(level.sequences for level in recorded.levels)
        positions = sum(level.positions for level in recorded.levels)
        rows.append((path.stem, recorded.why, str(recorded.deep), f"{sequences:,}", f"{positions:,}"))
    return Table("Move counts", ("position", "what it holds", "depth", "sequences", "positions"), rows)


def contests(outcomes: Mapping[Contest, Outcome], rival: str) -> Table:
    """How a bot fares against rivals of that kind. Of the CPU time, the mean and the greatest of a choice."""
    head = ("game", "seats", "deals", "of them scored", "the bot wins", "outdoes a seat in", "CPU time per choice")
    rows = [
        (
            contest.preset,
            str(contest.seats),
            str(outcome.deals),
            str(outcome.scored),
            _part(outcome.won, outcome.scored),
            _part(outcome.outdone, outcome.scored),
            f"{1000 * outcome.seconds / (outcome.actions or 1):.1f} ms (≤ {1000 * outcome.slowest:.0f})",
        )
        for contest, outcome in outcomes.items()
        if contest.rival == rival
    ]
    return Table(f"A bot against {rival}, deal by deal", head, rows)


def findings(tallies: Mapping[Series, Tally]) -> list[str]:
    """What should not be so in sensible play: games that hardly ever end by going out, seats that win far too often."""
    found = []
    for series, tally in tallies.items():
        if series.player != "sensible" or not tally.deals:
            continue
        if tally.ends["out"] < tally.deals / 2:
            found.append(f"{series}: {_part(tally.ends['out'], tally.deals)} of the deals end by going out")
        won, fair = sum(tally.wins.values()) / SHARE, 1 / series.seats
        spread = (won * fair * (1 - fair)) ** 0.5
        for seat in range(series.seats):
            wins = tally.wins[seat] / SHARE
            if wins > won * fair + 4 * spread:
                found.append(f"{series}: seat {seat} wins {_part(wins, won)} of the matches that somebody wins")
    return found


def markdown(table: Table) -> str:
    """The table as Markdown, its columns in line."""
    lines = [table.head, *table.rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(table.head))]
    lines.insert(1, ["-" * width for width in widths])
    cells = ([cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines)
    return "\n".join([f"### {table.title}", "", *(f"| {' | '.join(line)} |" for line in cells), ""])


def _by_game(tallies: Mapping[Series, Tally], player: str) -> Iterator[Sequence[str]]:
    for preset, rules in PRESETS.items():
        whole = Tally()
        of_game = [series for series in tallies if series.preset == preset and series.player == player]
        for series in of_game:
            whole.add(tallies[series])
        if of_game:
            yield _row(f"{rules.seats[0]}-{rules.seats[1]}", Series(preset, 0, player), whole)[:BY_SEAT]


def _row(seats: str, series: Series, tally: Tally) -> Sequence[str]:
    """One line. `won` and `wins` are parts of the deals and matches that somebody won."""
    ends = Counter({end: count for end, count in tally.ends.items() if end != "void"})
    won, wins = sum(tally.won.values()), sum(tally.wins.values())
    return (
        series.preset,
        seats,
        str(tally.matches),
        ", ".join(f"{end} {_part(count, tally.deals)}" for end, count in ends.most_common()),
        _part(tally.ends["void"], tally.deals),
        _length(tally.rounds),
        _length(tally.actions),
        _length(tally.lengths),
        _part(tally.won[0], won),
        " / ".join(f"{100 * tally.wins[seat] / (wins or 1):.0f}" for seat in range(series.seats)),
    )


def _part(count: float, whole: float) -> str:
    """In per cent; what is neither nothing nor all is told as neither."""
    if not whole:
        return "-"
    rounded = round(100 * count / whole)
    if 0 < count < whole and rounded in (0, 100):
        return "> 99 %" if rounded else "< 1 %"
    return f"{rounded} %"


def _length(counts: Counter[int]) -> str:
    """Median and greatest."""
    values = sorted(counts.elements())
    return f"{values[len(values) // 2]} (≤ {values[-1]})" if values else "-"
