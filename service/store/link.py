"""The way to the server: how its address is read, how a call is made, and which node serves a channel.

    redis://HOST:PORT/DB, rediss://…, unix://PATH           one server
    redis+sentinel://HOST:PORT,HOST:PORT/NAME, rediss+…     the master of that name, whichever Sentinels say it is
    redis+cluster://HOST:PORT, rediss+cluster://…           a cluster

`rediss` is TLS. The rest of the store does not know which of them it is. RESP2 is spoken: redis-py writes every RESP3
push, hands and all, to its debug log.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypedDict, TypeVar, cast

import msgspec
from redis.asyncio import BlockingConnectionPool, Connection, Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.commands.core import AsyncScript
from redis.exceptions import ConnectionError as ConnectionLost
from redis.exceptions import (
    MaxConnectionsError,
    MovedError,
    NoScriptError,
    RedisClusterException,
    RedisError,
    ResponseError,
)
from redis.exceptions import TimeoutError as TimedOut

from service.observability import metrics
from service.store.errors import BadAddress, StoreUnavailable
from service.store.sentinel import sentinel_pool

__all__ = ["FAULTS", "ClusterLink", "Limits", "Link", "ServerLink", "open_link"]

Reply = TypeVar("Reply")
Argument = str | bytes | memoryview | int

FAULTS: Final = (RedisError, RedisClusterException, OSError)
"""What redis-py raises where the server cannot be reached or refuses."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a link may take: seconds to connect and to answer a call, connections (on a cluster: per node).

    `replicas`: so many must have a commit before it is answered; they are waited for during half of `call_s`.
    """

    connect_s: float = 2.0
    call_s: float = 2.0
    connections: int = 64
    replicas: int = 0


def open_link(url: str, limits: Limits) -> "Link":
    """The link to the server at this address; nothing is sent yet. Raises BadAddress."""
    scheme, separator, rest = url.partition("://")
    base, _, kind = scheme.partition("+")
    try:
        if kind == "cluster" and base in ("redis", "rediss"):
            return ClusterLink(f"{base}{separator}{rest}", limits)
        if kind == "sentinel" and base in ("redis", "rediss"):
            return ServerLink(sentinel_pool(rest, tls=base == "rediss", options=_pool_options(limits)), limits)
        if not kind and base in ("redis", "rediss", "unix"):
            return ServerLink(BlockingConnectionPool.from_url(url, **_pool_options(limits)), limits)
    except (ValueError, *FAULTS) as error:
        raise BadAddress("the address of Redis cannot be read") from error
    raise BadAddress(
        "an address of Redis begins with redis://, rediss:// or unix://, or with redis+sentinel://, "
        "rediss+sentinel://, redis+cluster:// or rediss+cluster://"
    )


class Link:
    """A way to the server. `client` gives single commands and pipelines; only `call` and `run` send them."""

    client: Redis

    def __init__(self, limits: Limits) -> None:
        self.replicas = limits.replicas
        self._wait_ms = int(limits.call_s * 500)

    async def call(self, operation: str, send: Callable[[], Awaitable[Reply]]) -> Reply:
        """What the server answers to what `send` sends; `operation` names it in the metrics. Raises StoreUnavailable.

        It is sent once more where the connection is lost, since a server that was restarted is found out only so: what
        is sent must do the same when it is done twice. A server that is silent is not asked again.
        """
        with metrics.store_call(operation):
            try:
                try:
                    return await self._sent(send)
                except MaxConnectionsError:
                    raise  # nothing is lost: there are too many calls
                except ConnectionLost:
                    await self._find_anew()
                    return await self._sent(send)
            except FAULTS as error:
                raise StoreUnavailable(f"Redis: {_said(error)}") from error

    async def run(self, operation: str, script: AsyncScript, keys: Sequence[str], args: Sequence[Argument]) -> object:
        """What a script answers, once as many replicas as the limits ask for have what it wrote; see `call`.

        Raises StoreUnavailable where too few have it in time, whatever the script has answered. It has run then, and
        what it wrote stays, unless its server fails before a replica has it. The same round trip asks the replicas.
        """
        if not self.replicas:
            return await self.call(operation, lambda: script(keys=keys, args=args))

        async def send() -> object:
            reply, confirmed = await self._waited("EVALSHA", script.sha, len(keys), *keys, *args)
            if isinstance(reply, NoScriptError):
                reply, confirmed = await self._waited("EVAL", script.script, len(keys), *keys, *args)
            for answer in (reply, confirmed):
                if isinstance(answer, Exception):
                    raise answer
            if cast(int, confirmed) < self.replicas:
                text = f"{confirmed} of {self.replicas} replicas have confirmed in {self._wait_ms} ms"
                raise StoreUnavailable(f"Redis: {text}; what was asked for may be done, and may be lost")
            return reply

        return await self.call(operation, send)

    def node_of(self, channel: str) -> str:
        """The name of the node that serves a channel; raises StoreUnavailable where none does at the moment."""
        raise NotImplementedError

    def connection(self, node: str) -> AbstractConnection:
        """A new connection to a node, not yet connected and of no pool; raises StoreUnavailable for an unknown node."""
        raise NotImplementedError

    async def refresh(self) -> None:
        """Learn anew which node serves what; raises StoreUnavailable."""

    async def close(self) -> None:
        """Close all connections of the client."""
        await self.client.aclose()

    async def _sent(self, send: Callable[[], Awaitable[Reply]]) -> Reply:
        return await send()

    async def _find_anew(self) -> None:
        """A connection was lost: whoever serves now is to be found before the call is made again."""

    async def _waited(self, command: str, script: Argument, count: int, *words: Argument) -> Sequence[object]:
        """The answers, or errors, to a script's command, and to WAIT, sent behind it on the same connection."""
        pipe = self.client.pipeline(transaction=False)
        pipe.execute_command(command, script, count, *words)
        pipe.execute_command("WAIT", self.replicas, self._wait_ms)
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


