"""The way to the server: how a call is made, and which node serves a channel.

`address` opens one; whether it leads to one server or to a cluster (`cluster`), the rest of the store does not know.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, TypeVar, cast

import msgspec
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.client import Pipeline
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.commands.core import AsyncScript
from redis.exceptions import ConnectionError as ConnectionLost
from redis.exceptions import (
    MaxConnectionsError,
    NoScriptError,
    RedisClusterException,
    RedisError,
    ResponseError,
)
from redis.exceptions import TimeoutError as TimedOut

from service.observability import metrics
from service.store.errors import StoreUnavailable

__all__ = ["FAULTS", "Argument", "Limits", "Link", "Reply", "ServerLink", "never", "said"]

Reply = TypeVar("Reply")
Argument = str | bytes | memoryview | int
Answers = dict[str, Any]
"""What was answered about each key."""

FAULTS: Final = (RedisError, RedisClusterException, OSError)
"""What redis-py raises where the server cannot be reached or refuses."""
_AGAIN_S: Final = 0.05


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a link may take: seconds to connect, seconds for a whole call, connections (on a cluster: per node).

    A call has its seconds for all that it takes: a free connection, the connecting, the answer, and being sent again.
    `replicas`: so many must have a commit before it is answered; they are waited for during half of `call_s`.
    """

    connect_s: float = 2.0
    call_s: float = 2.0
    connections: int = 64
    replicas: int = 0


