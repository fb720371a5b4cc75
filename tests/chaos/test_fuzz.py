"""Nonsense from the network: no crash, no fault of the server's own, no state changed, and memory within bounds."""

import asyncio
import contextlib
import json
import random
import re
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from rummy.v1 import game_service_pb2 as pb
from rummy.v1.game_pb2 import Game

from service.embedded import EmbeddedRedis
from tests import servers
from tests.chaos.churn import memory_of
from tests.e2e.clients import RestClient
from tests.e2e.live import LONGEST_S, Rummyd
from tests.e2e.players import game_of, sit_down

ROUNDS = 300
MOST_GROWTH = 64 << 20
"""Bytes of memory that the server may take for whatever is sent here."""
METHODS = [f"/rummy.v1.GameService/{method.name}" for method in pb.DESCRIPTOR.services_by_name["GameService"].methods]


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    """A Redis of the test's own, so that nobody else changes what it holds."""
    with EmbeddedRedis() as server:
        yield server


@pytest.fixture
async def target(tmp_path: Path, redis: EmbeddedRedis) -> AsyncIterator[Rummyd]:
    """A server with a match under way. Afterwards it is as it was, and has logged no fault of its own."""
    with Rummyd(tmp_path, "--receive-seconds", "2", redis_url=redis.url) as server:
        async with contextlib.AsyncExitStack() as stack:
            match = await sit_down(stack, server, game_of(2), ["rest"])
            await match.play(5)
        stored, memory = contents(redis.url), memory_of(server.pid)
        yield server
        async with RestClient(server) as client:
            assert (await client.get(match.name)).state == Game.STATE_PLAYING
        assert contents(redis.url) == stored
        assert memory_of(server.pid) - memory < MOST_GROWTH


def contents(url: str) -> dict[bytes, object]:
    """Every key of the games with all that it holds, but for times to live, signs of life, their lack, and probes."""
    with servers.client(url) as client:
        commands: Any = client
        read = {
            b"hash": commands.hgetall,
            b"stream": commands.xrange,
            b"list": lambda key: commands.lrange(key, 0, -1),
            b"zset": lambda key: commands.zrange(key, 0, -1, withscores=True),
        }
        kinds = {key: commands.type(key) for key in commands.scan_iter() if not key.endswith(b":outages")}
        return {key: read[kind](key) for key, kind in kinds.items() if kind != b"string"}  # a sign of life is a string


async def raw(port: int, data: bytes, answer_s: float = 5.0) -> bytes:
    """What a server answers to these bytes before it hangs up, or in time."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = b""
    with contextlib.suppress(OSError, TimeoutError):
        writer.write(data)
        await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
        async with asyncio.timeout(answer_s):
            answer = await reader.read(1 << 20)
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return answer


def port_of(address: str) -> int:
    return int(re.findall(r":(\d+)", address)[-1])


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a process's memory is read from /proc")


async def test_random_bytes_on_both_ports(target: Rummyd) -> None:
    """Whatever bytes come to a port, none is answered with a fault of the server's."""
    chance = random.Random(1)  # noqa: S311 - fuzz
    for _ in range(ROUNDS // 10):
        data = chance.randbytes(chance.randint(1, 4000))
        assert b"HTTP/1.1 5" not in await raw(port_of(target.rest), data, 1.0)
        head = b"POST /v1/games HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        answer = await raw(port_of(target.rest), head % len(data) + data)
        assert answer.startswith(b"HTTP/1.1 4"), answer
        await raw(port_of(target.grpc), data, 1.0)
        await raw(port_of(target.grpc), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + data, 1.0)


async def test_random_messages_to_every_method(target: Rummyd) -> None:
    """Random bytes in place of a message, and messages with random bytes in them, are refused as bad requests."""
    chance = random.Random(2)  # noqa: S311 - fuzz
    async with grpc.aio.insecure_channel(target.grpc) as channel:
        for _ in range(ROUNDS):
            method = chance.choice([name for name in METHODS if not name.endswith("Observe")])
            call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(method)
            message = bytearray(pb.ActRequest(name="games/nothing", expected_version=3).SerializeToString())
            message[chance.randrange(len(message))] = chance.randrange(256)
            data = chance.choice([chance.randbytes(chance.randint(1, 300)), bytes(message)])
            with contextlib.suppress(grpc.aio.AioRpcError):
                sent = call(data, timeout=60)
                await sent
            assert await sent.code() not in {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN}, (method, data)


async def test_what_is_too_large_or_too_deep(target: Rummyd) -> None:
    """Bodies beyond the limit, and nesting that no message has, are refused; so are headers without an end."""
    deep = [b"[" * 20_000, b'{"a":' * 10_000, b'{"ruleSet":{"seats":' * 3_000 + b"1" + b"}}" * 3_000]
    large = json.dumps({"displayName": "x" * 10_000_000}).encode()
    async with httpx.AsyncClient(base_url=target.rest, timeout=60, trust_env=False) as http:
        for body in (*deep, large):
            answer = await http.post("/v1/games", content=body, headers={"content-type": "application/json"})
            assert 400 <= answer.status_code < 500, answer.text
    async with grpc.aio.insecure_channel(target.grpc) as channel:
        nested = b""
        for _ in range(2_000):
            nested = b"\x0a" + _varint(len(nested)) + nested
        for data, codes in (
            (nested, {grpc.StatusCode.INVALID_ARGUMENT}),
            (bytes(20_000_000), {grpc.StatusCode.RESOURCE_EXHAUSTED}),
        ):
            create: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(METHODS[0])
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await create(data, timeout=60)
            assert refused.value.code() in codes
    endless = b"GET /v1/games HTTP/1.1\r\n" + b"".join(b"x-%d: %s\r\n" % (n, b"y" * 1000) for n in range(100_000))
    assert b"HTTP/1.1 5" not in await raw(port_of(target.rest), endless)


async def test_slow_connections_hold_up_nobody(target: Rummyd) -> None:
    """Hundreds of connections that send a byte now and then hold up nobody, and those of REST are given up."""
    slow = [
        await asyncio.open_connection("127.0.0.1", port_of(address))
        for _ in range(150)
        for address in (target.rest, target.grpc)
    ]
    for letter in b"POST /v1/games HT":
        for _, writer in slow:
            writer.write(bytes([letter]))
        async with RestClient(target) as client:
            started = time.monotonic()
            await client.games()
            assert time.monotonic() - started < 30
    async with asyncio.timeout(LONGEST_S):
        for reader, _ in slow[::2]:
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
    for _, writer in slow:
        writer.close()


def _varint(number: int) -> bytes:
    """A length as protobuf writes it."""
    digits = bytearray()
    while number > 127:
        digits.append(number & 127 | 128)
        number >>= 7
    return bytes([*digits, number])
