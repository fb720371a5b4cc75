"""The way to the server: how its address is read, how a call is made, and which node serves a channel.

A link is to one server (`redis://`, `rediss://`, `unix://`) or to a cluster (`redis+cluster://`, `rediss+cluster://`);
the rest of the store does not know which. RESP2 is spoken: redis-py writes every RESP3 push, hands and all, to its
debug log.
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar, cast

import msgspec
from redis.asyncio import BlockingConnectionPool, Connection, Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as ConnectionLost
from redis.exceptions import RedisClusterException, RedisError

from service.observability import metrics
from service.store.errors import BadAddress, StoreUnavailable

__all__ = ["FAULTS", "ClusterLink", "Limits", "Link", "ServerLink", "open_link"]

Reply = TypeVar("Reply")

FAULTS: Final = (RedisError, RedisClusterException, OSError)
"""What redis-py raises where the server cannot be reached or refuses."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a link may take: seconds to connect and to answer a call, connections (on a cluster: per node)."""

    connect_s: float = 2.0
    call_s: float = 2.0
    connections: int = 64


def open_link(url: str, limits: Limits) -> "Link":
    """The link to the server at this address; nothing is sent yet. Raises BadAddress."""
    scheme, separator, rest = url.partition("://")
    base, _, kind = scheme.partition("+")
    try:
        if kind == "cluster" and base in ("redis", "rediss"):
            return ClusterLink(f"{base}{separator}{rest}", limits)
        if not kind and base in ("redis", "rediss", "unix"):
            return ServerLink(url, limits)
    except (ValueError, *FAULTS) as error:
        raise BadAddress("the address of Redis cannot be read") from error
    raise BadAddress(
        "an address of Redis begins with redis://, rediss://, unix://, redis+cluster:// or rediss+cluster://"
    )


class Link:
    """A way to the server. `client` gives single commands and pipelines; only `call` sends them."""

    client: Redis

    async def call(self, operation: str, send: Callable[[], Awaitable[Reply]]) -> Reply:
        """What the server answers to what `send` sends; `operation` names it in the metrics. Raises StoreUnavailable.

        It is sent once more where the connection is lost, since a server that was restarted is found out only so: what
        is sent must do the same when it is done twice. A server that is silent is not asked again.
        """
        with metrics.store_call(operation):
            try:
                try:
                    return await send()
                except ConnectionLost:
                    return await send()
            except FAULTS as error:
                raise StoreUnavailable(f"Redis: {str(error) or type(error).__name__}") from error

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


class ServerLink(Link):
    """The way to one server."""

    def __init__(self, url: str, limits: Limits) -> None:
        self._pool = BlockingConnectionPool.from_url(
            url,
            max_connections=limits.connections,
            timeout=limits.call_s,
            socket_connect_timeout=limits.connect_s,
            socket_timeout=limits.call_s,
            retry=_never(),
            protocol=2,
        )
        self.client = Redis.from_pool(self._pool)

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
        # It has the same commands and pipelines; what else it lacks is not used.
        self.client = cast(Redis, self._cluster)

    def node_of(self, channel: str) -> str:
        """The primary that the channel's slot belongs to."""
        try:
            node: ClusterNode | None = self._cluster.get_node_from_key(channel)
        except FAULTS as error:
            raise StoreUnavailable(f"Redis: {error}") from error
        if node is None:
            raise StoreUnavailable("Redis: no node serves the channel")
        return str(node.name)

    def connection(self, node: str) -> AbstractConnection:
        """A new connection to that primary."""
        found: ClusterNode | None = self._cluster.get_node(node_name=node)
        if found is None:
            raise StoreUnavailable(f"Redis: the cluster has no node {node} any more")
        options: dict[str, object] = {**found.connection_kwargs, "retry": _never()}
        make = cast(Callable[..., Connection], found.connection_class)
        return make(**options)

    async def refresh(self) -> None:
        """Ask the cluster for its slots."""
        try:
            await self._cluster.nodes_manager.initialize()
        except FAULTS as error:
            raise StoreUnavailable(f"Redis: {error}") from error


def _never() -> Retry:
    """`call` decides what is sent again, and nothing below it."""
    return Retry(NoBackoff(), 0)