class Link:
    """A way to the server. `client` gives single commands and pipelines; `call`, `each` and `run` alone send them."""

    client: Redis

    def __init__(self, limits: Limits) -> None:
        self.replicas = limits.replicas
        self._call_s = limits.call_s
        self._wait_ms = int(limits.call_s * 500)

    async def call(self, operation: str, keys: Iterable[str], send: Callable[[], Awaitable[Reply]]) -> Reply:
        """What the server answers to what `send` sends. Raises StoreUnavailable.

        `operation` names it in the metrics; `keys` are those that it is about, by which its nodes are known. It waits
        for a free connection where all are in use.

        It is sent once more where the connection is lost, since a server that was restarted is found out only so: what
        is sent must do the same when it is done twice. A server that is silent is not asked again.
        """
        with metrics.store_call(operation):
            try:
                # Told twice: in Python 3.11 `wait_for`, in which redis-py sends, may swallow the first telling.
                async with asyncio.timeout(self._call_s + _AGAIN_S), asyncio.timeout(self._call_s) as deadline:
                    try:
                        return await self._sent(keys, send)
                    except MaxConnectionsError:
                        raise  # nothing is lost: there are too many calls
                    except ConnectionLost:
                        if deadline.expired():
                            raise
                        await self._find_anew()
                        metrics.store_resends.labels(operation).inc()
                        return await self._sent(keys, send)
            except FAULTS as error:
                text = f"no answer in {self._call_s:g} s" if deadline.expired() else said(error)
                raise StoreUnavailable(f"Redis: {text}") from error

    async def each(self, operation: str, keys: Sequence[str], command: Callable[[Pipeline, str], object]) -> Answers:
        """What the server answers to a command about each key, in a round trip for each node; see `call`.

        Keys of a node that does not answer are missing. Raises StoreUnavailable where none does.
        """
        parts = defaultdict[str, list[str]](list)
        for key in keys:
            parts[self._node_if_any(key)].append(key)
        answers = await asyncio.gather(
            *(self._part(operation, part, command) for part in parts.values()), return_exceptions=True
        )
        found, faults = dict[str, Any](), list[StoreUnavailable]()
        for answer in answers:
            if isinstance(answer, StoreUnavailable):
                faults.append(answer)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                found |= answer
        if faults and not found:
            raise faults[0]
        return found

    async def _part(self, operation: str, keys: Sequence[str], command: Callable[[Pipeline, str], object]) -> Answers:
        async def send() -> list[object]:
            pipe = self.client.pipeline(transaction=False)
            for key in keys:
                command(pipe, key)
            return cast(list[object], await pipe.execute())

        return dict(zip(keys, await self.call(operation, keys, send), strict=True))

    def _node_if_any(self, key: str) -> str:
        try:
            return self.node_of(key)
        except StoreUnavailable:
            return ""

    async def run(
        self,
        operation: str,
        script: AsyncScript,
        keys: Sequence[str],
        args: Sequence[Argument],
        sent_again: int | None = None,
    ) -> object:
        """What a script answers, once as many replicas as the limits ask for have what it wrote; see `call`.

        The argument at `sent_again` is 1 instead where the call is sent again, its answer having been lost.
        Raises StoreUnavailable where too few have it in time, whatever the script has answered. It has run then, and
        what it wrote stays, unless its server fails before a replica has it. The same round trip asks the replicas.
        """
        words = [*args]

        async def send() -> object:
            now = tuple(words)
            if sent_again is not None:
                words[sent_again] = 1
            return await self._run(script, keys, now)

        return await self.call(operation, keys, send)

    async def evaluate(self, script: AsyncScript, keys: Sequence[str], args: Sequence[Argument]) -> object:
        """What a script answers; for `call`. Only the server that it is for learns it, and only where it has to.

        redis-py's own way has every node of a cluster learn it, over and over again where many calls find it unknown.
        """
        try:
            return await self.client.evalsha(script.sha, len(keys), *keys, *args)
        except NoScriptError:
            return await self.client.eval(cast(str, script.script), len(keys), *keys, *args)

    async def _run(self, script: AsyncScript, keys: Sequence[str], args: Sequence[Argument]) -> object:
        """Sends a script once, and again only where the server does not know it yet."""
        if not self.replicas:
            return await self.evaluate(script, keys, args)
        asked = time.monotonic()
        reply, confirmed = await self._waited(self._wait_ms, "EVALSHA", script.sha, len(keys), *keys, *args)
        if isinstance(reply, NoScriptError):
            left_ms = max(self._wait_ms - int((time.monotonic() - asked) * 1000), 1)  # 0 would be for ever
            reply, confirmed = await self._waited(left_ms, "EVAL", script.script, len(keys), *keys, *args)
        for answer in (reply, confirmed):
            if isinstance(answer, Exception):
                raise answer
        if cast(int, confirmed) < self.replicas:
            text = f"{confirmed} of {self.replicas} replicas have confirmed in {self._wait_ms} ms"
            raise StoreUnavailable(f"Redis: {text}; what was asked for may be done, and may be lost")
        return reply

    def node_of(self, channel: str) -> str:
        """The name of the node that serves a channel; raises StoreUnavailable where none does at the moment."""
        raise NotImplementedError

    def connection(self, node: str) -> AbstractConnection:
        """A new connection to a node, not yet connected and of no pool; raises StoreUnavailable for an unknown node."""
        raise NotImplementedError

    async def refresh(self) -> None:
        """Learns anew which node serves what; raises StoreUnavailable."""

    async def close(self) -> None:
        """Closes all connections of the client."""
        await self.client.aclose()

    async def _sent(self, keys: Iterable[str], send: Callable[[], Awaitable[Reply]]) -> Reply:  # noqa: ARG002
        """Sends it, once there is a free connection to the node of each key.

        Whatever goes wrong that is no word of Redis's is a lost connection. Connections end while calls use them or are
        about to, and redis-py closes those of others when a node fails. Both it and the event loop then raise what
        nobody has written down. All that is sent may be sent again.
        """
        try:
            return await send()
        except (*FAULTS, StoreUnavailable):
            raise
        except Exception as error:
            raise ConnectionLost(f"closed while it was in use ({type(error).__name__})") from error

    async def _find_anew(self) -> None:
        """A connection was lost: whoever serves now is to be found before the call is made again."""

    async def _waited(
        self, wait_ms: int, command: str, script: Argument, count: int, *words: Argument
    ) -> Sequence[object]:
        """The answers, or errors, to a script's command, and to WAIT, sent behind it on the same connection."""
        pipe = self.client.pipeline(transaction=False)
        pipe.execute_command(command, script, count, *words)
        pipe.execute_command("WAIT", self.replicas, wait_ms)
        return cast(list[object], await pipe.execute(raise_on_error=False))


class ServerLink(Link):
    """The way to one server, or to the one that Sentinels name."""

    def __init__(self, pool: BlockingConnectionPool, limits: Limits) -> None:
        super().__init__(limits)
        self._pool = pool
        self.client = Redis.from_pool(pool)

    def node_of(self, channel: str) -> str:  # noqa: ARG002 - one node serves all
        """There is only one."""
        return "server"

    def connection(self, node: str) -> AbstractConnection:  # noqa: ARG002 - there is only one
        """A new connection to the server."""
        make = cast(Callable[[], AbstractConnection], self._pool.make_connection)
        return make()


def said(error: Exception) -> str:
    """What is told of an error, in a line of at most 200 characters.

    It goes into the log, and nothing of what was sent or stored may: neither the words of a command, which Redis
    repeats where it does not know it and redis-py where it fails in a pipeline, nor an answer that cannot be read.
    """
    if not isinstance(error, (ConnectionLost, TimedOut, ResponseError, RedisClusterException, OSError)):
        return type(error).__name__
    text = str(error).rpartition(" of pipeline caused error: ")[2]
    return text.partition(", with args")[0].partition("\n")[0][:200] or type(error).__name__


def never() -> Retry:
    """`call` decides what is sent again, and nothing below it."""
    return Retry(NoBackoff(), 0)
