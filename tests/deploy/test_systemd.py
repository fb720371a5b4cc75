"""The unit for a host under systemd: deploy/rummyd.service."""

import configparser
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from service.settings import Settings, table
from tests.conftest import Lacking

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy" / "rummyd.service"
SPARE_S = 2
"""How long a server takes to end, beside the grace that calls have."""


CREDENTIAL = re.compile(r"^#(?=LoadCredential=|Environment=)", re.MULTILINE)
"""What makes remarks of the lines by which systemd reads files for the server."""


def unit() -> configparser.ConfigParser:
    """The unit, whose names are written in capitals and small letters."""
    parser = configparser.ConfigParser(strict=True, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment]
    parser.read_string(UNIT.read_text())
    return parser


@pytest.mark.parametrize("read", [False, True], ids=["as it is", "with files that are read for it"])
def test_the_unit_is_one_that_systemd_takes(tmp_path: Path, lacking: Lacking, read: bool) -> None:
    """With TLS or without, systemd has nothing to remark on in the unit, but that the clone may be elsewhere."""
    analyze = shutil.which("systemd-analyze") or lacking("no systemd-analyze is here: rummyd.service was not verified")
    copy = tmp_path / UNIT.name
    text = UNIT.read_text().replace(unit()["Service"]["ExecStart"], sys.executable)
    copy.write_text(CREDENTIAL.sub("", text) if read else text)
    done = subprocess.run([analyze, "verify", "--man=no", copy], capture_output=True, text=True, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if UNIT.name in line]) == (0, [])


def test_the_unit_lets_a_server_drain() -> None:
    """The unit waits longer for the end of a server than that needs to drain."""
    assert int(unit()["Service"]["TimeoutStopSec"]) > Settings().grace_seconds + SPARE_S


def test_what_systemd_reads_for_it_are_files_of_settings() -> None:
    """Each file that systemd may read for the server is named by a setting, and every such setting is among them."""
    text = CREDENTIAL.sub("", UNIT.read_text())
    read = re.findall(r"^LoadCredential=([^:]+):/", text, re.MULTILINE)
    words = " ".join(re.findall(r"^Environment=(.*)$", text, re.MULTILINE)).split()
    named = dict(word.split("=%d/") for word in words)
    assert list(named.values()) == read
    assert named.keys() == {"RUMMYD_API_KEYS_FILE"} | {
        row.variable for row in table() if row.variable.startswith("RUMMYD_TLS_")
    }


def test_the_guide_puts_things_where_the_unit_looks() -> None:
    """The clone, its program and the settings are where docs/operations.md puts them."""
    guide = (ROOT / "docs" / "operations.md").read_text()
    service = unit()["Service"]
    folder = service["ExecStart"].removesuffix("/.venv/bin/rummyd")
    assert f"git clone REPOSITORY {folder} " in guide
    assert f"cd {folder} && sudo make install" in guide
    assert f"sudo tee {service['EnvironmentFile']}" in guide


def test_the_guide_takes_every_limit_off() -> None:
    """The guide's words for a server without limits name each that counts calls, tables, streams or failures."""
    guide = (ROOT / "docs" / "operations.md").read_text()
    (told,) = re.findall(r"^for limit in ([A-Z_ ]+); do echo RUMMYD_LIMIT_\$limit=0; done", guide, re.MULTILINE)
    names = {row.variable.removeprefix("RUMMYD_LIMIT_") for row in table() if row.variable.startswith("RUMMYD_LIMIT_")}
    assert set(told.split()) == names - {"BURST_SECONDS"}


def test_an_upgrade_leaves_alone_what_runs(tmp_path: Path) -> None:
    """The guide's upgrade of a host puts a release beside the one that runs, which stays as it is, and starts it."""
    clone, drop_ins = tmp_path / "opt" / "rummyd", tmp_path / "etc" / "systemd" / "system"
    released(clone)
    guide = (ROOT / "docs" / "operations.md").read_text()
    found = re.search(r"```sh\n(cd /opt/rummyd && sudo git fetch.*?)```", guide, re.DOTALL)
    assert found
    script = found[1].replace("sudo ", "").replace("RELEASE", "v2")
    script = re.sub(r"/(opt|etc)/", rf"{tmp_path}/\1/", script)
    programs, told = tmp_path / "bin", tmp_path / "told"
    programs.mkdir()
    for name in ("make", "systemctl"):
        (programs / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {told}\n')
        (programs / name).chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    subprocess.run(["/bin/sh", "-ec", script], check=True, capture_output=True, env={**os.environ, "PATH": path})
    assert (clone / "release").read_text() == "v1"
    assert (tmp_path / "opt" / "rummyd-v2" / "release").read_text() == "v2"
    dropped = (drop_ins / "rummyd.service.d" / "release.conf").read_text().splitlines()
    assert dropped == ["[Service]", "ExecStart=", f"ExecStart={tmp_path}/opt/rummyd-v2/.venv/bin/rummyd"]
    assert told.read_text().splitlines() == [
        f"make -C {tmp_path}/opt/rummyd-v2 install PYTHON=/usr/bin/python3",
        "systemctl daemon-reload",
        "systemctl restart rummyd",
    ]


def released(clone: Path) -> None:
    """A clone with two releases, at the first of them."""
    clone.mkdir(parents=True)
    git = ["git", "-C", str(clone), "-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    for release in ("v1", "v2"):
        (clone / "release").write_text(release)
        subprocess.run([*git, "add", "release"], check=True)
        subprocess.run([*git, "commit", "-qm", release], check=True)
        subprocess.run([*git, "tag", release], check=True)
    subprocess.run([*git, "checkout", "-q", "v1"], check=True)
