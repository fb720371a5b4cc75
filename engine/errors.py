"""What the engine answers when it does not do what it was asked.

    EngineError
    ├── Refused        the rules forbid the action; nothing has changed (G2)
    │   └── Misfit     … because the cards named do not make or fit a meld: a foul, where fouls count (P15)
    ├── BadRequest     the actions cannot be one request, whatever the position (G4)
    ├── BadRules       a rule set that cannot be played, with every fault at once
    ├── BadNotation    a text that is no card, meld, action, event or position
    ├── BadReplay      a document that is no replay, or does not come to an end
    └── BadState       bytes that are no state
        └── NewerSchema    … because a newer release wrote them

Any other exception out of the engine is a bug in it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = [
    "BadNotation",
    "BadReplay",
    "BadRequest",
    "BadRules",
    "BadState",
    "EngineError",
    "Fault",
    "Misfit",
    "NewerSchema",
    "Reason",
    "Refused",
]


_MOST_TOLD = 80
"""Characters of a text that is none, in the message that says so."""


class Reason(StrEnum):
    """Why an action is refused, in the order in which the reasons are tried."""

    MATCH_OVER = "MATCH_OVER"
    NOT_YOUR_TURN = "NOT_YOUR_TURN"
    WRONG_PHASE = "WRONG_PHASE"
    DISCARD_PILE_CLOSED = "DISCARD_PILE_CLOSED"
    DISCARD_PILE_EMPTY = "DISCARD_PILE_EMPTY"
    NOT_IN_DISCARD_PILE = "NOT_IN_DISCARD_PILE"
    STOCK_EMPTY = "STOCK_EMPTY"
    CARD_NOT_USABLE = "CARD_NOT_USABLE"
    LAYING_DOWN_CLOSED = "LAYING_DOWN_CLOSED"
    LAY_OFF_CLOSED = "LAY_OFF_CLOSED"
    NO_SUCH_MELD = "NO_SUCH_MELD"
    CARD_NOT_IN_HAND = "CARD_NOT_IN_HAND"
    NOT_A_MELD = "NOT_A_MELD"
    NOT_A_LAY_OFF = "NOT_A_LAY_OFF"
    AMBIGUOUS_PLACE = "AMBIGUOUS_PLACE"
    NO_JOKER_TO_SWAP = "NO_JOKER_TO_SWAP"
    TAKEN_CARD_UNUSED = "TAKEN_CARD_UNUSED"
    JOKER_NOT_PLAYED = "JOKER_NOT_PLAYED"
    SAME_CARD_AS_TAKEN = "SAME_CARD_AS_TAKEN"
    DISCARD_REQUIRED = "DISCARD_REQUIRED"


class EngineError(Exception):
    """The root of all errors that the engine raises on purpose."""


class Refused(EngineError):
    """The rules forbid the action; the state is as it was (G2).

    `reason` is the code, `text` a sentence for people, `cards` the cards concerned as notation (`"7C 7D"`, or `""`),
    `clause` the clause of the rules that forbids it (`"B6"`), `field` the rule-set field that decides it (or `""`).
    It never names a card that the acting seat cannot see. `index` is the place, from 0, of the action in its request.
    """

    index: int = 0

    def __init__(self, reason: Reason, text: str, *, clause: str, field: str = "", cards: str = "") -> None:
        super().__init__(f"{reason}: {text}")
        self.reason, self.text, self.clause, self.field, self.cards = reason, text, clause, field, cards


class Misfit(Refused):
    """Cards that the seat holds make no meld, or do not fit the meld that it named."""


class BadRequest(EngineError):
    """The actions cannot stand together in one request: none at all, or one after a draw from the stock (G4).

    `index` is the place, from 0, of the action that is at fault; `reason` is the code of all of them.
    """

    reason: Final = "ACTION_AFTER_DRAW"

    def __init__(self, text: str, index: int) -> None:
        super().__init__(text)
        self.text, self.index = text, index


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a rule set: the `field`, a code (`OUT_OF_RANGE` …) and a sentence."""

    field: str
    reason: str
    text: str
    others: tuple[str, ...] = ()
    """The fields that it would be as much the fault of: `engine.faults.as_sent` names the one that was sent."""


class BadRules(EngineError):
    """A rule set that cannot be played; `faults` holds everything that is wrong with it, never the first alone."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(f"{fault.field}: {fault.text}" for fault in faults))
        self.faults = tuple(faults)


class BadNotation(EngineError):
    """A text that names nothing: `what` was expected, `text` was found; of a long one the message has the beginning."""

    def __init__(self, what: str, text: str) -> None:
        super().__init__(f"not {what}: {text if len(text) <= _MOST_TOLD else text[:_MOST_TOLD] + '…'!r}")
        self.what, self.text = what, text


class BadReplay(EngineError):
    """A document that is no replay of a finished match; the text names the place."""


class BadState(EngineError):
    """Bytes that are no state of a match."""


class NewerSchema(BadState):
    """A state that a newer release wrote: its schema number is `found`, the newest known here is `known`."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(f"state of schema {found}; this release knows up to {known}")
        self.found, self.known = found, known