class ClusterLink(Link):
    """The way to a cluster."""

    def __init__(self, url: str, limits: Limits) -> None:
        super().__init__(limits)
        self._cluster = RedisCluster.from_url(
            url,
            max_connections=limits.connections,
            socket_connect_timeout=limits.connect_s,
            socket_timeout=limits.call_s,
            retry=_never(),
            protocol=2,
            # Else, after some slots have moved, it closes all its connections, those of calls under way included.
            reinitialize_steps=0,
        )
        self._learning: asyncio.Task[None] | None = None
        # It has the same commands and pipelines; what else it lacks is not used.
        self.client = cast(Redis, self._cluster)

    def node_of(self, channel: str) -> str:
        """The primary that the channel's slot belongs to."""
        return str(self._primary_of(channel).name)

    def connection(self, node: str) -> AbstractConnection:
        """A new connection to that primary."""
        found: ClusterNode | None = self._cluster.get_node(node_name=node)
        if found is None:
            raise StoreUnavailable(f"Redis: the cluster has no node {node} any more")
        options: dict[str, object] = {**found.connection_kwargs, "retry": _never()}
        make = cast(Callable[..., Connection], found.connection_class)
        return make(**options)

    async def refresh(self) -> None:
        """Ask the cluster for its slots; all who want to know at the same time ask once."""
        asyncio.get_running_loop().set_exception_handler(_close_dropped)
        if self._learning is None or self._learning.done():
            self._learning = asyncio.create_task(self._cluster.nodes_manager.initialize())
            self._learning.add_done_callback(_heard)
        try:
            await asyncio.shield(self._learning)
        except FAULTS as error:
            raise StoreUnavailable(f"Redis: {_said(error)}") from error

    async def close(self) -> None:
        """Close all connections of the client, which by itself closes none while it is to learn the cluster anew."""
        if self._learning is not None:
            await asyncio.wait([self._learning])
        await super().close()
        for nodes in ("nodes_cache", "startup_nodes"):
            await self._cluster.nodes_manager.aclose(nodes)

    async def _sent(self, send: Callable[[], Awaitable[Reply]]) -> Reply:
        """Sends it. Whatever goes wrong that is no word of Redis's is a lost connection.

        When a node fails redis-py closes connections, to any node, that other calls use or are about to use, and those
        stumble over it in ways that nobody has written down. All that is sent may be sent again.
        """
        try:
            return await send()
        except (*FAULTS, StoreUnavailable):
            raise
        except Exception as error:
            raise ConnectionLost(f"closed while it was in use ({type(error).__name__})") from error

    async def _find_anew(self) -> None:
        """A replica may have taken the place of the primary that was lost."""
        await self.refresh()

    async def _waited(self, command: str, script: Argument, count: int, *words: Argument) -> Sequence[object]:
        """As on one server; both commands go to the primary of the first key."""
        pipe = self._cluster.pipeline()
        pipe.execute_command(command, script, count, *words)
        pipe.execute_command("WAIT", self.replicas, self._wait_ms, target_nodes=self._primary_of(str(words[0])))
        answers = cast(list[object], await pipe.execute(raise_on_error=False, allow_redirections=False))
        if isinstance(answers[0], MovedError):
            raise ConnectionLost("the slot is served elsewhere now")  # it is looked for, and sent again
        return answers

    def _primary_of(self, key: str) -> ClusterNode:
        try:
            node: ClusterNode | None = self._cluster.get_node_from_key(key)
        except FAULTS as error:
            raise StoreUnavailable(f"Redis: {_said(error)}") from error
        if node is None:
            raise StoreUnavailable("Redis: no node serves the slot")
        return node


class _PoolOptions(TypedDict):
    max_connections: int
    timeout: float
    socket_connect_timeout: float
    socket_timeout: float
    retry: Retry
    protocol: int


def _pool_options(limits: Limits) -> _PoolOptions:
    return {
        "max_connections": limits.connections,
        "timeout": limits.call_s,
        "socket_connect_timeout": limits.connect_s,
        "socket_timeout": limits.call_s,
        "retry": _never(),
        "protocol": 2,
    }


def _said(error: Exception) -> str:
    """What is told of an error, in a line of at most 200 characters.

    It goes into the log, and nothing of what was sent or stored may: neither the words of a command, which Redis
    repeats where it does not know it and redis-py where it fails in a pipeline, nor an answer that cannot be read.
    """
    if not isinstance(error, (ConnectionLost, TimedOut, ResponseError, RedisClusterException, OSError)):
        return type(error).__name__
    text = str(error).rpartition(" of pipeline caused error: ")[2]
    return text.partition(", with args")[0].partition("\n")[0][:200] or type(error).__name__


def _close_dropped(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Closes the connections of a node that is not of the cluster any more, and which the client has let go of.

    It closes those itself that no call uses then. Where a call had chosen the node before, and connects to it after,
    nobody does, and redis-py has the loop's handler told, as of an error, when the node is forgotten.
    """
    node = context.get("client")
    if isinstance(node, ClusterNode):
        loop.create_task(node.disconnect()).add_done_callback(_heard)
    else:
        loop.default_exception_handler(context)


def _heard(task: asyncio.Task[None]) -> None:
    """Its failure is no secret, though all who waited for it may have gone."""
    if not task.cancelled():
        task.exception()


def _never() -> Retry:
    """`call` decides what is sent again, and nothing below it."""
    return Retry(NoBackoff(), 0)
