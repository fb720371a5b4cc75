"""The long test: move counts to millions of positions, and whole matches by the ten thousand, on two processes.

    python -m tools.soak [--quick] [--bots] [--report]      `make soak`, `make soak SOAK=quick`

Every preset at every number of players plays matches of all kinds of players (`tools.players`): a thousand of one deal,
two hundred sensible ones to their natural end; invariants are sampled on the way. A bot plays three hundred deals at
each of these tables against chance, and as many against plain greed; `--bots` plays nothing else. Fails where a table
is stuck, a deal or a match does not end, an invariant is broken, a bot wins less than its due (`tools.contests`), or a
move count is not as recorded, and names the match, the contest or the file: `simulated(series, number)` plays a match
again. What is odd but no fault is told as a finding. `--report` writes the tables into docs/proof.md.
"""

import argparse
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from engine.errors import Refused
from tools import move_counts
from tools.contests import CONTESTS, RIVALS, Contest, Outcome, played, shortfalls
from tools.simulate import ALL, Series, Tally, Trouble, simulated
from tools.soak_report import contests, counts, findings, markdown, tables

__all__ = ["Result", "Task", "main", "run", "tasks"]

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "proof.md"
CHUNK: Final = 50
"""Matches to a task: some seconds of work."""


class Task(NamedTuple):
    """A piece of the work, for one process: matches of a series, deals of a contest, or a file's move counts."""

    series: Series | None = None
    numbers: range = range(0)
    contest: Contest | None = None
    counts: Path | None = None
    deep: bool = True


class Result(NamedTuple):
    """What came of a task; what went wrong, a line each."""

    task: Task
    tally: Tally
    outcome: Outcome
    wrong: list[str]
    seconds: float
    """CPU time."""


def tasks(part: int = 1) -> list[Task]:
    """All of the work, the longest pieces first; with `part` one match of so many, and the quick counts."""
    found = [Task(counts=path, deep=part == 1) for path in move_counts.files()]
    for series in sorted(ALL, key=lambda series: series.player != "sensible"):
        matches = max(1, (200 if series.player == "sensible" else 1000) // part)
        numbers = range(matches)
        found += [Task(series=series, numbers=numbers[start : start + CHUNK]) for start in range(0, matches, CHUNK)]
    return found + bots_tasks(part)


def bots_tasks(part: int = 1) -> list[Task]:
    """The bots' deals of all of the work; with `part` one of so many."""
    deals = range(max(1, 300 // part))
    return [
        Task(contest=contest, numbers=deals[start : start + CHUNK])
        for contest in CONTESTS
        for start in range(0, len(deals), CHUNK)
    ]


def run(task: Task) -> Result:
    """Do a piece of the work."""
    tally, outcome, wrong, begun = Tally(), Outcome(), list[str](), time.process_time()
    if task.counts is not None:
        recorded = move_counts.read_moves(task.counts)
        wrong += [f"{task.counts.stem}: {line}" for line in move_counts.differences(recorded, deep=task.deep)]
    if task.contest is not None:
        outcome = played(task.contest, task.numbers)
    if task.series is not None:
        for number in task.numbers:
            try:
                tally.add(simulated(task.series, number))
            except Trouble as trouble:
                wrong.append(str(trouble))
            except Refused as refusal:
                wrong.append(f"{task.series}, match {number}: a listed action is refused: {refusal}")
    return Result(task, tally, outcome, wrong, time.process_time() - begun)


def main(arguments: Sequence[str]) -> int:
    """What the module says. The exit code is 1 where anything went wrong."""
    parser = argparse.ArgumentParser(prog="soak", description="Move counts and simulated matches, for minutes on end.")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the matches, and the quick move counts")
    parser.add_argument("--report", action="store_true", help=f"write the tables into {PAGE.name}")
    parser.add_argument("--bots", action="store_true", help="only how well bots play")
    asked = parser.parse_args(arguments)
    part = 100 if asked.quick else 1
    begun, seconds, wrong = time.monotonic(), 0.0, list[str]()
    tallies: dict[Series, Tally] = {series: Tally() for series in ALL}
    outcomes: dict[Contest, Outcome] = {contest: Outcome() for contest in CONTESTS}
    for result in _worked(bots_tasks(part) if asked.bots else tasks(part)):
        wrong += result.wrong
        seconds += result.seconds
        if result.task.series is not None:
            tallies[result.task.series].add(result.tally)
        if result.task.contest is not None:
            outcomes[result.task.contest].add(result.outcome)
    wrong += [] if asked.quick else shortfalls(outcomes)
    took = f"{seconds / 60:.1f} minutes of CPU time, {(time.monotonic() - begun) / 60:.1f} on the clock"
    pages = {"bots": _bots_page(outcomes)} | ({} if asked.bots else {"soak": _page(tallies, took)})
    print(*pages.values(), *(f"WRONG: {line}" for line in wrong), sep="\n")
    if asked.report:
        for section, page in pages.items():
            _write(section, page)
    return 1 if wrong else 0


def _write(section: str, page: str) -> None:
    """Put the page between the section's markers in docs/proof.md."""
    place = re.compile(rf"(?<=<!-- {section}: written by `make soak` -->\n).*?(?=<!-- /{section} -->)", re.DOTALL)
    PAGE.write_text(place.sub(lambda _found: page, PAGE.read_text()))


def _page(tallies: Mapping[Series, Tally], took: str) -> str:
    matches, deals = (sum(getattr(tally, what) for tally in tallies.values()) for what in ("matches", "deals"))
    told = "".join(f"- {line}.\n" for line in findings(tallies)) or "None.\n"
    head = f"{matches:,} matches, {deals:,} deals; {took}.\n\n### Findings\n\n{told}"
    return "\n".join([head, *map(markdown, [*tables(tallies), counts()])])


def _bots_page(outcomes: Mapping[Contest, Outcome]) -> str:
    return "\n".join(markdown(contests(outcomes, rival)) for rival in RIVALS)


def _worked(work: Sequence[Task]) -> Iterator[Result]:
    """The results as they come, with the progress shown."""
    columns = (TextColumn("{task.description:40}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    workers, fresh, console = min(2, os.cpu_count() or 1), get_context("spawn"), Console(stderr=True)
    with Progress(*columns, console=console) as progress, ProcessPoolExecutor(workers, fresh) as pool:
        shown = progress.add_task("", total=len(work))
        running: list[Future[Result]] = [pool.submit(run, task) for task in work]
        try:
            for done in as_completed(running):
                result = done.result()
                what = (
                    result.task.series
                    or result.task.contest
                    or f"move counts of {result.task.counts and result.task.counts.stem}"
                )
                progress.update(shown, advance=1, description=str(what))
                for line in result.wrong:
                    progress.console.print(f"WRONG: {line}", markup=False)
                yield result
        finally:
            pool.shutdown(cancel_futures=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
