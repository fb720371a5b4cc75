"""The address of the server, and the way that it leads.

    redis://HOST:PORT/DB, rediss://…, unix://PATH           one server
    redis+sentinel://HOST:PORT,HOST:PORT/NAME, rediss+…     the master of that name, whichever Sentinels say it is
    redis+cluster://HOST:PORT, rediss+cluster://…           a cluster

`rediss` is TLS. RESP2 is spoken: redis-py writes every RESP3 push, hands and all, to its debug log.
"""

from typing import TypedDict

from redis.asyncio import BlockingConnectionPool
from redis.asyncio.retry import Retry

from service.store.cluster import ClusterLink
from service.store.errors import BadAddress
from service.store.link import FAULTS, Limits, Link, ServerLink, never
from service.store.sentinel import sentinel_pool

__all__ = ["open_link"]


def open_link(url: str, limits: Limits) -> Link:
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


class _PoolOptions(TypedDict):
    max_connections: int
    timeout: None
    socket_connect_timeout: float
    socket_timeout: float
    retry: Retry
    protocol: int


def _pool_options(limits: Limits) -> _PoolOptions:
    return {
        "max_connections": limits.connections,
        "timeout": None,  # a call that waits for a free connection has its own end
        "socket_connect_timeout": limits.connect_s,
        "socket_timeout": limits.call_s,
        "retry": never(),
        "protocol": 2,
    }
