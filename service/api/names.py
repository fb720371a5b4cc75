"""What people may call themselves and their tables: anything that is shown as it is, and that all see alike.

Names stand beside each other on every player's screen. So none is invisible, none turns the letters about that follow
it, and none has characters that nobody sees, by which it would look like another's. What scripts and pictures need of
these is taken where they need it.
"""

import re
from collections.abc import Iterator
from typing import Final
from unicodedata import bidirectional, category, combining, east_asian_width

__all__ = ["fault_of"]

MOST_MARKS: Final = 4
"""On one letter: as many as Hebrew and Vietnamese need, and too few to cover the lines above and below."""


def fault_of(name: str) -> str | None:
    """What is wrong with a name, in words; None: nothing is. An empty one is right."""
    plain = _FLAG.sub("\N{WAVING BLACK FLAG}", name)
    unseen = next(_unseen(plain), None)
    if unseen is not None:
        return f"must have no character that is not seen, breaks the line or turns the text about: U+{ord(unseen):04X}"
    if name and not name.strip():
        return "must have something to be seen"
    return _fault_of_marks(plain)


_FLAG: Final = re.compile("\N{WAVING BLACK FLAG}[\U000e0020-\U000e007e]{1,8}\U000e007f")
"""The flag of a part of a country, spelled out in characters that are not seen: one picture."""

_UNSEEN_KINDS: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\ufffc\ufdd0-\ufdef"
    "\U0001d159\U000e0000-\U000e0fff]"
)
"""What is no letter and no picture though its kind says so: fillers, blanks, and choices between forms of others."""

_ZWNJ, _ZWJ, _TEXT, _PICTURE, _KEYCAP = "\u200c", "\u200d", "\ufe0e", "\ufe0f", "\u20e3"
_VIRAMA: Final = 9
"""The canonical combining class of what joins two letters of India's scripts."""


def _unseen(name: str) -> Iterator[str]:
    """The characters that nobody sees, but for those that are called for where they stand."""
    for before, char, after in zip(f"\0{name}", name, f"{name[1:]}\0", strict=False):
        hidden = category(char) in _UNSEEN_KINDS or _UNSEEN.match(char)
        if hidden and not _is_called_for(before, char, after):
            yield char


def _is_called_for(before: str, char: str, after: str) -> bool:
    match char:
        case "\u200d" if _is_picture(after):
            return _is_picture(before) or before == _PICTURE
        case "\u200c" if bidirectional(after) == "AL":
            return bidirectional(before) in {"AL", "NSM"}  # Persian keeps two letters apart by it
        case "\u200c" | "\u200d":
            return combining(before) == _VIRAMA
        case "\ufe0e" | "\ufe0f":
            return after == _KEYCAP if before in "#*0123456789" else _is_picture(before)
        case _:  # the form of an ideograph, as in Japanese names
            return "\U000e0100" <= char <= "\U000e01ef" and east_asian_width(before) == "W"


def _is_picture(char: str) -> bool:
    kind = category(char)
    return kind == "So" or (kind in {"Sm", "Sk"} and char > "\u2000") or char in "\u203c\u2049\u2139\u3030"


def _fault_of_marks(name: str) -> str | None:
    """Whether each accent has its letter, and no letter too many of them."""
    count = None
    for char in name:
        kind = category(char)
        if kind in {"Mn", "Me"} and char not in {_TEXT, _PICTURE}:
            if count is None:
                return f"must have no accent without a letter: U+{ord(char):04X}"
            count += 1
            if count > MOST_MARKS:
                return f"must have at most {MOST_MARKS} accents on a letter"
        elif kind == "Zs":
            count = None
        elif kind != "Mc":
            count = 0
    return None
