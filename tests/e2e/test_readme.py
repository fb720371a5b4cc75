"""The README and the docs, held to the product: programs are run, what is shown is compared, links are followed."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.settings import Settings
from tests.e2e.live import LONGEST_S, ROOT, Rummyd

README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(language: str, page: str = README) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def run(command: list[str], program: str, server: Rummyd) -> str:
    """What a program out of the README prints, with the live server's addresses in place of the usual ones."""
    program = program.replace("http://127.0.0.1:8080", server.rest).replace("127.0.0.1:50051", server.grpc)
    program = program.replace(".venv/bin/python", sys.executable)
    done = subprocess.run(
        [*command, "-c", program], check=False, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_python(rummyd: Rummyd) -> None:
    """The Python program plays a whole match, in about ten lines, and prints who won."""
    (program,) = blocks("python")
    statements = [line for line in program.splitlines() if line and not line.startswith(("import ", "from "))]
    assert len(statements) <= 10
    assert re.search(
        r"^winners: \[.*\] scores: \[-?\d+, -?\d+\]$", run([sys.executable], program, rummyd), re.MULTILINE
    )


def test_curl(rummyd: Rummyd, tmp_path: Path) -> None:
    """The lines with curl play a whole match, use house rules, play the match again from its replay, and watch."""
    assert shutil.which("curl"), "the README needs curl"
    programs = blocks("sh")
    assert "python" not in programs[0]
    said = run(
        ["sh", "-eu"], "\necho ----\n".join(programs).replace("match.json", str(tmp_path / "match.json")), rummyd
    )
    played, ruled, met, replayed, watched = said.split("----\n")
    token, found, again = met.splitlines()
    assert token.startswith("rst_")
    assert json.loads(found)["visibility"] == "VISIBILITY_PRIVATE"
    assert (json.loads(again)["seat"], json.loads(again)["game"]["state"]) == (0, "STATE_OPEN")
    assert "match.json: " in replayed
    *actions, result = played.strip().splitlines()
    assert len(actions) > 10
    assert [line for line in actions if len(json.loads(line)) != 1] == []
    assert re.match(r'"result":\{"winners":\[.*\],"scores":\[\d+,\d+\]', result)
    presets, checked, created = _documents(ruled)
    assert [rules["preset"] for rules in presets["ruleSets"]][:3] == ["basic", "rummy500", "pool500"]
    assert [fault["field"] for fault in checked["faults"]] == ["hand_size", "deals"]
    assert checked["faults"][0]["description"].startswith("4 players are dealt")
    assert created["ruleSet"]["deals"] == 3
    assert created["state"] == "STATE_OPEN"
    assert watched.count("event: end") == 2
    assert watched.startswith("retry: ")
    # A long match has more pages.
    assert re.search(r'"more":(false,"over":true|true,"over":false),"mark":"[0-9a-f]{16}"\}$', watched.rstrip())
    assert "event: snapshot" in watched


def test_capacity() -> None:
    """What the README claims of players and watchers is true of the figures in the docs."""
    late_claim = "over gRPC half of all acts reach their watchers within 5 ms"
    claims = "A thousand active players take less than one core", late_claim
    assert [claim for claim in claims if claim not in " ".join(README.split())] == []
    figures = (ROOT / "docs" / "operations.md").read_text().split("| 1,000 active players |")[1].split("\n\n")[0]
    (busy,) = re.findall(r"^\| server \| ([\d.]+) % of a core \| ([\d.]+) % of a core \|$", figures, re.MULTILINE)
    assert [share for share in map(float, busy) if share >= 100] == []
    (late,) = re.findall(r"^\| act to observer[^:|]*: .*? \| ([\d.]+) ms, ", figures, re.MULTILINE)
    assert float(late) <= 5


def test_error(rummyd: Rummyd) -> None:
    """The error that the README shows is, word for word, what the server answers."""
    (shown,) = blocks("json")
    with httpx.Client(base_url=f"{rummyd.rest}/v1/", trust_env=False, timeout=LONGEST_S) as http:
        game = http.post("games", json={"seatCount": 2}).json()["name"]
        tokens = [http.post(f"{game}:join", json={"displayName": name}).json()["token"] for name in ("Ada", "Ben")]
        answer = http.post(
            f"{game}:act", json={"actions": [{"draw": {}}]}, headers={"authorization": f"Bearer {tokens[1]}"}
        )
    assert answer.json() == json.loads(shown)


def test_make_targets() -> None:
    """Every `make` command in the pages is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"(?:^ +|`)make ([a-z]+)", page.read_text(), re.MULTILINE)}
    assert {"run", "test", "demo"} <= named <= targets


def test_ports() -> None:
    """The ports that the README names are those that a server takes by itself."""
    usual = Settings()
    assert f"gRPC on {usual.grpc_port}, REST and docs on {usual.rest_port}, metrics on {usual.metrics_port}" in README


def test_map() -> None:
    """Every path in the README's map is there."""
    section = README.split("## Where things live")[1].split("\n\n[")[0]
    for line in section.strip().splitlines():
        folder, text = line.split(maxsplit=1)
        named = [folder, *(folder + part for part in re.findall(r"\b[\w/]+/(?=[ ,;(:]|$)|\b\w+\.(?:py|md)\b", text))]
        for path in named:
            assert (ROOT / path).exists(), path


def test_numbers() -> None:
    """The limits that the guide names are those of a server that is set in no other way."""
    usual, guide = Settings(), " ".join((ROOT / "docs" / "api.md").read_text().split())
    assert f"the last {usual.history_length} versions of a table" in guide
    assert f"after every {usual.heartbeat_seconds:g} seconds of silence" in guide
    assert f"A request may have {usual.max_request_bytes // 1024} KiB" in guide
    burst = usual.limit_burst_seconds
    for limit, said in {
        "calls_per_second": f"{usual.limit_calls_per_second:g}, and {usual.limit_calls_per_second * burst:g} at once",
        "acts_per_second": f"{usual.limit_acts_per_second:g}, and {usual.limit_acts_per_second * burst:g} at once",
        "tables_per_minute": f"{usual.limit_tables_per_minute:g}, as many at once",
        "failures_per_minute": f"{usual.limit_failures_per_minute:g}",
        "streams_per_caller": f"{usual.limit_streams_per_caller}",
        "watchers_per_table": f"{usual.limit_watchers_per_table}",
    }.items():
        assert f"| `{limit}` | {said} |" in guide


def test_tables() -> None:
    """The tables of errors, settings and metrics in the docs are those of the sources."""
    done = subprocess.run([sys.executable, "tools/tables.py", "check"], cwd=ROOT, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page: Path) -> None:
    """Every link to a file of ours leads somewhere."""
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / link).exists(), link


def _documents(text: str) -> list[dict[str, Any]]:
    """The JSON documents that stand one after the other."""
    decoder, found = json.JSONDecoder(), []
    while text := text.strip():
        document, end = decoder.raw_decode(text)
        found.append(document)
        text = text[end:]
    return found
