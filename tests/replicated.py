"""Servers with replicas, whose master can be killed: three of them under three Sentinels, or a cluster of six.

with sentinel_trio() as servers:
    servers.url                      as RUMMYD_REDIS_URL has it
    servers.fail()                   SIGKILL of a master: a replica takes its place
    with servers.severed(): …        no replica hears of what is written meanwhile
    servers.heal()                   what was killed starts again, as a replica
"""

import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import redis

from service.embedded import EmbeddedRedis, _binary, _Server
from tests import servers

NAME = "rummyd"
"""The name by which the Sentinels know the master."""
DOWN_MS = 500
"""A master that is silent for so long is given up, once one has been killed here."""
PATIENCE_MS = 60_000
"""As `DOWN_MS`, as long as none has been: a machine that is busy with something else makes no master fail over."""
SETTLE_S = 150.0
"""Sentinels judge nothing for half a minute once they have found their machine at a standstill."""


@dataclass
class Servers:
    """Servers by their ports; `dead` are those that were killed."""

    nodes: dict[int, EmbeddedRedis]
    url: str = ""
    dead: list[EmbeddedRedis] = field(default_factory=list)

    def fail(self) -> None:
        """Kills a master, as a crash would."""
        self._kill_master()
        self._give_up_after(DOWN_MS)

    def heal(self) -> None:
        """Waits until a replica has taken the place, starts again what was killed, and waits until all are in step.

        A master that comes back earlier, without its data, would be a master still, and its replicas would follow.
        """
        _until("a replica has taken the place of the master", self._taken_over)
        self._give_up_after(PATIENCE_MS)
        for node in self.dead:
            node.start()
        self.dead.clear()
        self.settle()

    @contextlib.contextmanager
    def severed(self) -> Iterator[None]:
        """Meanwhile every replica is frozen."""
        masters = self.masters()
        replicas = [node for port, node in self.nodes.items() if port not in masters and node.running]
        with servers.frozen(*replicas):
            yield

    def settle(self) -> None:
        """Waits until the replicas are known, and in step with their masters."""
        _until("the replicas are in step", self._in_step)

    def masters(self) -> list[int]:
        """The ports of the masters that live."""
        return [port for port in self.nodes if self._role(port)["role"] == "master"]

    def _kill_master(self) -> None:
        port = self.masters()[0]
        self.dead.append(self.nodes[port])
        self.nodes[port].kill()

    def _give_up_after(self, silent_ms: int) -> None:
        """From now on a master is given up when it has been silent for so long."""
        raise NotImplementedError

    def _in_step(self) -> bool:
        roles = [self._role(port) for port in self.nodes]
        replicas = [role for role in roles if role["role"] == "slave"]
        return len(replicas) == self._replicas() and all(role["master_link_status"] == "up" for role in replicas)

    def _taken_over(self) -> bool:
        raise NotImplementedError

    def _replicas(self) -> int:
        raise NotImplementedError

    def _role(self, port: int) -> dict[str, object]:
        if not self.nodes[port].running:
            return {"role": "dead"}
        with contextlib.closing(redis.Redis(port=port)) as client:
            found: dict[str, object] = client.info("replication")
            return found


@dataclass
class Trio(Servers):
    """A master and two replicas, and the Sentinels that watch them."""

    sentinels: list[int] = field(default_factory=list)

    def fall_back(self) -> None:
        """Kills the replicas' master, and starts the replicas: one that has missed what was written takes its place."""
        self._kill_master()
        for node in self.nodes.values():
            if node not in self.dead:
                node.start()
        _until("the replicas are seen again", self._replicas_are_seen)
        self._give_up_after(DOWN_MS)

    def kill_replicas(self) -> None:
        """Kills all replicas, which keep what they have: all that was written until now."""
        masters = self.masters()
        for port in masters:
            with contextlib.closing(redis.Redis(port=port)) as client:
                client.set("in-step", 1, px=1)
                if client.wait(self._replicas(), int(SETTLE_S * 1000)) < self._replicas():
                    raise RuntimeError("the replicas are not in step")
        for port, node in self.nodes.items():
            if port not in masters:
                node.kill()

    def _taken_over(self) -> bool:
        (named,) = self.masters()
        agreed = all(self._named_by(port) == named for port in self.sentinels)
        return agreed and self.nodes[named] not in self.dead and self._role(named)["role"] == "master"

    def _replicas_are_seen(self) -> bool:
        told = [replica["flags"] for port in self.sentinels for replica in _ask(port, "SENTINEL", "REPLICAS", NAME)]
        return len(told) == 2 * len(self.sentinels) and set(told) == {"slave"}

    def _give_up_after(self, silent_ms: int) -> None:
        for port in self.sentinels:
            _ask(port, "SENTINEL", "SET", NAME, "down-after-milliseconds", silent_ms)

    def _replicas(self) -> int:
        return 2

    def masters(self) -> list[int]:
        """The one that the Sentinels name."""
        return [self._named_by(self.sentinels[0])]

    def _named_by(self, sentinel: int) -> int:
        return int(_ask(sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)[1])

    def settle(self) -> None:
        super().settle()
        _until("the Sentinels know the replicas and each other", self._known)

    def _known(self) -> bool:
        for port in self.sentinels:
            told: dict[str, str] = _ask(port, "SENTINEL", "MASTER", NAME)
            if int(told["num-slaves"]) < 2 or int(told["num-other-sentinels"]) < 2 or "down" in told["flags"]:
                return False
        return True


