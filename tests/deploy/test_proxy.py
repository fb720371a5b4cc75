"""The proxy of the compose file: deploy/proxy/nginx.conf in a real nginx, in front of two real servers."""

import asyncio
import json
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, aclosing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import grpc
import pytest
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.game_pb2 import Game
from rummy.v1.game_service_pb2_grpc import GameServiceStub

from clients.api import Api
from clients.demo.player import join
from clients.over_grpc import GrpcApi
from clients.over_rest import RestApi
from clients.retry import followed, retried
from tests import servers
from tests.conftest import Lacking
from tests.e2e.live import LONGEST_S, Rummyd
from tests.e2e.players import game_of, new_id
from tests.web import HTTP

CONFIGURATION = Path(__file__).parents[2] / "deploy" / "proxy" / "nginx.conf"


@dataclass
class Proxy:
    """Where it listens, in the words of a server."""

    rest: str
    grpc: str


@pytest.fixture
def pair(tmp_path: Path, redis_url: str) -> Iterator[list[Rummyd]]:
    """Two servers on one Redis."""
    with ExitStack() as stack:
        folders = [tmp_path / name for name in ("1", "2")]
        for folder in folders:
            folder.mkdir()
        yield [
            stack.enter_context(Rummyd(folder, "--heartbeat-seconds", "1", redis_url=redis_url)) for folder in folders
        ]


@pytest.fixture
def nginx(lacking: Lacking) -> str:
    """The program, which a machine has or has not."""
    return (
        shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
        or shutil.which("nginx")
        or lacking("no nginx is here: the proxy of the compose file was not tried")
    )


@contextmanager
def proxied(nginx: str, folder: Path, pair: list[Rummyd]) -> Iterator[Proxy]:
    """The proxy, with the servers' addresses in the place of those in the compose file's network."""
    rest, grpc = servers.free_ports(2)
    text = CONFIGURATION.read_text().replace("/tmp/", f"{folder}/")  # noqa: S108  the configuration says so
    for number, server in enumerate(pair, 1):
        text = text.replace(f"rummyd-{number}:8080", server.rest.removeprefix("http://"))
        text = text.replace(f"rummyd-{number}:50051", server.grpc)
    text = text.replace("listen 8080;", f"listen 127.0.0.1:{rest};").replace(
        "listen 50051;", f"listen 127.0.0.1:{grpc};"
    )
    assert "rummyd-" not in re.sub(r"#.*", "", text)
    if _version(nginx) < (1, 25, 1):
        text = text.replace(f"{grpc};\n        http2 on;", f"{grpc} http2;")
    written = folder / "nginx.conf"
    written.write_text(text)
    with subprocess.Popen([nginx, "-e", "stderr", "-p", folder, "-c", written, "-g", "daemon off;"]) as process:
        try:
            _listens(rest)
            yield Proxy(f"http://127.0.0.1:{rest}", f"127.0.0.1:{grpc}")
        finally:
            process.terminate()


async def test_a_match_through_the_proxy_outlives_servers(nginx: str, tmp_path: Path, pair: list[Rummyd]) -> None:
    """Players and watchers behind the proxy, who retry as the documentation says, outlive one server and the other."""
    with proxied(nginx, tmp_path, pair) as proxy:
        async with GrpcApi(proxy.grpc) as by_grpc, RestApi(proxy.rest) as by_rest:
            apis: list[Api] = [by_grpc, by_rest]
            wanted = pb.CreateGameRequest(game=game_of(4, deals=6), request_id=new_id())
            name = (await by_rest.create_game(wanted)).name
            players = [await join(apis[seat % 2], name, f"Player {seat}", pace_s=0.05) for seat in range(4)]
            playing = [asyncio.create_task(player.play()) for player in players]
            told: list[list[int]] = [[], []]
            playing += [asyncio.create_task(_watch(api, name, heard)) for api, heard in zip(apis, told, strict=True)]
            accidents: list[Callable[[], object]] = [pair[0].kill, pair[0].start, pair[1].kill]
            for accident in accidents:
                await _goes_on(told, playing)
                await asyncio.to_thread(accident)
            await _goes_on(told, playing)
            await asyncio.gather(*playing)
            final = await retried(partial(by_rest.get_game, pb.GetGameRequest(name=name)))
    assert final.state == Game.STATE_FINISHED
    for heard in told:
        assert heard == list(range(heard[0], final.version + 1))


