"""A live rummyd: the whole product as a process of its own, on free ports, to talk to, to kill and to start again.

with Rummyd(folder, redis_url=url) as server:
    server.rest, server.grpc, server.metrics     where it listens
    server.kill(); server.start()                a crash, and a start on the same ports
    server.stop()                                its exit status
    server.log()                                 what it has logged, from every start, line by line
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from tests.patience import PATIENT_SERVER

UNLIMITED = {
    f"RUMMYD_LIMIT_{name}": "0"
    for name in (
        "CALLS_PER_SECOND",
        "ACTS_PER_SECOND",
        "TABLES_PER_MINUTE",
        "FAILURES_PER_MINUTE",
        "STREAMS_PER_CALLER",
        "WATCHERS_PER_TABLE",
    )
}
ROOT = Path(__file__).parents[2]
LONGEST_S = 60.0
"""What hangs for so long, on a machine however busy, fails its test."""


class Listening(Protocol):
    """Where a server listens, of whatever make: `grpc` is HOST:PORT, `rest` a URL."""

    grpc: str
    rest: str


class Rummyd:
    """One server. Left, it is killed if it still runs, and what it logged as an error fails the test.

    `folder` gets its log. Without `redis_url` it has an embedded server of its own, thrown away. `flags` are further
    ones of its own, such as `--heartbeat-seconds 0.2`. All its clients have one address, and far more to do than any
    client has: it has no limits but those among its flags. It is patient with its Redis, too.
    """

    def __init__(self, folder: Path, *flags: str, redis_url: str | None = None, **variables: str) -> None:
        self._log = folder / "rummyd.log"
        self._flags = ["--log-format", "json", *([] if redis_url else ["--embedded", "--throw-away"]), *flags]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("RUMMYD_")}
        given = variables | ({"RUMMYD_REDIS_URL": redis_url} if redis_url else {})
        self._environment = inherited | UNLIMITED | PATIENT_SERVER | given
        self._process: subprocess.Popen[str] | None = None
        self._ports: Sequence[str] = ("0", "0", "0")
        self.grpc = self.rest = self.metrics = ""

    def start(self) -> Self:
        """Starts it, and waits until it says where it is. After the first time it is where it was."""
        if self._process is not None:
            raise RuntimeError("it has been started")
        ports = zip(("--grpc-port", "--rest-port", "--metrics-port"), self._ports, strict=True)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "service", *self._flags, *(word for pair in ports for word in pair)],
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,  # a terminal of its own, as it were: see `interrupt`
            )
        banner = _banner(self._process)
        if "curl" not in banner:
            raise RuntimeError(f"rummyd ended with {self.wait()}: {self._log.read_text()}")
        self.grpc = _word(banner, "gRPC")
        self.rest = _word(banner, "REST").removesuffix("/v1/games")
        self.metrics = _word(banner, "metrics")
        self._ports = [re.findall(r":(\d+)", address)[0] for address in (self.grpc, self.rest, self.metrics)]
        return self

    @property
    def pid(self) -> int:
        """The id of its process."""
        return self._running().pid

    @property
    def lives(self) -> bool:
        """Whether its process, which was started, has not ended by itself."""
        return self._running().poll() is None

    def kill(self) -> None:
        """Ends it at once, as a crash of the machine would."""
        self.stop(signal.SIGKILL)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Sends it a signal, waits for its end and gives its exit status."""
        process = self._running()
        process.send_signal(number)
        return self.wait()

    def interrupt(self) -> int:
        """Ends it as Ctrl-C at its terminal does, which signals every process there; gives its exit status."""
        os.killpg(self._running().pid, signal.SIGINT)
        return self.wait()

    def wait(self) -> int:
        """Waits for its end, and gives its exit status."""
        process = self._running()
        try:
            status = process.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        finally:
            self._process = None
            if process.stdout:
                process.stdout.close()
        return status

    def log(self) -> list[str]:
        """Every line that it has logged, from each of its starts."""
        return self._log.read_text().splitlines()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self.stop(signal.SIGTERM if error is None else signal.SIGKILL)
        wrong = [line for line in self.log() if _is_fault(line)]
        if wrong and error is None:
            raise AssertionError("rummyd logged as faults of its own:\n" + "\n".join(wrong))
        if wrong and error is not None:
            error.add_note("rummyd logged as faults of its own:\n" + "\n".join(wrong))

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise RuntimeError("it is not running")
        return self._process


def _is_fault(line: str) -> bool:
    """Whether a line of the log is of a fault of the server: an error, or none of its own JSON."""
    try:
        entry: dict[str, Any] = json.loads(line)
    except json.JSONDecodeError:
        return True
    return entry.get("level") in {"error", "critical"}


def _banner(process: subprocess.Popen[str]) -> str:
    """What it says first, up to the line with curl, or up to its end."""
    watchdog = threading.Timer(LONGEST_S, process.kill)
    watchdog.start()
    try:
        said = ""
        for line in process.stdout or ():
            said += line
            if "curl" in line:
                break
        return said
    finally:
        watchdog.cancel()


def _word(banner: str, name: str) -> str:
    found = re.search(rf"^  {name} +(\S+)$", banner, re.MULTILINE)
    if not found:
        raise RuntimeError(f"the banner does not say where {name} is:\n{banner}")
    return found[1]
