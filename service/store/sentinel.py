"""The way to a master that Sentinels choose: `HOST:PORT,HOST:PORT/NAME`, and connections that follow a failover.

Every new connection asks the Sentinels anew which server is the master of that name. A connection to one that has been
demoted is closed, by Sentinel itself or at the first write that it refuses, and its call is made again on another.
"""

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast
from urllib.parse import urlsplit

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.connection import parse_url
from redis.asyncio.sentinel import MasterNotFoundError, SentinelManagedConnection, SentinelManagedSSLConnection
from redis.exceptions import RedisError

__all__ = ["MasterPool", "sentinel_pool"]

PORT: Final = 26379
PATIENCE_S: Final = 0.3
"""How long all Sentinels are waited for, where at least one answers."""
_OWN: Final = "sentinel_"
"""What begins so in the address's query is for the Sentinels alone: `sentinel_username`, `sentinel_password`."""


def sentinel_pool(address: str, *, tls: bool, options: Mapping[str, object]) -> "MasterPool":
    """The connections to the master that `address` names; nothing is sent yet. Raises ValueError.

    `address` is `[USER:PASSWORD@]HOST[:PORT],…/NAME[/DB][?OPTIONS]`. User, password, database and options are the
    master's; of the options those of TLS are the Sentinels', too. `options` are the pool's own.
    """
    where, question, query = address.partition("?")
    hosts, _, path = where.rpartition("@")[2].partition("/")
    login = where[: where.index(hosts)]
    name, _, database = path.partition("/")
    sentinels = [_host(host) for host in hosts.split(",")]
    if not name:
        raise ValueError("the name of the master is missing")
    asked: dict[str, object] = {**parse_url(f"redis://{login}master/{database}{question}{query}")}
    of_sentinels = {key.removeprefix(_OWN): asked.pop(key) for key in [*asked] if key.startswith(_OWN)}
    del asked["host"]
    for key in ("socket_connect_timeout", "socket_timeout", "protocol", "retry"):
        of_sentinels[key] = options[key]
    if tls:
        of_sentinels |= {"ssl": True} | {key: value for key, value in asked.items() if key.startswith("ssl_")}
    return MasterPool(
        [Redis(host=host, port=port, **of_sentinels) for host, port in sentinels],  # type: ignore[arg-type]  # as above
        name,
        {
            **options,
            **asked,
            "connection_class": SentinelManagedSSLConnection if tls else SentinelManagedConnection,
        },
    )


class MasterPool(BlockingConnectionPool):
    """Connections to the master of a name, whichever server that is when they are made. Calls wait for a free one."""

    is_master: Final = True
    check_connection: Final = False

    def __init__(self, sentinels: Sequence[Redis], name: str, options: Mapping[str, object]) -> None:
        super().__init__(**options)  # type: ignore[arg-type]  # redis-py's own names for them
        self.connection_kwargs["connection_pool"] = weakref.proxy(self)
        self._sentinels = sentinels
        self._name = name

    async def get_master_address(self) -> tuple[str, int]:
        """Host and port of the master of now. Raises redis-py's ConnectionError where no Sentinel knows one.

        All Sentinels are asked, and the one with the newest configuration is believed: after a failover some still name
        the old master, which may be back, without its data.
        """
        asked = [asyncio.create_task(self._told_by(sentinel)) for sentinel in self._sentinels]
        try:
            await asyncio.wait(asked, timeout=PATIENCE_S)
            if not any(task.done() and task.result() for task in asked):
                await asyncio.wait(asked)  # each answers, or gives up in its own time
            told = [found for task in asked if task.done() and (found := task.result())]
        finally:
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        newest = max(told, default=None)
        if newest is None:
            raise MasterNotFoundError(f"no Sentinel knows a master named {self._name!r}")
        return newest.host, newest.port

    async def aclose(self) -> None:
        """Closes all connections, those to the Sentinels as well."""
        await super().aclose()
        for sentinel in self._sentinels:
            await sentinel.aclose()

    async def _told_by(self, sentinel: Redis) -> "_Told | None":
        """The master as a Sentinel knows it; None where it knows none of that name, or does not answer."""
        ask = cast(Callable[..., Awaitable[Any]], sentinel.execute_command)
        try:
            # In this order: an address that is newer than its epoch does no harm. And not the address in MASTERS, which
            # is the old one until the failover is over, though that server may be back by then, and empty.
            masters: Mapping[str, Mapping[str, Any]] = await ask("SENTINEL MASTERS")
            address: Sequence[bytes] | None = await ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self._name)
        except RedisError:
            return None
        if address is None or self._name not in masters:
            return None
        return _Told(int(masters[self._name]["config-epoch"]), address[0].decode(), int(address[1]))


class _Told(NamedTuple):
    """What a Sentinel says of the master. The newest is the largest."""

    epoch: int
    host: str
    port: int


def _host(text: str) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError("the host of a Sentinel is missing")
    return parts.hostname, parts.port or PORT
