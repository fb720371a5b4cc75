"""The way to a master that Sentinels choose: `HOST:PORT,HOST:PORT/NAME`, and connections that follow a failover.

Every new connection asks the Sentinels anew which server is the master of that name. A connection to one that has been
demoted is closed, by Sentinel itself or at the first write that it refuses, and its call is made again on another.
"""

import weakref
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.connection import parse_url
from redis.asyncio.sentinel import Sentinel, SentinelManagedConnection, SentinelManagedSSLConnection

__all__ = ["MasterPool", "sentinel_pool"]

PORT: Final = 26379
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
        Sentinel(sentinels, sentinel_kwargs=of_sentinels),  # type: ignore[no-untyped-call]
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

    def __init__(self, sentinel: Sentinel, name: str, options: Mapping[str, object]) -> None:
        super().__init__(**options)  # type: ignore[arg-type]  # redis-py's own names for them
        self.connection_kwargs["connection_pool"] = weakref.proxy(self)
        self._sentinel = sentinel
        self._name = name

    async def get_master_address(self) -> tuple[str, int]:
        """Host and port of the master of now. Raises redis-py's ConnectionError where no Sentinel knows one."""
        master: tuple[str, int] = await self._sentinel.discover_master(self._name)
        return master

    async def aclose(self) -> None:
        """Close all connections, those to the Sentinels as well."""
        await super().aclose()
        sentinels: Sequence[Redis] = self._sentinel.sentinels
        for sentinel in sentinels:
            await sentinel.aclose()


def _host(text: str) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError("the host of a Sentinel is missing")
    return parts.hostname, parts.port or PORT
