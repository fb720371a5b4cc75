"""Backup and restore as docs/operations.md tells them: the append-only file is copied while people play."""

import asyncio
import os
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


LISTEN = ("--bind", "127.0.0.1", "--port")


def cli(lacking: Lacking) -> str:
    """The program that speaks to Redis."""
    return (
        shutil.which("valkey-cli") or shutil.which("redis-cli") or lacking("no redis-cli is here: no backup was made")
    )


def run(*words: str | Path, programs: Path | None = None) -> subprocess.CompletedProcess[str]:
    """What comes of deploy/backup.sh, read by a shell as it is in a container. `programs` has some that go before."""
    path = os.pathsep.join([*([str(programs)] if programs else []), os.environ["PATH"]])
    with SCRIPT.open() as script:
        return subprocess.run(
            ["/bin/sh", "-s", "--", *words],
            stdin=script,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )


def backing_up(folder: Path, program: str, port: int) -> list[str | Path]:
    """The words of a backup of the Redis at this port, from `folder`/live to `folder`/copy."""
    return [folder / "live" / "appendonlydir", folder / "copy", program, "-p", str(port)]


async def test_a_restored_backup_is_played_on(tmp_path: Path, lacking: Lacking) -> None:
    """A copy made under way has every act acknowledged before it; its match goes on with the same tokens to its end."""
    live, restored = tmp_path / "live", tmp_path / "restored"
    (port,) = servers.free_ports(1)
    async with AsyncExitStack() as stack:
        origin = stack.enter_context(EmbeddedRedis(live, [*LISTEN, str(port)]))
        server = stack.enter_context(Rummyd(_made(tmp_path / "1"), redis_url=origin.url))
        match = await sit_down(stack, server, game_of(3, deals=3), ["grpc", "rest"])
        await match.play(20)
        acknowledged = match.acts[-1][1].version
        playing = asyncio.create_task(match.play(100))
        words: list[str | Path] = [live / "appendonlydir", restored / "appendonlydir", cli(lacking), "-p", str(port)]
        done = await asyncio.to_thread(run, *words)
        await playing
        assert done.returncode == 0, done.stderr
        assert "appendonly.aof.manifest" in done.stdout
        assert [path for path in restored.rglob("*") if path.stat().st_mode & 0o077] == [], "others may read it"
        tokens = [player.token for player in match.players]
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
    (tmp_path / "live").mkdir()
    (tmp_path / "live" / "appendonly.aof.manifest").touch()
    for source, target in ((tmp_path / "live", tmp_path / "there"), (tmp_path / "none", tmp_path / "new")):
        done = run(source, target, "echo", "aof_enabled:1")
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith("backup: ")
    assert {path.name for path in tmp_path.iterdir()} == {"there", "live"}


def test_a_rewrite_of_the_file_meanwhile_is_no_harm(tmp_path: Path, lacking: Lacking) -> None:
    """Where Redis replaces a file that is to be copied next, the copy is begun again, and has everything."""
    (port,) = servers.free_ports(1)
    shim = _made(tmp_path / "bin") / "cp"
    shim.write_text(
        f"""#!/bin/sh
        case $1 in *.base.*) if mkdir {tmp_path}/rewritten 2> /dev/null; then
            {cli(lacking)} -p {port} bgrewriteaof > /dev/null
            while [ -e "$1" ]; do sleep 0.1; done
        fi;; esac
        PATH=/usr/bin:/bin exec cp "$@"
        """
    )
    shim.chmod(0o755)
    with EmbeddedRedis(tmp_path / "live", [*LISTEN, str(port)]) as origin, redis.Redis.from_url(origin.url) as client:
        client.set("acknowledged", "yes")
        words = backing_up(tmp_path, cli(lacking), port)
        done = run(*words, programs=shim.parent)
    assert (done.returncode, done.stderr.count("No such file")) == (0, 1), done.stderr
    assert (tmp_path / "rewritten").exists()
    (tmp_path / "restored").mkdir()
    (tmp_path / "copy").rename(tmp_path / "restored" / "appendonlydir")
    with EmbeddedRedis(tmp_path / "restored") as copy, redis.Redis.from_url(copy.url) as client:
        assert client.get("acknowledged") == b"yes"


def test_what_a_broken_run_left_is_no_backup(tmp_path: Path, lacking: Lacking) -> None:
    """What a run that broke off has left, or one that still runs has made, is not added to and passed off as whole."""
    (port,) = servers.free_ports(1)
    with EmbeddedRedis(tmp_path / "live", [*LISTEN, str(port)]):
        words = backing_up(tmp_path, cli(lacking), port)
        left = _made(tmp_path / "copy.part") / "appendonly.aof.1.incr.aof"
        left.touch()
        done = run(*words)
        assert done.returncode == 1
        assert "copy.part is there already" in done.stderr
        assert not (tmp_path / "copy").exists()
        assert left.exists()
        left.unlink()
        left.parent.rmdir()
        assert run(*words).returncode == 0
        assert {path.name for path in tmp_path.iterdir()} == {"live", "copy"}


def test_no_backup_is_whole_that_lacks_a_file(tmp_path: Path, lacking: Lacking) -> None:
    """Where a file cannot be copied the script fails, and leaves neither a backup nor a part of one."""
    (port,) = servers.free_ports(1)
    with EmbeddedRedis(tmp_path / "live", [*LISTEN, str(port)]):
        folder = tmp_path / "live" / "appendonlydir"
        with (folder / "appendonly.aof.manifest").open("a") as manifest:
            manifest.write("file appendonly.aof.9.incr.aof seq 9 type i\n")
        done = run(*backing_up(tmp_path, cli(lacking), port))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"backup: {folder} cannot be copied"
    assert [path.name for path in tmp_path.iterdir()] == ["live"]


def test_a_redis_that_writes_no_file_is_not_backed_up(tmp_path: Path, lacking: Lacking) -> None:
    """A file that Redis writes no more is old: the script says so, and makes no backup of it."""
    (port,) = servers.free_ports(1)
    with EmbeddedRedis(tmp_path / "live", [*LISTEN, str(port)]) as origin:
        with redis.Redis.from_url(origin.url) as client:
            client.config_set("appendonly", "no")
        done = run(*backing_up(tmp_path, cli(lacking), port))
    assert (done.returncode, done.stderr) == (
        1,
        "backup: this Redis writes no append-only file, or does not answer\n",
    )
    assert [path.name for path in tmp_path.iterdir()] == ["live"]


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
