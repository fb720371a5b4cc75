"""The way to a cluster, whose nodes come and go, and whose slots move from one to another."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, cast

from redis.asyncio import Connection, Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as ConnectionLost
from redis.exceptions import MovedError

from service.store.errors import StoreUnavailable
from service.store.link import FAULTS, Argument, Limits, Link, Reply, never, said

__all__ = ["ClusterLink"]

_SEVERAL: Final = ""
"""Where a node's name would be: calls to several nodes, or to any."""
_SPARE: Final = 3
"""So many times the connections that calls take turns at may be open to a node.

Calls to this node alone take turns at one part, calls to several at another. The third is for what is sent on by other
nodes, and for learning the cluster.
"""


class ClusterLink(Link):
    """The way to a cluster."""

    def __init__(self, url: str, limits: Limits) -> None:
        super().__init__(limits)
        self._cluster = RedisCluster.from_url(
            url,
            max_connections=_SPARE * limits.connections,
            socket_connect_timeout=limits.connect_s,
            socket_timeout=limits.call_s,
            retry=never(),
            protocol=2,
            # Else, after some slots have moved, it closes all its connections, those of calls under way included.
            reinitialize_steps=0,
        )
        # Where all connections to a node are in use, redis-py raises an error. So calls take turns.
        self._turns = defaultdict[str, asyncio.Semaphore](partial(asyncio.Semaphore, limits.connections))
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
        options: dict[str, object] = {**found.connection_kwargs, "retry": never()}
        make = cast(Callable[..., Connection], found.connection_class)
        return make(**options)

    async def refresh(self) -> None:
        """Asks the cluster for its slots; all who want to know at the same time ask once."""
        asyncio.get_running_loop().set_exception_handler(_close_dropped)
        if self._learning is None or self._learning.done():
            self._learning = asyncio.create_task(self._cluster.nodes_manager.initialize())
            self._learning.add_done_callback(_heard)
        try:
            await asyncio.shield(self._learning)
        except Exception as error:
            raise StoreUnavailable(f"Redis: {said(error)}") from error

    async def close(self) -> None:
        """Closes all connections of the client, which by itself closes none while it is to learn the cluster anew."""
        if self._learning is not None:
            await asyncio.wait([self._learning])
        await super().close()
        for nodes in ("nodes_cache", "startup_nodes"):
            await self._cluster.nodes_manager.aclose(nodes)

    async def _sent(self, keys: Iterable[str], send: Callable[[], Awaitable[Reply]]) -> Reply:
        """As on one server; a node that is busy, or silent, holds up nothing that needs no key of it."""
        nodes = {self.node_of(key) for key in keys}
        turns = self._turns[nodes.pop() if len(nodes) == 1 else _SEVERAL]
        async with turns:
            return await super()._sent(keys, send)

    async def _find_anew(self) -> None:
        """A replica may have taken the place of the primary that was lost."""
        await self.refresh()

    async def _waited(
        self, wait_ms: int, command: str, script: Argument, count: int, *words: Argument
    ) -> Sequence[object]:
        """As on one server; both commands go to the primary of the first key."""
        pipe = self._cluster.pipeline()
        pipe.execute_command(command, script, count, *words)
        pipe.execute_command("WAIT", self.replicas, wait_ms, target_nodes=self._primary_of(str(words[0])))
        answers = cast(list[object], await pipe.execute(raise_on_error=False, allow_redirections=False))
        if isinstance(answers[0], MovedError):
            raise ConnectionLost("the slot is served elsewhere now")  # it is looked for, and sent again
        return answers

    def _primary_of(self, key: str) -> ClusterNode:
        try:
            node: ClusterNode | None = self._cluster.get_node_from_key(key)
        except FAULTS as error:
            raise StoreUnavailable(f"Redis: {said(error)}") from error
        if node is None:
            raise StoreUnavailable("Redis: no node serves the slot")
        return node


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
