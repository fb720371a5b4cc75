"""The long test: move counts to millions of positions, and whole matches by the ten thousand, on two processes.

    python -m tools.soak [--quick] [--report]      `make soak`, `make soak SOAK=quick`

Every preset at every number of players plays matches of all kinds of players (`tools.players`): a thousand of one deal,
two hundred sensible ones to their natural end; invariants are sampled on the way. Fails where a table is stuck, a deal
or a match does not end, an invariant is broken, or a move count is not as recorded, and names the match or the file:
`simulated(series, number)` plays it again. What is odd but no fault is told as a finding. `--report` writes the tables
into docs/proof.md.
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
from tools.simulate import ALL, Series, Tally, Trouble, simulated
from tools.soak_report import counts, findings, markdown, tables

__all__ = ["Result", "Task", "main", "run", "tasks"]

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "proof.md"
PLACE: Final = re.compile(r"(?<=<!-- soak: written by `make soak` -->\n).*?(?=<!-- /soak -->)", re.DOTALL)
CHUNK: Final = 50
"""Matches to a task: some seconds of work."""


class Task(NamedTuple):
    """A piece of the work, for one process: some matches of a series, or the move counts of a file."""

    series: Series | None = None
    numbers: range = range(0)
    counts: Path | None = None
    deep: bool = True


class Result(NamedTuple):
    """What came of a task; what went wrong, a line each."""

    task: Task
    tally: Tally
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
    return found


def run(task: Task) -> Result:
    """Do a piece of the work."""
    tally, wrong, begun = Tally(), list[str](), time.process_time()
    if task.counts is not None:
        recorded = move_counts.read_moves(task.counts)
        wrong += [f"{task.counts.stem}: {line}" for line in move_counts.differences(recorded, deep=task.deep)]
    if task.series is not None:
        for number in task.numbers:
            try:
                tally.add(simulated(task.series, number))
            except Trouble as trouble:
                wrong.append(str(trouble))
            except Refused as refusal:
                wrong.append(f"{task.series}, match {number}: a listed action is refused: {refusal}")
    return Result(task, tally, wrong, time.process_time() - begun)


def main(arguments: Sequence[str]) -> int:
    """What the module says. The exit code is 1 where anything went wrong."""
    parser = argparse.ArgumentParser(prog="soak", description="Move counts and simulated matches, for minutes on end.")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the matches, and the quick move counts")
    parser.add_argument("--report", action="store_true", help=f"write the tables into {PAGE.name}")
    asked = parser.parse_args(arguments)
    begun, seconds, wrong = time.monotonic(), 0.0, list[str]()
    tallies: dict[Series, Tally] = {series: Tally() for series in ALL}
    for result in _worked(tasks(100 if asked.quick else 1)):
        wrong += result.wrong
        seconds += result.seconds
        if result.task.series is not None:
            tallies[result.task.series].add(result.tally)
    took = f"{seconds / 60:.1f} minutes of CPU time, {(time.monotonic() - begun) / 60:.1f} on the clock"
    page = _page(tallies, took)
    print(page, *(f"WRONG: {line}" for line in wrong), sep="\n")
    if asked.report:
        PAGE.write_text(PLACE.sub(lambda _found: page, PAGE.read_text()))
    return 1 if wrong else 0


def _page(tallies: Mapping[Series, Tally], took: str) -> str:
    matches, deals = (sum(getattr(tally, what) for tally in tallies.values()) for what in ("matches", "deals"))
    told = "".join(f"- {line}.\n" for line in findings(tallies)) or "None.\n"
    head = f"{matches:,} matches, {deals:,} deals; {took}.\n\n### Findings\n\n{told}"
    return "\n".join([head, *map(markdown, [*tables(tallies), counts()])])


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
                what = result.task.series or f"move counts of {result.task.counts and result.task.counts.stem}"
                progress.update(shown, advance=1, description=str(what))
                for line in result.wrong:
                    progress.console.print(f"WRONG: {line}", markup=False)
                yield result
        finally:
            pool.shutdown(cancel_futures=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
