"""rummyd as a process of its own, and the processes that it starts in turn."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.patience import PATIENT_SERVER

FREE_PORTS = ("--grpc-port", "0", "--rest-port", "0", "--metrics-port", "0")
THROW_AWAY = ("--embedded", "--throw-away", *FREE_PORTS)
LONGEST = 120.0
"""Seconds after which a server that hangs is killed, so that its test fails."""


@dataclass
class Running:
    """A server that has said where it is."""

    process: subprocess.Popen[str]
    banner: str

    def address(self, name: str) -> str:
        """What the banner says behind a name."""
        found = re.search(rf"^  {name} +(.+)$", self.banner, re.MULTILINE)
        assert found, self.banner
        return found[1]

    @property
    def rest(self) -> str:
        return self.address("REST").removesuffix("/v1/games")

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Sends a signal, and gives the exit status and what was logged."""
        self.process.send_signal(number)
        _, errors = self.process.communicate()
        return self.process.returncode, errors


@contextmanager
def server(*flags: str, descriptors: int | None = None, **variables: str) -> Iterator[Running]:
    """A server as a process, once its banner is complete. At the end it is killed, should it still run.

    `descriptors`: how many it may have.
    """
    limited = () if descriptors is None else ("sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh")
    process = _started(flags, variables, limited)
    watchdog = threading.Timer(LONGEST, process.kill)
    watchdog.start()
    try:
        banner = ""
        assert process.stdout
        for line in process.stdout:
            banner += line
            if "curl" in line:
                break
        else:
            pytest.fail(f"it ended instead: {process.communicate()}")
        yield Running(process, banner)
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


def outcome(*flags: str, **variables: str) -> tuple[int, str, str]:
    """The exit status, output and errors of a server that ends by itself."""
    process = _started(flags, variables)
    output, errors = process.communicate(timeout=LONGEST)
    return process.returncode, output, errors


def _started(flags: tuple[str, ...], variables: Mapping[str, str], by: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RUMMYD_")}
    return subprocess.Popen(
        [*by, sys.executable, "-m", "service", *flags],
        env={**environment, **PATIENT_SERVER, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def children(process: subprocess.Popen[str]) -> list[int]:
    """The processes that a process has started."""
    return [pid for pid, parent in living().items() if parent == process.pid]


def wait_until_gone(pids: list[int]) -> None:
    """Waits until none of these processes lives."""
    deadline = time.monotonic() + LONGEST
    while left := living().keys() & set(pids):
        assert time.monotonic() < deadline, f"{left} are still there"
        time.sleep(0.05)


def living() -> dict[int, int]:
    """The parent of every process that lives, by their ids."""
    if Path("/proc/self/stat").exists():
        rows = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):  # it has just ended
                name, _, state = path.read_text().rpartition(") ")
                rows.append((name.split()[0], *state.split()[:2]))
    else:
        table = subprocess.run(["/bin/ps", "-A", "-o", "pid=,stat=,ppid="], capture_output=True, text=True, check=True)
        rows = [(pid, state, parent) for pid, state, parent in map(str.split, table.stdout.splitlines())]
    return {int(pid): int(parent) for pid, state, parent in rows if not state.startswith("Z")}
