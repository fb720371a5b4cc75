"""The REST API for one user of Locust, as anybody's program would call it, with the retries that clients owe.

rest.send("POST", f"/v1/{name}:act", body, token)    the answer, after as many tries as it takes
rest.open(f"/v1/{name}:observe", headers)            a stream, which is in no figures by itself

Each try is a request in Locust's figures. One that is tried again counts as a failure there: a service that is well has
none, or as few as its operator expects.
"""

import random
import re
from collections.abc import Collection, Mapping
from contextlib import nullcontext
from typing import Any, Final

import gevent
from locust.contrib.fasthttp import FastHttpSession

__all__ = ["Json", "Refused", "Rest"]

Json = dict[str, Any]

_PATIENCE_S: Final = 60.0
_WORTH_A_RETRY: Final = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "ABORTED"})


class Refused(Exception):
    """The server said no, or nothing for a minute. `reason` is one of docs/api.md, else the code.

    `wait_s` is how long it asks to wait before the next try.
    """

    def __init__(self, code: str, reason: str, text: str, wait_s: float = 0.0) -> None:
        super().__init__(f"{reason}: {text}")
        self.code, self.reason, self.wait_s = code, reason, wait_s

    @property
    def worth_a_retry(self) -> bool:
        """Whether the same request may do better."""
        return self.reason == "LIMIT_EXCEEDED" or (self.code in _WORTH_A_RETRY and self.reason != "VERSION_MISMATCH")


class Rest:
    """Calls by one user. They are in Locust's figures while `counted`."""

    def __init__(self, session: FastHttpSession) -> None:
        self._session = session
        self.counted = True

    def send(
        self, method: str, path: str, body: Json | None = None, token: str = "", *, expected: Collection[str] = ()
    ) -> Json:
        """The answer. Raises Refused; a refusal for one of the `expected` reasons is no failure of the service."""
        pause, waited = 0.1, 0.0
        while True:
            try:
                return self._once(method, path, body, token, expected)
            except Refused as refused:
                if not refused.worth_a_retry or waited > _PATIENCE_S:
                    raise
                wait_s = max(refused.wait_s, random.uniform(pause / 2, pause))
            gevent.sleep(wait_s)
            pause, waited = min(2 * pause, 2.0), waited + wait_s

    def open(self, path: str, headers: Mapping[str, str]) -> Any:
        """A stream, once its answer has begun: `.status_code`, `.stream`. Raises Refused."""
        answer: Any = self._session.get(path, headers=dict(headers), stream=True, catch_response=True)
        if answer.status_code not in {200, 204}:
            raise _refusal(answer)
        return answer  # it is not entered, so that Locust counts nothing

    def _once(self, method: str, path: str, body: Json | None, token: str, expected: Collection[str]) -> Json:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        answer: Any = self._session.request(
            method, path, name=_kind(path), json=body, headers=headers, catch_response=True
        )
        with answer if self.counted else nullcontext():  # what is not entered Locust does not count
            if answer.status_code == 200:
                found: Json = answer.json()
                return found
            refused = _refusal(answer)
            if self.counted and refused.reason in expected:
                answer.success()
            elif self.counted:
                answer.failure(refused)
            raise refused


def _refusal(answer: Any) -> Refused:
    """What an answer that is none says, by the body of AIP-193; without one the service was not there."""
    try:
        error = answer.json()["error"]
        reason = next((detail["reason"] for detail in error["details"] if "reason" in detail), error["status"])
        waits = [float(detail["retryDelay"].rstrip("s")) for detail in error["details"] if "retryDelay" in detail]
        return Refused(error["status"], reason, error["message"], *waits)
    except (ValueError, KeyError, TypeError):
        code = "UNAVAILABLE" if answer.status_code == 0 or answer.status_code >= 500 else "UNKNOWN"
        return Refused(code, code, f"HTTP status {answer.status_code}")


def _kind(path: str) -> str:
    """A path without what differs from table to table, so that figures can be added up."""
    return re.sub(r"games/[a-z0-9]+", "games/*", path.partition("?")[0])
