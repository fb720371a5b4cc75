"""Metrics of several workers: each writes its values to a folder, and the process that keeps them adds them up.

with Shared.kept() as shared:
    shared.folder              where the workers write: their PROMETHEUS_MULTIPROC_DIR
    shared.registry(pids)      what all of them come to
    shared.ended(pid)          one of them is no more
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

from prometheus_client import CollectorRegistry, Metric, ProcessCollector
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from service.observability import metrics

__all__ = ["Shared"]

_PREFIX: Final = "rummyd-metrics-"
_SUMS: Final = ("counter", "histogram")
"""The kinds of metrics that go on counting what a worker that has ended counted. All others are of those that live."""


class Shared:
    """The folder, from when it is made by `kept` until its end."""

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        self._lock = threading.Lock()  # metrics are shown by a thread of their own

    @classmethod
    @contextmanager
    def kept(cls) -> Iterator[Self]:
        """A folder of this process's own, which is gone at the end. What killed ones have left goes now."""
        for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            with _held(left) as held:
                if held:
                    shutil.rmtree(left, ignore_errors=True)
        while True:  # until none that starts at the same time has taken it for one that was left
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
            with _held(folder) as held:
                if held:
                    yield cls(folder)
                    shutil.rmtree(folder, ignore_errors=True)
                    return

    def registry(self, pids: Callable[[], Mapping[int, int]]) -> CollectorRegistry:
        """What the workers have written, added up, and what the system says of each.

        `pids` gives the process id of each worker that lives, by its number.
        """
        registry = CollectorRegistry()
        registry.register(_Values(self.folder, self._lock))
        registry.register(_Processes(pids))
        registry.register(metrics.worker_restarts)
        return registry

    def ended(self, pid: int) -> None:
        """What a worker that has ended counted remains, in one file for all such; what it held no longer does."""
        with self._lock:
            mark_process_dead(pid, str(self.folder))  # type: ignore[no-untyped-call]
            for kind in _SUMS:
                _add(self.folder / f"{kind}_{pid}.db", self.folder / f"{kind}_ended.db")


def _add(file: Path, to: Path) -> None:
    """Adds the values of a file to those of another, and removes it."""
    if not file.exists():
        return
    if file.stat().st_size:  # else its worker has ended while it made it
        sums = MmapedDict(str(to))  # type: ignore[no-untyped-call]
        for key, value, time, _ in MmapedDict.read_all_values_from_file(str(file)):  # type: ignore[no-untyped-call]
            sums.write_value(key, sums.read_value(key)[0] + value, time)  # type: ignore[no-untyped-call]
        sums.close()  # type: ignore[no-untyped-call]
    file.unlink()


@contextmanager
def _held(folder: Path) -> Iterator[bool]:
    """Whether this is a folder of this user's that no process holds; then this one holds it, and lets go at the end."""
    with contextlib.ExitStack() as stack:
        try:
            file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            stack.callback(os.close, file)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = os.fstat(file).st_uid == os.geteuid() and os.path.samestat(os.fstat(file), folder.stat())
        except OSError:  # another holds it, or has removed it meanwhile
            free = False
        yield free


class _Values(Collector):
    """What the workers have written, but for what only the process that keeps them counts: they have it at nought."""

    def __init__(self, folder: Path, lock: threading.Lock) -> None:
        self._written = MultiProcessCollector(None, str(folder))  # type: ignore[no-untyped-call]
        self._lock = lock

    def collect(self) -> Iterable[Metric]:
        own = {metric.name for metric in metrics.worker_restarts.collect()}
        with self._lock:
            written = list(self._written.collect())  # type: ignore[no-untyped-call]
        return [metric for metric in written if metric.name not in own]


class _Processes(Collector):
    """What the system says of processes (`process_cpu_seconds_total` …), each under its worker's number."""

    def __init__(self, pids: Callable[[], Mapping[int, int]]) -> None:
        self._pids = pids

    def collect(self) -> Iterable[Metric]:
        found: dict[str, Metric] = {}
        for worker, pid in self._pids().items():
            for metric in ProcessCollector(pid=lambda pid=pid: pid, registry=None).collect():  # type: ignore[misc]
                all_ = found.setdefault(metric.name, Metric(metric.name, metric.documentation, metric.type))
                for sample in metric.samples:
                    all_.add_sample(sample.name, {"worker": str(worker)}, sample.value)
        return found.values()
