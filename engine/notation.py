"""Texts for everything in the game, each of which can be read back.

    cards      AS TD JK            rank and suit; a joker is JK; the empty text is no card
    actions    draw · take 3 · lay down 3H 4H JK 6H · lay down 7H JK JK as run · lay off 8H 9H on 0 at high
               swap 5H on 0 · discard 9C · pass
    melds      run 3H 4H JK 6H by 1 1 1 0 from 1     the seats that laid each card, and the one that began the meld
    events     drew seat=0 count=1 cards=[9D]        the event's tag, then each field by its name
    positions  deal=2 hands=[AS 2S|TD] rules=[basic target=500] ...      a whole state, likewise, on one line

What a run's joker stands for is told by its place. `engine.fieldtext` says how the fields of events and positions look.
"""

import re
from collections.abc import Callable
from typing import get_args

from engine.actions import Action, Discard, Draw, End, LayDown, LayOff, MeldKind, Pass, SwapJoker, Take
from engine.cards import write_cards
from engine.errors import BadNotation
from engine.events import Event
from engine.fieldtext import (
    read_card,
    read_cards,
    read_fields,
    read_hex,
    read_meld,
    read_rules,
    write_fields,
    write_meld,
    write_rules,
)
from engine.state import State

__all__ = [
    "read_action",
    "read_card",
    "read_cards",
    "read_event",
    "read_hex",
    "read_meld",
    "read_position",
    "read_rules",
    "write_action",
    "write_cards",
    "write_event",
    "write_meld",
    "write_position",
    "write_rules",
]


def write_action(action: Action) -> str:
    """The action as text."""
    match action:
        case Draw():
            return "draw"
        case Take(count):
            return f"take {count}"
        case LayDown(cards, kind):
            return f"lay down {write_cards(cards)}" + (f" as {kind}" if kind else "")
        case LayOff(meld, cards, end):
            return f"lay off {write_cards(cards)} on {meld}" + (f" at {end}" if end else "")
        case SwapJoker(meld, card):
            return f"swap {write_cards([card])} on {meld}"
        case Discard(card):
            return f"discard {write_cards([card])}"
        case Pass():
            return "pass"


def read_action(text: str) -> Action:
    """The action that the text names. Raises BadNotation."""
    for form, read in _ACTIONS:
        match = form.fullmatch(text)
        if match is not None:
            return read(*match.groups())
    raise BadNotation("an action", text)


def write_event(event: Event) -> str:
    """The event as text; cards that were redacted show as `?`."""
    return f"{_tag(type(event))} {write_fields(event)}"


def read_event(text: str) -> Event:
    """The event that the text tells of. Raises BadNotation."""
    tag, _, rest = text.partition(" ")
    kind = _EVENTS.get(tag)
    if kind is None:
        raise BadNotation("an event", text)
    return read_fields(kind, rest)


def write_position(state: State) -> str:
    """The whole state as one line: it holds hands, stock and seeds, so it is as secret as the state."""
    return write_fields(state)


def read_position(text: str) -> State:
    """The state that the text describes; fields left out take their defaults. Raises BadNotation."""
    return read_fields(State, text)


def _tag(kind: type[Event]) -> str:
    return str(kind.__struct_config__.tag)


_EVENTS: dict[str, type[Event]] = {_tag(kind): kind for kind in get_args(Event)}
_CARDS = r"(\w\w(?: \w\w)*)"
_NUMBER = "(0|[1-9][0-9]{0,8})"
_ACTIONS: tuple[tuple[re.Pattern[str], Callable[..., Action]], ...] = (
    (re.compile("draw"), Draw),
    (re.compile("pass"), Pass),
    (re.compile(f"take {_NUMBER}"), lambda count: Take(int(count))),
    (re.compile(f"discard {_CARDS}"), lambda card: Discard(read_card(card))),
    (re.compile(f"swap {_CARDS} on {_NUMBER}"), lambda card, meld: SwapJoker(int(meld), read_card(card))),
    (
        re.compile(f"lay down {_CARDS}(?: as (set|run))?"),
        lambda cards, kind: LayDown(read_cards(cards), MeldKind(kind) if kind else None),
    ),
    (
        re.compile(f"lay off {_CARDS} on {_NUMBER}(?: at (low|high))?"),
        lambda cards, meld, end: LayOff(int(meld), read_cards(cards), End(end) if end else None),
    ),
)
