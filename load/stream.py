"""One table's events, over as many server-sent streams as it takes: every version once and in order.

for told in stream.follow():         a snapshot or a batch, until the match ends
with stream.queued() as news: …      the same as a queue, so that whoever takes his time reads none too late

A stream that is dropped in the middle (its greenlet is killed, or `queued` left) goes on from where it was when it is
followed again.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, Final

import gevent
from gevent.queue import Queue
from geventhttpclient.response import HTTPConnectionClosed
from locust.env import Environment

from load.latencies import COMMIT, RESUMED, STREAM, tell
from load.news import Due
from load.rest import Json, Refused, Rest

__all__ = ["Stream"]

_BROKEN: Final = (HTTPConnectionClosed, OSError)


class Stream:
    """Follows one table, as its seat with the token, or as a spectator."""

    def __init__(self, rest: Rest, environment: Environment, due: Due, table: str, token: str = "") -> None:
        self._rest, self._environment, self._due = rest, environment, due
        self._table, self._token = table, token
        self._last_id = ""
        self.version = 0

    def follow(self) -> Iterator[Json]:
        """Each snapshot and batch that is new. Ends when the match does. Raises Refused where the table is gone."""
        while True:
            try:
                yield from self._once()
            except Refused as refused:
                if not refused.worth_a_retry:
                    raise
                gevent.sleep(0.5)
            except _BROKEN:
                gevent.sleep(0.1)
            else:
                return

    @contextmanager
    def queued(self) -> Iterator["Queue[Json]"]:
        """What `follow` gives, read as it comes. The queue can be iterated; it ends, too, where the table is gone."""
        news: Queue[Json] = Queue()

        def read() -> None:
            with suppress(Refused):  # it has been counted
                for told in self.follow():
                    news.put(told)
            news.put(StopIteration)

        reader = gevent.spawn(read)
        try:
            yield news
        finally:
            reader.kill()

    def _once(self) -> Iterator[Json]:
        """What one stream tells."""
        headers = {"accept": "text/event-stream"}
        headers |= {"authorization": f"Bearer {self._token}"} if self._token else {}
        headers |= {"last-event-id": self._last_id} if self._last_id else {}
        kind, begun, failed = RESUMED if self._last_id else STREAM, time.monotonic(), None
        try:
            answer = self._rest.open(f"/v1/{self._table}:observe", headers)
        except Refused as refused:
            failed = refused
            raise
        finally:
            tell(self._environment, kind, time.monotonic() - begun, failed)
        if answer.status_code == 204:
            return
        try:
            for event, event_id, data in _events(answer.stream):
                match event:
                    case "end":
                        return
                    case "failure":
                        error = json.loads(data)["error"]
                        raise Refused(error["status"], error["status"], error["message"])
                    case "snapshot" | "batch":
                        told: Json = json.loads(data)[event]
                        if event == "batch":
                            self._check(told, begun)
                        self._last_id, self.version = event_id, told["version"]
                        yield told
            raise HTTPConnectionClosed("the stream broke off")
        finally:
            answer.stream.release()

    def _check(self, told: Json, begun: float) -> None:
        """Counts what was told by a stream that was asked for at `begun`: how late, and whether it is what follows."""
        at, version = time.monotonic(), told["version"]
        gap = None if version == self.version + 1 else AssertionError(f"version {version} after {self.version}")
        ago = time.time() - datetime.fromisoformat(told["commitTime"]).timestamp()
        if gap or ago <= at - begun:  # else it is old, and has come as soon as it was asked for
            tell(self._environment, COMMIT, ago, gap)
        self._due.told(self._table, version, self._token, begun, at)


def _events(stream: Any) -> Iterator[tuple[str, str, str]]:
    """The server-sent events of a stream: name, id and data."""
    fields: dict[str, str] = {}
    while line := stream.readline(b"\n"):
        if line != b"\n":
            field, _, value = line.decode().rstrip("\n").partition(":")
            fields[field] = value.removeprefix(" ")
        elif fields:
            yield fields.get("event", "message"), fields.get("id", ""), fields.get("data", "")
            fields = {}
