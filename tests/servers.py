"""The Redis-compatible servers that the store's contract is held against, and a word on those that cannot be had here.

Each is emptied before every test; one that held somebody's data before the first is refused.
"""

import contextlib
import functools
import gc
import os
import signal
import socket
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager

import redis
from redis.cluster import RedisCluster
from redis.sentinel import Sentinel

from service.embedded import EmbeddedRedis

OLDEST = "redis:7.0"  # what rummyd supports at the least; the embedded server is of the newest kind
NAMED = "RUMMYD_TEST_REDIS_URL"
CLUSTER_S = 60.0
PATIENCE_MS = 60_000
"""A node of a cluster is given up when it has been silent for so long: the machine may be busy with something else."""


@contextlib.contextmanager
def embedded() -> Iterator[str]:
    """The embedded server."""
    with EmbeddedRedis() as server:
        yield server.url


@contextlib.contextmanager
def cluster() -> Iterator[str]:
    """A cluster of three embedded servers, each with a third of the slots."""
    with contextlib.ExitStack() as stack:
        ports = free_ports(3)
        for port in ports:
            options = ["--port", str(port), "--bind", "127.0.0.1", "--cluster-enabled", "yes"]
            options += ["--cluster-node-timeout", str(PATIENCE_MS)]
            stack.enter_context(EmbeddedRedis(options=options))
        join(ports)
        yield f"redis+cluster://127.0.0.1:{ports[0]}"


@contextlib.contextmanager
def container() -> Iterator[str]:
    """The oldest supported server, in a container."""
    from testcontainers.community.redis import RedisContainer  # noqa: PLC0415  # it takes long to import, and few have Docker

    with RedisContainer(OLDEST) as server:
        yield f"redis://{server.get_container_host_ip()}:{server.get_exposed_port(6379)}"


@contextlib.contextmanager
def named() -> Iterator[str]:
    """The server that RUMMYD_TEST_REDIS_URL names, which has to be empty."""
    url = os.environ[NAMED]
    with client(url) as commands:
        if commands.dbsize():
            raise RuntimeError(f"{NAMED} names a server that holds data: the tests would delete it")
    try:
        yield url
    finally:
        empty(url)


SERVERS: dict[str, Callable[[], AbstractContextManager[str]]] = {
    "embedded": embedded,
    "cluster": cluster,
    "container": container,
    "named": named,
}


@functools.cache
def missing() -> dict[str, str]:
    """The servers that cannot be had here, each with the reason."""
    reasons = {}
    if not _docker_answers():
        reasons["container"] = f"Docker is not here: the store's contract did not run on {OLDEST} in a container"
    if not os.environ.get(NAMED):
        reasons["named"] = f"{NAMED} is not set: the store's contract did not run on a server of your own"
    return reasons


@contextlib.contextmanager
def client(url: str) -> Iterator[redis.Redis | RedisCluster]:
    """A plain client of a server, of the master that Sentinels name, or of a cluster."""
    if "+sentinel" in url:
        hosts, _, name = url.partition("://")[2].partition("/")
        sentinels = [tuple(host.split(":")) for host in hosts.split(",")]
        with contextlib.closing(Sentinel(sentinels).master_for(name)) as master:  # type: ignore[no-untyped-call]
            yield master
        return
    if "+cluster" not in url:
        with contextlib.closing(redis.Redis.from_url(url)) as single:
            yield single
        return
    cluster = RedisCluster.from_url(url.replace("+cluster", ""))
    try:
        yield cluster
    finally:
        cluster.disconnect_connection_pools()  # type: ignore[no-untyped-call]  # its close() leaves them open


def kill_master_of(url: str, key: str) -> str:
    """Kill the node of a cluster that serves a key, and give its name; the others are to notice at once."""
    with client(url) as commands:
        if not isinstance(commands, RedisCluster):
            raise TypeError(f"{url} is no cluster")
        commands.config_set("cluster-node-timeout", 500, target_nodes=RedisCluster.ALL_NODES)
        name = node_of(commands, key)
    with client(f"redis://{name}") as node, contextlib.suppress(redis.ConnectionError):
        node.shutdown(nosave=True)
    return name


def be_patient(nodes: Iterable[str]) -> None:
    """Have these nodes of a cluster, which live, give up no other, once one that was killed is given up."""
    for name in nodes:
        with client(f"redis://{name}") as node:
            node.config_set("cluster-node-timeout", PATIENCE_MS)


def node_of(cluster: RedisCluster, key: str) -> str:
    """The name of the master that serves a key."""
    return str(cluster.get_node_from_key(key).name)  # type: ignore[no-untyped-call]


def empty(url: str) -> None:
    """Delete all that a server or cluster holds."""
    with client(url) as commands:
        commands.flushall()


def _docker_answers() -> bool:
    import docker  # noqa: PLC0415  # only asked for where a test wants every server
    from docker.errors import DockerException  # noqa: PLC0415

    try:
        with contextlib.closing(docker.from_env(timeout=5)) as daemon:
            return bool(daemon.ping())
    except DockerException:
        return False
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # it leaves its socket open where no daemon listens
            gc.collect()


@contextlib.contextmanager
def frozen(*servers: EmbeddedRedis) -> Iterator[None]:
    """Meanwhile these servers stand still: they take what is sent to them, and say nothing."""
    pids = [server._server._process.pid for server in servers if server._server is not None]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def free_ports(number: int) -> list[int]:
    """Ports whose cluster ports, 10,000 above, are free as well. On Linux nobody is given one who asks for any port.

    There a port that is bound, though nobody listens on it, is free to those alone who ask for that very one.
    """
    with contextlib.ExitStack() as stack:
        ports: list[int] = []
        while len(ports) < number:
            pair = [stack.enter_context(_socket()) for _ in range(2)]
            pair[0].bind(("127.0.0.1", 0))
            port = pair[0].getsockname()[1]
            if port < 55_536:
                with contextlib.suppress(OSError):
                    pair[1].bind(("127.0.0.1", port + 10_000))
                    ports.append(port)
                    if sys.platform == "linux":
                        for bound in pair:
                            bound.detach()  # open, and bound, until this process ends
        return ports


def _socket() -> socket.socket:
    """One beside which a server may bind its own, that says SO_REUSEADDR as well: all servers do."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return made


def join(ports: list[int]) -> None:
    """Make one cluster of servers, and wait until each of them says that it stands."""
    with contextlib.ExitStack() as stack:
        nodes = [stack.enter_context(contextlib.closing(redis.Redis(port=port))) for port in ports]
        bounds = [16_384 * index // len(nodes) for index in range(len(nodes) + 1)]
        for node, low, high in zip(nodes, bounds, bounds[1:], strict=False):
            node.cluster("addslotsrange", low, high - 1)
            node.cluster("meet", "127.0.0.1", ports[0])
        deadline = time.monotonic() + CLUSTER_S
        while not all(_stands(node.cluster("info"), len(nodes)) for node in nodes):
            if time.monotonic() > deadline:
                raise RuntimeError(f"the embedded servers did not form a cluster in {CLUSTER_S:.0f} s")
            time.sleep(0.05)


def _stands(info: dict[str, str], size: int) -> bool:
    return (info["cluster_state"], info["cluster_size"], info["cluster_known_nodes"]) == ("ok", str(size), str(size))
