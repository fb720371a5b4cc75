"""Locust's scenarios, run for some seconds where `make load` has made their environment."""

import csv
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.live import Rummyd
from tests.servers import free_ports

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-load" / "bin" / "python"
LONGEST_S = 180.0

pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason="`make load` has not made .venv-load: the scenarios of Locust did not run"
)


def crowd(report: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Runs it, with a report there."""
    command = [str(PYTHON), "-m", "load", "--report", str(report), *flags]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST_S, check=False)


def acts(server: Rummyd) -> float:
    """How many acts a server has accepted since it began."""
    told = text_string_to_metric_families(httpx.get(server.metrics).text)
    samples = (sample for family in told for sample in family.samples if sample.name == "rummyd_acts_total")
    return sum(sample.value for sample in samples if sample.labels["outcome"] == "accepted")


def wait_for_acts(server: Rummyd) -> None:
    """Waits until the server has answered some acts."""
    deadline = time.monotonic() + LONGEST_S
    while acts(server) < 5:
        assert time.monotonic() < deadline, "nobody acts"
        time.sleep(0.1)


def figures(report: Path) -> dict[str, dict[str, str]]:
    """What the report says of each kind of request."""
    with (report / "load_stats.csv").open() as file:
        return {row["Name"]: row for row in csv.DictReader(file)}


def test_a_crowd_plays_and_watches_without_a_failure(tmp_path: Path) -> None:
    """Players, watchers, reconnecting streams and those who come and go are served on a ramp, and no request fails."""
    ran = crowd(tmp_path, "--users", "16", "--run-time", "12s", "--think", "0.2")
    assert ran.returncode == 0, ran.stderr
    found = figures(tmp_path)
    assert {name for name, row in found.items() if row["Failure Count"] != "0"} == set()
    for name in ("act, from due to answer", "commit to arrival", "observe", "observe, resumed", "/v1/games/*:leave"):
        assert int(found[name]["Request Count"]) > 0, name
    assert (tmp_path / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert "99.9%" in ran.stdout + ran.stderr


def test_a_crowd_outlives_the_end_of_its_server(tmp_path: Path, redis_url: str) -> None:
    """Through a restart of the server every act comes to its end by retries, and no stream leaves out a version."""
    flags = ("--users", "8", "--run-time", "15s", "--think", "0.2", "--max-fail-ratio", "1", "Player", "Watcher")
    with Rummyd(tmp_path, redis_url=redis_url) as server, ThreadPoolExecutor() as pool:
        running = pool.submit(crowd, tmp_path, "--host", server.rest, *flags)
        wait_for_acts(server)
        server.stop()
        server.start()
        wait_for_acts(server)
        ran = running.result()
    assert ran.returncode == 0, ran.stderr
    found = figures(tmp_path)
    for name in ("act, from due to answer", "commit to arrival"):
        assert int(found[name]["Request Count"]) > 0
        assert found[name]["Failure Count"] == "0", ran.stderr
    assert int(found["observe, resumed"]["Request Count"]) > 0


def test_failures_beyond_the_bound_are_told(tmp_path: Path) -> None:
    """Where more requests fail than may, or nobody acts, the run ends with 1 and says so."""
    host = f"http://127.0.0.1:{free_ports(1)[0]}"
    ran = crowd(tmp_path, "--host", host, "--users", "1", "--run-time", "2s", "Player")
    assert ran.returncode == 1
    assert "requests failed: more than 1.00%" in ran.stderr
    assert "nobody acted" in ran.stderr
