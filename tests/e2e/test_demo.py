"""The demo: whole matches that come out well, whatever becomes of the server meanwhile."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.live import LONGEST_S, ROOT, Rummyd

CHECKS = 7
"""What every match is held to."""


@contextmanager
def demo(folder: Path, *flags: str) -> Iterator[subprocess.Popen[str]]:
    """The demo, as a process whose temporary files are in `folder`; killed if it still runs at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "clients.demo", *flags],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def played(folder: Path, *flags: str) -> str:
    """What the demo says of a match that came out well."""
    with demo(folder, *flags) as process:
        said, complaints = process.communicate(timeout=3 * LONGEST_S)
    assert process.returncode == 0, said + complaints
    assert complaints == ""
    assert "✗" not in said
    assert not list(folder.iterdir()), "nothing of it is left"
    return said


def test_a_match(tmp_path: Path) -> None:
    """Four seats play a whole match of Basic Rummy, the table is drawn as they go, and every check holds."""
    said = played(tmp_path)
    assert said.count("  ✓ ") == CHECKS
    assert re.search(r"both watchers saw versions 1 to \d+ without a gap", said)
    assert re.search(r"^ +1  Ada    draws, ", said, re.MULTILINE)
    assert "╭─ basic · deal 1 · round " in said
    assert re.search(r"^Deal 1: .+ totals: Ada \d+, Ben \d+, Cleo \d+, Dan \d+$", said, re.MULTILINE)
    assert "and wins" in said or "nobody scores" in said


def test_a_killed_server(tmp_path: Path) -> None:
    """The demo kills its server in the middle of the match, starts it again, and the match goes on to its end."""
    said = played(tmp_path, "--kill")
    assert said.count("  ✓ ") == CHECKS + 1
    assert said.count("rummyd was killed by SIGKILL at version") == 1
    for watcher in ("SSE", "gRPC"):
        assert f"the {watcher} watcher goes on after version" in said


def test_a_server_killed_by_somebody(tmp_path: Path) -> None:
    """Whoever kills the demo's server, as often as he likes: it comes back, and the match goes on to its end."""
    with demo(tmp_path, "--pace", "0.02") as process:
        output, kills, lines = iter(process.stdout or ()), 0, list[str]()
        for line in output:
            lines.append(line)
            if kills < 2 and (at := re.search(r"process (\d+)$", line)):
                lines += [next(output) for _ in range(4)]  # some turns are played by each process
                os.kill(int(at[1]), signal.SIGKILL)
                kills += 1
        status = process.wait(LONGEST_S)
    said = "".join(lines)
    assert status == 0, said
    assert said.count("rummyd was killed by SIGKILL") == kills == 2
    assert said.count("  ✓ ") == CHECKS


@pytest.mark.parametrize("game", ["rummy500", "pool500", "pool300", "pool500-cutthroat"])
def test_other_games(game: str, tmp_path: Path) -> None:
    """The other games are played, shown and checked as well."""
    said = played(tmp_path, "--game", game, "--deals", "1")
    assert said.count("  ✓ ") == CHECKS
    assert len(re.findall(r"^Deal \d+: ", said, re.MULTILINE)) == 1


@pytest.mark.parametrize("seats", [2, 7])
def test_other_numbers_of_seats(seats: int, tmp_path: Path) -> None:
    """As many play as are told to."""
    assert len(re.findall(r"^  \w+ +scored ", played(tmp_path, "--seats", str(seats)), re.MULTILINE)) == seats


def test_a_server_that_runs_already(rummyd: Rummyd, tmp_path: Path) -> None:
    """The demo plays on any server that it is told of, and starts none."""
    said = played(tmp_path, "--grpc", rummyd.grpc, "--rest", rummyd.rest)
    assert said.startswith(f"rummyd at {rummyd.grpc} (gRPC) and {rummyd.rest} (REST)\n")
    assert said.count("  ✓ ") == CHECKS


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped(number: signal.Signals, status: int, tmp_path: Path) -> None:
    """A signal in the middle of a match ends the demo, its server and all that they left on the disk."""
    with demo(tmp_path, "--pace", "0.2") as process:
        started = process.stdout.readline() if process.stdout else ""
        server = re.search(r"process (\d+)$", started)
        assert server, started
        process.send_signal(number)
        _, complaints = process.communicate(timeout=LONGEST_S)
    assert (process.returncode, complaints) == (status, "demo: stopped\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int(server[1]), 0)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--grpc", "127.0.0.1:1"], "--grpc and --rest go together"),
        (["--grpc", "127.0.0.1:1", "--rest", "http://127.0.0.1:1", "--kill"], "--kill kills the server"),
        (["--game", "whist"], "invalid choice"),
        (["--seats", "9"], "invalid choice"),
    ],
)
def test_bad_flags(flags: list[str], complaint: str, tmp_path: Path) -> None:
    """Flags that make no sense are refused in a line."""
    with demo(tmp_path, *flags) as process:
        said, complaints = process.communicate(timeout=LONGEST_S)
    assert (process.returncode, said) == (2, "")
    assert complaint in complaints


def test_refused(tmp_path: Path) -> None:
    """A table that the server refuses ends the demo with the server's reason, in a line."""
    with demo(tmp_path, "--game", "pool500", "--seats", "5") as process:
        _, complaints = process.communicate(timeout=LONGEST_S)
    assert process.returncode == 1
    assert re.fullmatch(r"demo: INVALID_RULE_SET: [^\n]+\n", complaints)


def test_too_long(tmp_path: Path) -> None:
    """A match that does not end in time ends the demo, which says so."""
    with demo(tmp_path, "--pace", "1", "--minutes", "0.05") as process:
        _, complaints = process.communicate(timeout=LONGEST_S)
    assert process.returncode == 1
    assert "the match did not end within 0.05 minutes" in complaints