def test_nobody_chooses_his_address(nginx: str, tmp_path: Path, redis_url: str) -> None:
    """Behind the proxy a caller's address is the one that the proxy sees, whatever he says of himself: limits hold."""
    limited = ("--trusted-proxies", "1", "--limit-tables-per-minute", "1")
    with Rummyd(tmp_path, *limited, redis_url=redis_url) as server, proxied(nginx, tmp_path, [server, server]) as proxy:
        claims = [f"192.0.2.{number}" for number in range(1, 41)]
        url = f"{proxy.rest}/v1/games"
        statuses = {
            HTTP.post(url, json={"seatCount": 2}, headers={"x-forwarded-for": claim}).status_code for claim in claims
        }
        assert statuses == {200, 429}
        with grpc.insecure_channel(proxy.grpc) as channel:
            for claim in claims:
                with pytest.raises(grpc.RpcError) as caught:
                    GameServiceStub(channel).CreateGame(
                        pb.CreateGameRequest(game=game_of(2)), metadata=(("x-forwarded-for", claim),)
                    )
                assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_a_crowd_watches_through_the_proxy(nginx: str, tmp_path: Path, pair: list[Rummyd]) -> None:
    """Seven hundred streams of events are open at once through the proxy, and each is told what happens."""
    with proxied(nginx, tmp_path, pair) as proxy:
        async with RestApi(proxy.rest) as api, AsyncExitStack() as stack:
            game = await api.create_game(pb.CreateGameRequest(game=game_of(2), request_id=new_id()))
            async with asyncio.timeout(LONGEST_S):
                streams = await asyncio.gather(*(_opened(proxy.rest, game.name, stack) for _ in range(700)))
                await join(api, game.name, "Ada")
                told = await asyncio.gather(*map(_next_batch, streams))
    assert set(told) == {game.version + 1}


async def _opened(rest: str, name: str, stack: AsyncExitStack) -> asyncio.StreamReader:
    """A stream of this table, open until the stack's end, of which something has come."""
    host, _, port = rest.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    stack.callback(writer.close)
    writer.write(f"GET /v1/{name}:observe HTTP/1.1\r\nhost: {host}\r\naccept: text/event-stream\r\n\r\n".encode())
    assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
    while await reader.readline() != b"event: snapshot\n":
        assert not reader.at_eof(), "there is no stream"
    return reader


async def _next_batch(stream: asyncio.StreamReader) -> int:
    """The version of the next batch that comes."""
    while (line := await stream.readline()) != b"event: batch\n":
        assert line, "the stream broke off"
    while not (line := await stream.readline()).startswith(b"data: "):
        assert line, "the stream broke off"
    version: int = json.loads(line.removeprefix(b"data: "))["batch"]["version"]
    return version


async def _watch(api: Api, name: str, heard: list[int]) -> None:
    """Keeps the version of each thing that a spectator is told."""
    async with aclosing(followed(api, name)) as news:
        async for item in news:
            heard.append(item.version)  # noqa: PERF401  others look at it meanwhile


async def _goes_on(told: list[list[int]], playing: list[asyncio.Task[None]]) -> None:
    """Waits until each watcher has been told of ten versions more."""
    wanted = max(len(heard) for heard in told) + 10
    async with asyncio.timeout(LONGEST_S):
        while min(len(heard) for heard in told) < wanted:
            for task in playing:
                assert not task.done(), "the match was over before the accident" if task.exception() is None else task
            await asyncio.sleep(0.01)


def _version(nginx: str) -> tuple[int, ...]:
    said = subprocess.run([nginx, "-v"], capture_output=True, text=True, check=True).stderr
    return tuple(map(int, re.findall(r"\d+", said)[:3]))


def _listens(port: int) -> None:
    """Waits until something does at this port."""
    deadline = time.monotonic() + LONGEST_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            assert time.monotonic() < deadline, "nginx does not listen"
            time.sleep(0.01)
        else:
            return
