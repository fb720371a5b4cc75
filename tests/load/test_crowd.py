"""Locust's scenarios, run for some seconds where `make load` has made their environment."""

import csv
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.e2e.live import Rummyd
from tests.servers import free_ports

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-load" / "bin" / "python"
LONGEST_S = 180.0
KINDS = ("act, from due to answer", "commit to arrival")
LATENCIES = ("act, from due to answer", "act, from due to observer")

pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason="`make load` has not made .venv-load: the scenarios of Locust did not run"
)


@contextmanager
def crowd(report: Path, *flags: str) -> Iterator[subprocess.Popen[str]]:
    """Runs it, with a report there, until it is left: then as Ctrl-C does. What it said is in `report`/said."""
    command = [str(PYTHON), "-m", "load", "--report", str(report), "--run-time", f"{LONGEST_S:.0f}s", *flags]
    with (report / "said").open("w") as said:
        run = subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said, text=True, start_new_session=True)
    try:
        yield run
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGINT)
        run.wait(LONGEST_S)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)


def figures(report: Path) -> dict[str, dict[str, str]]:
    """What the report says of each kind of request; nothing before there is one, and while it is written anew."""
    stats = report / "load_stats.csv"
    lines = stats.read_text().splitlines(keepends=True) if stats.exists() else []
    if not lines or not lines[-1].startswith(",Aggregated,") or not lines[-1].endswith("\n"):
        return {}
    return {row["Name"]: row for row in csv.DictReader(lines)}


def wait_until_each_was_made(report: Path, *names: str, times: int = 1) -> dict[str, dict[str, str]]:
    """Waits until the report counts each of these kinds of request so often, and gives what it says."""
    deadline = time.monotonic() + LONGEST_S
    while True:
        found = figures(report)
        missing = [name for name in names if name not in found or int(found[name]["Request Count"] or 0) < times]
        if not missing:
            return found
        assert time.monotonic() < deadline, f"none of {missing}: {(report / 'said').read_text()}"
        time.sleep(0.1)


def test_a_crowd_plays_and_watches_without_a_failure(tmp_path: Path) -> None:
    """Players, watchers, reconnecting streams and those who come and go are served on a ramp, and no request fails."""
    with crowd(tmp_path, "--users", "16", "--think", "0.2") as run:
        wait_until_each_was_made(tmp_path, *KINDS, "observe", "observe, resumed", "/v1/games/*:leave")
    said = (tmp_path / "said").read_text()
    assert run.returncode == 0, said
    assert {name for name, row in figures(tmp_path).items() if row["Failure Count"] != "0"} == set()
    assert (tmp_path / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert "99.9%" in said
    assert re.search(r"CPU per act, .*: server [\d,]+ µs, Redis [\d,]+ µs .*; idle: server [\d.]+%, Redis", said)


def test_the_total_is_of_requests_alone(tmp_path: Path) -> None:
    """Acts, news and streams have rows of their own, and the figures of all requests are those of calls."""
    with crowd(tmp_path, "--users", "8", "--think", "0.2") as run:
        wait_until_each_was_made(tmp_path, *KINDS, *LATENCIES, "observe")
    assert run.returncode == 0, (tmp_path / "said").read_text()
    found = figures(tmp_path)
    calls = [int(row["Request Count"]) for row in found.values() if row["Type"] in {"GET", "POST"}]
    assert int(found["Aggregated"]["Request Count"]) == sum(calls)
    assert {row["Type"] for row in found.values()} == {"", "GET", "POST", "ACT", "NEWS", "EVENT", "STREAM"}


def test_the_stop_is_in_no_figure(tmp_path: Path) -> None:
    """Players who are at a table when the run ends leave it, all at once, and nothing counts that."""
    with crowd(tmp_path, "--users", "8", "--think", "0.2", "Player") as run:
        wait_until_each_was_made(tmp_path, KINDS[0], times=8)
    assert run.returncode == 0, (tmp_path / "said").read_text()
    assert "/v1/games/*:leave" not in figures(tmp_path)


@pytest.mark.parametrize("processes", [[], ["--processes", "2"]], ids=["one process", "two"])
def test_latencies_are_kept_of_all_processes(tmp_path: Path, processes: list[str]) -> None:
    """From when an act was due to its answer and to its observers there are percentiles, in a file and in words."""
    with crowd(tmp_path, "--users", "8", "--think", "0.2", *processes) as run:
        wait_until_each_was_made(tmp_path, *LATENCIES, times=20)
    said = (tmp_path / "said").read_text()
    assert run.returncode == 0, said
    latencies = json.loads((tmp_path / "load_latencies.json").read_text())
    assert latencies.keys() == set(LATENCIES)
    for name, found in latencies.items():
        assert found["count"] >= 20
        assert 0 < found["p50"] <= found["p99"] <= found["p100"]
        assert f"{name}: p50 " in said


def test_a_crowd_outlives_the_end_of_its_server(tmp_path: Path, redis_url: str) -> None:
    """Through a restart of the server every act comes to its end by retries, and no stream leaves out a version."""
    flags = ("--users", "8", "--think", "0.2", "--max-fail-ratio", "1", "Player", "Watcher")
    with Rummyd(tmp_path, redis_url=redis_url) as server, crowd(tmp_path, "--host", server.rest, *flags) as run:
        wait_until_each_was_made(tmp_path, *KINDS, "observe")
        server.stop()
        server.start()
        acted = wait_until_each_was_made(tmp_path, KINDS[0])[KINDS[0]]
        wait_until_each_was_made(tmp_path, KINDS[0], times=int(acted["Request Count"]) + 5)
        wait_until_each_was_made(tmp_path, "observe, resumed")
    said = (tmp_path / "said").read_text()
    assert run.returncode == 0, said
    assert {name for name in KINDS if figures(tmp_path)[name]["Failure Count"] != "0"} == set(), said


def test_failures_beyond_the_bound_are_told(tmp_path: Path) -> None:
    """Where more requests fail than may, or nobody acts, the run ends with 1 and says so."""
    host = f"http://127.0.0.1:{free_ports(1)[0]}"
    with crowd(tmp_path, "--host", host, "--users", "1", "--run-time", "2s", "Player") as run:
        run.wait(LONGEST_S)
    said = (tmp_path / "said").read_text()
    assert run.returncode == 1
    assert "requests failed: more than 1.00%" in said
    assert "nobody acted" in said


def test_those_that_would_have_come_meanwhile_count(tmp_path: Path) -> None:
    """An act of ten seconds, of a player who thinks for two, counts for those of eight, six, four and two as well."""
    written = tmp_path / "latencies.json"
    program = f"""
from pathlib import Path
from locust.env import Environment
from load.latencies import ACT, summary, tell
here = Environment()
tell(here, ACT, 10.0, every_s=2.0)
summary(Path({str(written)!r}))
print(here.stats.get(ACT[1], ACT[0]).num_requests, here.stats.total.num_requests)
"""
    done = subprocess.run([PYTHON, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "0"]
    (found,) = json.loads(written.read_text()).values()
    assert found["count"] == 5
    assert (found["p50"], found["p100"]) == pytest.approx((6000, 10_000), rel=2e-3)
