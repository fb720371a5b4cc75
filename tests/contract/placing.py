"""What schemathesis has to know of rummy: cases are made by the document alone, and put at real tables here.

A module of hooks (`SCHEMATHESIS_HOOKS`). The server is the one that `RUMMYD_TEST_REST` names.
"""

import os
import random
import re
from typing import Any

import httpx
import schemathesis
from schemathesis import Case, HookContext
from schemathesis.schemas import APIOperation

from tests.e2e.live import LONGEST_S

SERVER = "RUMMYD_TEST_REST"
OVER = ("finished", "abandoned", "closed")
STATES = ("open", "playing", *OVER, "unknown")
PRESETS = ("basic", "rummy500", "pool500", "pool300", "pool500-cutthroat")
AnyCase = Case[APIOperation[Any, Any, Any, Any]]


class Tables:
    """Real tables in every state for the cases to be about, each with a seat's token."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http
        self._chance = random.Random(1)  # noqa: S311  which table a case is about
        self._lasting = {state: self._new(state) for state in STATES}

    def place(self, case: AnyCase) -> None:
        """Puts a case, if its path is well-formed, at a table, and most often into one of its seats."""
        parameters = case.path_parameters
        if re.fullmatch("[a-z0-9-]{1,40}", str(parameters.get("ruleSet"))):
            parameters["ruleSet"] = self._chance.choice([*PRESETS, parameters["ruleSet"]])
        if not re.fullmatch("[a-z0-9]{1,40}", str(parameters.get("game"))):
            return
        # A stream of a table where play goes on has no end, and a wait there only that of its time.
        lasting = case.path.endswith(":observe") or "wait" in case.query
        state = self._chance.choice((*OVER, "unknown") if lasting else STATES)
        game, token = self._lasting[state] if case.method == "GET" else self._new(state)
        parameters["game"] = game
        if self._chance.random() < 0.8 and "Authorization" not in case.headers:
            case.headers["Authorization"] = f"Bearer {token}"

    def _new(self, state: str) -> tuple[str, str]:
        """A new table's id and the token of its first seat. A `closed` one is finished, and keeps spectators away."""
        if state == "unknown":
            return "nowhere", "rst_nobody"
        rules = {"preset": "basic", "roundLimit": 1, "jokers": 2}
        spectators = "SPECTATORS_NOT_ALLOWED" if state == "closed" else "SPECTATORS_ALLOWED"
        name = self._post("games", {"seatCount": 2, "ruleSet": rules, "spectators": spectators})["name"]
        joins = 1 if state == "open" else 2
        tokens = [self._post(f"{name}:join", {"displayName": "Ann"})["token"] for _ in range(joins)]
        if state == "abandoned":
            for token in reversed(tokens):  # who is on turn last: before that his bot could end the match
                self._post(f"{name}:leave", {}, token)
        for token in tokens if state in {"finished", "closed"} else ():
            hand = self._post(f"{name}:act", {"actions": [{"draw": {}}]}, token)["view"]["hand"]
            self._post(f"{name}:act", {"actions": [{"discard": {"card": hand[0]}}]}, token)
        return name.removeprefix("games/"), tokens[0]

    def _post(self, path: str, body: dict[str, Any], token: str = "") -> dict[str, Any]:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        response = self._http.post(f"/v1/{path}", json=body, headers=headers)
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer


TABLES = Tables(httpx.Client(base_url=os.environ[SERVER], timeout=LONGEST_S, trust_env=False))


@schemathesis.hook
def before_call(context: HookContext, case: AnyCase, kwargs: dict[str, Any]) -> None:
    """Puts each case at a table before it is sent."""
    TABLES.place(case)
