"""Backup and restore as docs/operations.md tells them: the append-only file is copied while people play."""

import asyncio
import shutil
import subprocess
from contextlib import AsyncExitStack
from pathlib import Path

import redis
from rummy.v1.game_pb2 import Game

from service.embedded import EmbeddedRedis
from tests import servers
from tests.conftest import Lacking
from tests.e2e.live import Rummyd
from tests.e2e.players import game_of, sit_down

SCRIPT = Path(__file__).parents[2] / "deploy" / "backup.sh"


def backed_up(port: int, data: Path, backup: Path, lacking: Lacking) -> str:
    """What deploy/backup.sh says, of a Redis at this port with its files in `data`."""
    cli = shutil.which("valkey-cli") or shutil.which("redis-cli") or lacking("no redis-cli is here: no backup was made")
    done = subprocess.run(
        [SCRIPT, data / "appendonlydir", backup, cli, "-p", str(port)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


async def test_a_restored_backup_is_played_on(tmp_path: Path, lacking: Lacking) -> None:
    """A copy made under way has every act acknowledged before it; its match goes on with the same tokens to its end."""
    live, restored = tmp_path / "live", tmp_path / "restored"
    (port,) = servers.free_ports(1)
    options = ["--port", str(port), "--bind", "127.0.0.1"]
    async with AsyncExitStack() as stack:
        origin = stack.enter_context(EmbeddedRedis(live, options))
        server = stack.enter_context(Rummyd(_made(tmp_path / "1"), redis_url=origin.url))
        match = await sit_down(stack, server, game_of(3, deals=3), ["grpc", "rest"])
        await match.play(20)
        acknowledged = match.acts[-1][1].version
        playing = asyncio.create_task(match.play(100))
        said = await asyncio.to_thread(backed_up, port, live, restored / "appendonlydir", lacking)
        await playing
        assert "appendonly.aof.manifest" in said
        assert [path for path in restored.rglob("*") if path.stat().st_mode & 0o077] == [], "others may read it"
        tokens = [player.token for player in match.players]
        with redis.Redis(port=port) as client:
            assert client.config_get("auto-aof-rewrite-percentage") == {"auto-aof-rewrite-percentage": "100"}
    async with AsyncExitStack() as stack:
        copy = stack.enter_context(EmbeddedRedis(restored))
        server = stack.enter_context(Rummyd(_made(tmp_path / "2"), redis_url=copy.url))
        successor = await sit_down(stack, server, game_of(3), ["grpc", "rest"])
        for player, token in zip(successor.players, tokens, strict=True):
            player.token = token
        successor.name = match.name
        game = await successor.players[0].get(match.name)
        assert acknowledged <= game.version <= match.acts[-1][1].version
        await successor.play()
        assert (await successor.players[0].get(match.name)).state == Game.STATE_FINISHED


def test_a_backup_in_the_way_is_left_alone(tmp_path: Path) -> None:
    """Where there is a backup already, or nothing to back up, the script says so in one line and changes nothing."""
    (tmp_path / "there").mkdir()
    for source, target in ((tmp_path / "there", tmp_path / "there"), (tmp_path / "none", tmp_path / "new")):
        done = subprocess.run(
            ["/bin/sh", SCRIPT, source, target, "true"], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith("backup: ")
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
