"""The integrator's guide, held to the product: its calls are made, and what it shows is what they answer."""

import asyncio
import hashlib
import json
import os
import re
import secrets
import shutil
import signal
from asyncio.subprocess import PIPE
from functools import partial
from typing import Any

import pytest

from engine.shuffle import SEED_SIZE
from service import server
from service.games.desk import Desk
from tests.e2e.here import served
from tests.e2e.live import LONGEST_S, ROOT

GUIDE = (ROOT / "docs" / "api.md").read_text()
PAIRS = re.findall(r"^```sh\n(.*?)^```\n+```(\w*)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
SEED = hashlib.sha256(b"docs/api.md 1").digest()
"""Deals the cards that the guide shows."""
VARIES = {"name", "token", "epoch", "commitTime", "mark"}
"""What is another each time."""


def chance(size: int) -> bytes:
    """Random bytes, but for seeds."""
    return SEED if size == SEED_SIZE else secrets.token_bytes(size)


async def test_a_game_call_by_call(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call of the guide, made one after the other, is answered as it shows."""
    assert shutil.which("curl"), "the guide needs curl"
    assert len(PAIRS) == GUIDE.count("\n```sh\n") == 9
    monkeypatch.setattr(server, "Desk", partial(Desk, chance=chance))
    mine: dict[str, str] = {}
    known = ""
    async with served(redis_url) as here:
        mine["http://127.0.0.1:8080"] = here.rest
        for printed, language, shown in PAIRS:
            program = re.sub("|".join(map(re.escape, mine)), lambda found: mine[found[0]], printed)
            said = await run(known + program, lines=0 if language else shown.count("\n"))
            known += "".join(re.findall(r"^\w+=.*\n", program, re.MULTILINE))
            for wanted, line in zip([shown] if language else shown.splitlines(), said.splitlines(), strict=True):
                assert fits(read(wanted), read(line), mine), f"{program}{line}"


async def run(program: str, lines: int) -> str:
    """What a program prints: so many lines of it, or all (0)."""
    made = await asyncio.create_subprocess_exec("sh", "-euc", program, stdout=PIPE, start_new_session=True)
    assert made.stdout
    async with asyncio.timeout(LONGEST_S):
        try:
            if not lines:
                return (await made.stdout.read()).decode()
            return "".join([(await made.stdout.readline()).decode() for _ in range(lines)])
        finally:
            if lines:
                os.killpg(made.pid, signal.SIGKILL)
            await made.wait()


def read(text: str) -> Any:
    """A line of an answer or of a stream; what is left out of an object is its field `…`."""
    if text.startswith("{"):
        return json.loads(text.replace("…", '"…": 0'))
    name, _, value = text.partition(": ")
    if name == "id":
        epoch, version, mark = value.split(".")
        return {"epoch": epoch, "version": version, "mark": mark}
    return {name: read(value) if value.startswith("{") else value}


def fits(wanted: Any, said: Any, mine: dict[str, str], key: str = "") -> bool:
    """Whether what was said is what the guide shows, but for values that vary: `mine` has ours for the guide's."""
    match wanted:
        case dict():
            shown = wanted.keys() - {"…"}
            complete = shown == said.keys() or (wanted.keys() != shown and shown <= said.keys())
            return bool(complete) and all(fits(wanted[name], said[name], mine, name) for name in shown)
        case list():
            return len(wanted) == len(said) and all(fits(*pair, mine, key) for pair in zip(wanted, said, strict=True))
        case str() if key in VARIES:
            return mine.setdefault(wanted, str(said)) == str(said)
    same: bool = wanted == said
    return same
