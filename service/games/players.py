"""Those who play for a seat without a player's hand: a bot, or for one turn a stand-in."""

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

import structlog

from engine.actions import Action, Draw
from engine.events import Event
from engine.legal import is_legal, legal_actions
from engine.replay import write_move
from engine.solver import Effort
from engine.state import State
from engine.step import step
from engine.view import view
from service import bots
from service.games import standin
from service.games.timing import same_turn

__all__ = ["Played", "bots_action", "bots_moves", "standins_moves"]

_log: Final = structlog.get_logger(__name__)


class Played(NamedTuple):
    """What was played: the state after it, the events that led there, and the lines for the record."""

    state: State
    events: list[Event]
    record: list[str]


def bots_action(match: State, effort: Effort | None = None) -> Action:
    """What a bot does next in the seat to move. It is told what a player there would be, and nothing else (G3)."""
    seat = match.turn
    action = bots.choose(view(match, seat), lambda: legal_actions(match, seat), effort)
    if is_legal(match, seat, action):
        return action
    _log.error("bot_chose_illegal", kind=type(action).__name__)
    return standin.choose(match)


def bots_moves(match: State) -> Played:
    """A bot's moves: its draw, or the rest of its turn."""
    return _moves(match, partial(bots_action, effort=bots.turns_effort()), until_drawn=True)


def standins_moves(match: State) -> Played:
    """The rest of the turn, played in the most harmless way."""
    return _moves(match, standin.choose, until_drawn=False)


def _moves(match: State, choose: Callable[[State], Action], *, until_drawn: bool) -> Played:
    begun, events, record = match, list[Event](), list[str]()
    while same_turn(begun, match):
        action = choose(match)
        record.append(write_move(match.turn, action))
        match, happened = step(match, match.turn, action)
        events += happened
        if until_drawn and isinstance(action, Draw):
            break
    return Played(match, events, record)