@dataclass
class Six(Servers):
    """A cluster of three masters, each with a replica."""

    def _taken_over(self) -> bool:
        return len(self.masters()) == 3

    def _give_up_after(self, silent_ms: int) -> None:
        for port, node in self.nodes.items():
            if node.running:
                _ask(port, "CONFIG", "SET", "cluster-node-timeout", silent_ms)

    def _replicas(self) -> int:
        return 3


@contextlib.contextmanager
def sentinel_trio(folder: Path | None = None) -> Iterator[Trio]:
    """Three servers under three Sentinels; each keeps its data in that folder, if there is one."""
    with contextlib.ExitStack() as stack:
        first, *others = ports = servers.free_ports(3)
        nodes = {}
        for port in ports:
            following = ["--replicaof", "127.0.0.1", str(first)] if port in others else []
            options = ["--port", str(port), "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0", *following]
            nodes[port] = stack.enter_context(EmbeddedRedis(folder / f"redis-{port}" if folder else None, options))
        sentinels = servers.free_ports(3)
        trio = Trio(nodes, sentinels=sentinels)
        trio.url = f"redis+sentinel://{','.join(f'127.0.0.1:{port}' for port in sentinels)}/{NAME}"
        for port in sentinels:
            stack.enter_context(_sentinel(port, first))
        trio.settle()
        yield trio


@contextlib.contextmanager
def cluster_of_six() -> Iterator[Six]:
    """Three masters and three replicas."""
    with contextlib.ExitStack() as stack:
        ports = servers.free_ports(6)
        nodes = {}
        for port in ports:
            options = ["--port", str(port), "--bind", "127.0.0.1", "--cluster-enabled", "yes"]
            options += ["--cluster-node-timeout", str(PATIENCE_MS), "--repl-diskless-sync-delay", "0"]
            nodes[port] = stack.enter_context(EmbeddedRedis(options=options))
        servers.join(ports[:3])
        for port, master in zip(ports[3:], ports[:3], strict=True):
            _ask(port, "CLUSTER MEET", "127.0.0.1", master)
            _until("a replica knows its master", partial(_follows, port, _ask(master, "CLUSTER MYID")))
        six = Six(nodes, f"redis+cluster://127.0.0.1:{ports[0]}")
        six.settle()
        yield six


@contextlib.contextmanager
def _sentinel(port: int, master: int) -> Iterator[None]:
    """A Sentinel that watches the server at the port `master`, from the same program as the servers."""
    folder = Path(tempfile.mkdtemp(prefix="rummyd-sentinel-"))
    config = folder / "sentinel.conf"
    config.write_text(
        f"port {port}\nbind 127.0.0.1\ndir {folder}\nunixsocket {folder}/redis.sock\nlogfile {folder}/redis.log\n"
        f"sentinel monitor {NAME} 127.0.0.1 {master} 2\nsentinel down-after-milliseconds {NAME} {PATIENCE_MS}\n"
        f"sentinel failover-timeout {NAME} 3000\nsentinel parallel-syncs {NAME} 2\n"
    )
    server = _Server([str(_binary()), str(config), "--sentinel"], folder, None)
    try:
        server.wait_until_it_answers()
        _ask(port, "SENTINEL", "DEBUG", "INFO-PERIOD", 500, "PUBLISH-PERIOD", 500)  # else it learns of things in 10 s
        yield
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _follows(port: int, master: str) -> bool:
    try:
        _ask(port, "CLUSTER REPLICATE", master)
    except redis.ResponseError:
        return False  # it has not met it yet
    return True


def _ask(port: int, *command: object) -> Any:
    """What the server at this port answers."""
    with contextlib.closing(redis.Redis(port=port, decode_responses=True)) as client:
        return client.execute_command(*command)  # type: ignore[no-untyped-call]


def _until(what: str, is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SETTLE_S
    while not is_so():
        if time.monotonic() > deadline:
            raise RuntimeError(f"not within {SETTLE_S:.0f} s: {what}")
        time.sleep(0.05)
