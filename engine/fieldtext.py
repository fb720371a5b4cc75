"""Structs as lines of `name=value`, read back by the types of their fields.

Numbers stand plainly, `-` is none, flags are yes or no; cards and several values stand in brackets, hands divided by
`|`; cards that the reader may not see are `?`; seeds and commitments are hex; a rule set is its nearest preset with
what differs from it. Each value has one text: numbers without leading zeros, hex in small letters.
"""

import re
from enum import StrEnum
from types import NoneType
from typing import Any, TypeVar, get_args

import msgspec
from msgspec.structs import asdict, fields

from engine.actions import MeldKind
from engine.cards import JOKER, NO_CARD, RANKS, SUITS, write_cards
from engine.errors import BadNotation, BadRules
from engine.faults import complete
from engine.presets import PRESETS
from engine.rules import RuleSet
from engine.state import Meld

__all__ = [
    "read_card",
    "read_cards",
    "read_fields",
    "read_hex",
    "read_meld",
    "read_number",
    "read_rules",
    "write_fields",
    "write_meld",
    "write_rules",
]

S = TypeVar("S", bound=msgspec.Struct)


def read_card(text: str) -> int:
    """The card that the text names: `AS`, `TD`, `JK`. Raises BadNotation."""
    card = _CARDS.get(text)
    if card is None:
        raise BadNotation("a card", text)
    return card


def read_cards(text: str) -> bytes:
    """The cards that the text names, in its order. Raises BadNotation."""
    return bytes(read_card(word) for word in text.split())


def read_number(text: str) -> int:
    """The whole number, of up to 18 digits, that the text says. Raises BadNotation."""
    if _NUMBER.fullmatch(text) is None:
        raise BadNotation("a number", text)
    return int(text)


def read_hex(text: str) -> bytes:
    """The bytes that pairs of hex digits, in small letters, give. Raises BadNotation."""
    if _HEX.fullmatch(text) is None:
        raise BadNotation("hex in small letters", text)
    return bytes.fromhex(text)


def write_meld(meld: Meld) -> str:
    """The meld as text, with who laid what."""
    owners = " ".join(str(owner) for owner in meld.owners)
    return f"{meld.kind} {write_cards(meld.cards)} by {owners} from {meld.founder}"


def read_meld(text: str) -> Meld:
    """The meld that the text describes; a run stands low to high. Raises BadNotation."""
    match = _MELD.fullmatch(text)
    if match is None:
        raise BadNotation("a meld", text)
    kind, cards = MeldKind(match["kind"]), read_cards(match["cards"])
    index = next((index for index, card in enumerate(cards) if card != JOKER), None)
    owners = bytes(int(owner) for owner in match["owners"].split())
    if index is None or len(owners) != len(cards):
        raise BadNotation("a meld", text)
    rank = cards[index] % 13 + 1  # an ace that does not begin its run ends it
    low = rank if kind is MeldKind.SET else rank - index if rank > 1 or index == 0 else 14 - index
    return Meld(kind, cards, owners, int(match["founder"]), low)


def write_fields(struct: msgspec.Struct) -> str:
    """Every field of the struct as `name=value`."""
    names = [field.name for field in fields(struct)]
    return " ".join(f"{name}={_write(name, getattr(struct, name))}" for name in names)


def read_fields(kind: type[S], text: str) -> S:
    """The struct whose fields the text gives; those left out take their defaults. Raises BadNotation."""
    types = {field.name: field.type for field in fields(kind)}
    values: dict[str, Any] = {}
    for word in _words(text):
        name, _, value = word.partition("=")
        if name not in types or name in values:
            raise BadNotation(f"a field of {kind.__name__}", word)
        try:
            values[name] = _read(name, types[name], value)
        except (KeyError, ValueError, BadNotation, BadRules) as error:
            raise BadNotation(f"a value of {name}", value) from error
    try:
        return kind(**values)
    except TypeError as error:
        raise BadNotation(f"a whole {kind.__name__} ({error})", text) from error


