"""The metrics of several processes: added up, whoever of them has ended, and nothing left behind."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from service.observability.shared import Shared

WORK = """
import sys
from service.observability import metrics
metrics.ticks.inc(int(sys.argv[1]))
for _ in range(int(sys.argv[1])):
    metrics.due_lag_seconds.observe(0.2)
metrics.calls.labels("Act", "grpc", "OK").inc()
metrics.open_streams.labels("Observe", "grpc").inc()
metrics.ready.set(1)
print("done", flush=True)
sys.stdin.read()
"""

KEEP = """
import sys
from service.observability.shared import Shared
with Shared.kept() as shared:
    print(shared.folder, flush=True)
    sys.stdin.read()
"""


@contextmanager
def process(program: str, *words: str, **variables: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A Python that runs a program, and the first line that it says. It is killed at the end."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", program, *words]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env={**os.environ, **variables}) as running:
        try:
            assert running.stdout
            yield running, running.stdout.readline().strip()
        finally:
            running.kill()


def worked(shared: Shared, ticks: int) -> int:
    """The id of a process that has counted so much, and was killed."""
    with process(WORK, str(ticks), PROMETHEUS_MULTIPROC_DIR=str(shared.folder)) as (running, said):
        assert said == "done"
        return running.pid


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go meanwhile, here and in the processes that are started."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_what_ended_workers_counted_stays_in_one_file_each(temporary: Path) -> None:
    """However many workers have ended, what they counted adds up as before, in as many files as there are kinds."""
    with Shared.kept() as shared:
        registry = shared.registry(dict)
        for ticks in (3, 4, 5):
            pid = worked(shared, ticks)
            before = registry.get_sample_value("rummyd_ticks_total")
            shared.ended(pid)
            assert registry.get_sample_value("rummyd_ticks_total") == before
        assert {file.name for file in shared.folder.iterdir()} == {"counter_ended.db", "histogram_ended.db"}
        assert registry.get_sample_value("rummyd_ticks_total") == 12
        called = {"method": "Act", "front": "grpc", "code": "OK"}
        assert registry.get_sample_value("rummyd_calls_total", called) == 3
        assert registry.get_sample_value("rummyd_due_lag_seconds_count") == 12
        assert registry.get_sample_value("rummyd_due_lag_seconds_sum") == pytest.approx(12 * 0.2)
        assert registry.get_sample_value("rummyd_due_lag_seconds_bucket", {"le": "0.1"}) == 0
        assert registry.get_sample_value("rummyd_due_lag_seconds_bucket", {"le": "0.25"}) == 12
        assert registry.get_sample_value("rummyd_ready") is None
        assert registry.get_sample_value("rummyd_open_streams", {"method": "Observe", "front": "grpc"}) is None
    assert list(temporary.iterdir()) == []


def test_whoever_looks_meanwhile_sees_no_count_go_down(temporary: Path) -> None:
    """Metrics that are shown while a worker's end is noted are neither less nor more than before."""
    with Shared.kept() as shared:
        pids = [worked(shared, 7) for _ in range(3)]
        registry, seen, done = shared.registry(dict), set[float | None](), threading.Event()

        def look() -> None:
            while not done.is_set():
                seen.add(registry.get_sample_value("rummyd_ticks_total"))

        looking = threading.Thread(target=look)
        looking.start()
        while not seen:
            pass
        for pid in pids:
            shared.ended(pid)
        done.set()
        looking.join()
        assert seen == {21}


def test_a_file_that_was_not_begun_counts_nothing(temporary: Path) -> None:
    """A worker that was killed as it made its file leaves an empty one, which goes."""
    with Shared.kept() as shared:
        (shared.folder / "counter_4711.db").touch()
        shared.ended(4711)
        assert list(shared.folder.iterdir()) == []
        assert shared.registry(dict).get_sample_value("rummyd_ticks_total") is None


def test_what_a_killed_one_left_goes_with_the_next_start(temporary: Path) -> None:
    """A folder whose keeper was killed is removed at the next start; that of a living one, and files, are not."""
    (temporary / "rummyd-metrics-notes").write_text("no folder")
    with process(KEEP) as (living, kept), process(KEEP) as (killed, left):
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert Path(left).is_dir()
        with Shared.kept() as shared:
            assert {file.name for file in temporary.iterdir()} == {
                "rummyd-metrics-notes", Path(kept).name, shared.folder.name,
            }  # fmt: skip
        assert living.poll() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a folder away")
def test_what_another_user_left_stays(temporary: Path) -> None:
    """A folder of another user's is not touched."""
    other = temporary / "rummyd-metrics-other"
    other.mkdir()
    os.chown(other, 65532, 65532)
    with Shared.kept():
        assert other.is_dir()
