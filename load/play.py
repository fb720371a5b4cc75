"""What a player does, from what the API tells: it draws, lays down and off what it can, and discards a card."""

import random
import uuid
from typing import Final

from load.news import Due
from load.rest import Json, Refused, Rest

__all__ = ["act", "bots", "leave", "look", "quick_join", "turn_of"]

_TAKEN: Final = frozenset({"GAME_NOT_OPEN", "SEAT_TAKEN", "GAME_NOT_FOUND"})
"""Somebody was quicker."""


def _new_id() -> str:
    """A request id."""
    return str(uuid.uuid4())


def quick_join(rest: Rest, seats: int) -> Json:
    """A seat at an open table for so many, or at a new one: `seat`, `token`, `game`. Raises Refused."""
    game = {"displayName": "load test", "seatCount": seats}
    body = {"game": game, "displayName": "Player", "requestId": _new_id()}
    return rest.send("POST", "/v1/games:quickJoin", body)


def bots(rest: Rest, table: str, token: str) -> None:
    """Puts bots on all the seats that are free, if the match has not begun."""
    try:
        while rest.send("GET", f"/v1/{table}")["state"] == "STATE_OPEN":
            body = {"displayName": "Bot", "requestId": _new_id()}
            rest.send("POST", f"/v1/{table}:addBot", body, token, expected=_TAKEN)
    except Refused as refused:
        if refused.reason not in _TAKEN:
            raise


def leave(rest: Rest, table: str, token: str) -> None:
    """Gives up a seat, if the match is not over. Raises Refused."""
    try:
        rest.send("POST", f"/v1/{table}:leave", {"requestId": _new_id()}, token, expected=("GAME_OVER",))
    except Refused as refused:
        if refused.reason != "GAME_OVER":
            raise


def turn_of(told: Json) -> int | None:
    """The seat whose turn begins with a snapshot or a batch; None, where none does."""
    if "events" not in told:
        turn: int | None = told.get("view", {}).get("turn")
        return turn
    turns = [event["turnStarted"]["seat"] for event in told["events"] if "turnStarted" in event]
    return turns[-1] if turns else None


def look(rest: Rest, table: str, token: str) -> Json:
    """The view of the seat; empty before the match. Raises Refused."""
    view: Json = rest.send("GET", f"/v1/{table}", token=token).get("view", {})
    return view


def act(rest: Rest, table: str, token: str, view: Json, *, since: float, due: Due) -> Json:
    """One act of the seat to move, which was due at `since`; gives the view that it sees then. Raises Refused.

    Where the table has moved on meanwhile (somebody left) it looks again, and chooses again.
    """
    while "options" in view:
        action, version = _choice(rest, table, token, view), view["version"]
        body = {"actions": [action], "requestId": _new_id(), "expectedVersion": version}
        due.sent(table, version + 1, since, token)
        try:
            answer: Json = rest.send("POST", f"/v1/{table}:act", body, token, expected=("VERSION_MISMATCH",))["view"]
        except Refused as refused:
            due.lost(table, version + 1)
            if refused.reason != "VERSION_MISMATCH":
                raise
            view = look(rest, table, token)
        else:
            due.made(table, version + 1)
            return answer
    return view


def _choice(rest: Rest, table: str, token: str, view: Json) -> Json:
    options = view["options"]
    if options["draw"]:
        return {"draw": {}}
    if options["layDown"]:
        legal = rest.send("GET", f"/v1/{table}:legalActions?pageSize=1000", token=token)["actions"]
        melds = [action for action in legal if "layDown" in action]
        if melds:
            return max(melds, key=lambda action: len(action["layDown"]["cards"]))
    if options["layOff"]:
        place = options["layOff"][0]
        end = {"end": place["ends"][0]} if place["ends"] else {}
        return {"layOff": {"meld": place["meld"], "cards": [place["card"]], **end}}
    if options["discard"]:
        return {"discard": {"card": random.choice(options["discard"])}}
    if options["take"]:
        return {"take": {"count": options["take"][0]}}
    return {"passTurn": {}}