def write_rules(rules: RuleSet, *, whole: bool = False) -> str:
    """The preset that differs least, then each field that differs, as JSON without blanks and quotes.

    `whole`: then every field. The preset is a name for people there: what it stands for need not be known.
    """
    own = asdict(rules)
    differing = {
        name: [field for field, value in asdict(preset).items() if own[field] != value]
        for name, preset in PRESETS.items()
    }
    nearest = min(differing, key=lambda name: len(differing[name]))
    told = own if whole else differing[nearest]
    return " ".join((nearest, *(f"{field}={msgspec.json.encode(own[field]).decode().strip(_QUOTE)}" for field in told)))


def read_rules(text: str) -> RuleSet:
    """The rule set that the text names. Raises BadNotation, or BadRules for an unknown preset or field."""
    preset, *changed = _words(text) or [""]
    overrides: dict[str, object] = {}
    for word in changed:
        field, _, value = word.partition("=")
        if field in overrides:
            raise BadNotation("a field that is given once", word)
        named = value.isidentifier() and value not in _JSON_WORDS
        try:
            overrides[field] = value if named else msgspec.json.decode(value)
        except (ValueError, RecursionError) as error:  # msgspec's own are ValueErrors
            raise BadNotation(f"a value of {field}", value) from error
    return complete(preset, overrides)


def _write(name: str, value: object) -> str:
    match value:
        case None:
            return "?" if name == "cards" else "-"
        case bool():
            return "yes" if value else "no"
        case StrEnum():
            return value.value
        case int():
            return write_cards([value]) if name in _CARD_FIELDS else str(value)
        case bytes() if name in _HEX_FIELDS:
            return value.hex()
    return f"[{_write_inside(name, value)}]"


def _write_inside(name: str, value: object) -> str:
    match value:
        case RuleSet():
            return write_rules(value)
        case msgspec.Struct():
            return write_fields(value)
        case bytes():
            return " ".join("-" if card == NO_CARD else write_cards([card]) for card in value)
        case tuple() if name == "melds":
            return "|".join(write_meld(meld) for meld in value)
        case tuple() if name == "hands":
            return "|".join("?" if hand is None else write_cards(hand) for hand in value)
        case tuple():
            return " ".join(str(number) for number in value)
    raise TypeError(f"no text for {value!r}")


def _read(name: str, kind: Any, text: str) -> object:
    options = get_args(kind)
    if NoneType in options:
        if text in ("-", "?"):
            return None
        (kind,) = (option for option in options if option is not NoneType)
    if kind is bool:
        return _FLAGS[text]
    if kind is int:
        return read_card(text) if name in _CARD_FIELDS else read_number(text)
    if kind is bytes and name in _HEX_FIELDS:
        return read_hex(text)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(text)
    if not (text.startswith("[") and text.endswith("]")):
        raise ValueError(text)
    return _read_inside(name, kind, text[1:-1])


def _read_inside(name: str, kind: Any, text: str) -> object:
    if kind is bytes:
        return bytes(NO_CARD if word == "-" else read_card(word) for word in text.split())
    if kind is RuleSet:
        return read_rules(text)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return read_fields(kind, text)
    parts = text.split("|") if text else []
    if name == "melds":
        return tuple(read_meld(part) for part in parts)
    if name == "hands":
        return tuple(None if part == "?" else read_cards(part) for part in parts)
    return tuple(read_number(word) for word in text.split())


def _words(text: str) -> list[str]:
    """The text split at blanks outside of brackets."""
    words, depth = [""], 0
    for char in text:
        depth += (char == "[") - (char == "]")
        if char == " " and not depth:
            words.append("")
        else:
            words[-1] += char
    return [word for word in words if word]


_FLAGS = {"yes": True, "no": False}
_CARDS = {rank + suit: s * 13 + r for s, suit in enumerate(SUITS) for r, rank in enumerate(RANKS)} | {"JK": JOKER}
_CARD_FIELDS = {"card", "up_card"}
_HEX_FIELDS = {"entropy", "seed", "next_seed", "commitment", "next_commitment"}
_QUOTE = '"'
_JSON_WORDS = {"true", "false", "null"}
_NUMBER = re.compile("-?(?:0|[1-9][0-9]{0,17})")
_HEX = re.compile("(?:[0-9a-f]{2})*")
_MELD = re.compile(
    r"(?P<kind>set|run) (?P<cards>\w\w(?: \w\w)*) by (?P<owners>[0-7](?: [0-7])*) from (?P<founder>[0-7])"
)
