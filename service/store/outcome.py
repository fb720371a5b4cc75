"""What is asked of a store, and what comes of it."""

import msgspec

from service.store.table import Table

__all__ = ["Answered", "Chosen", "CodeTaken", "Committed", "Conflict", "Created", "Exists", "Gone", "Loaded", "Request"]


class Request(msgspec.Struct, frozen=True):
    """A request that may come again: `key` is "<actor>:<request id>", `fingerprint` a digest of what it asks for."""

    key: str
    fingerprint: bytes


class Answered(msgspec.Struct, frozen=True):
    """The request has made this version before; 0: it found nothing to do.

    `same_payload`: it asked for the same then.
    """

    version: int
    same_payload: bool


class Chosen(msgspec.Struct, frozen=True):
    """The game at which a request takes a seat; `same_payload`: it asked for the same when that was chosen."""

    game: str
    same_payload: bool


class Loaded(msgspec.Struct, frozen=True):
    """A table as it is stored, and what the request that was named has made of it before."""

    table: Table
    answered: Answered | None = None


class Created(msgspec.Struct, frozen=True):
    """The game is stored, at version 1, as `table`."""

    table: Table


class Committed(msgspec.Struct, frozen=True):
    """The game is stored, as `table`: what was to be written, with its mark. Others may have followed by now."""

    table: Table


class Conflict(msgspec.Struct, frozen=True):
    """Another commit was first; this is the table now: any but the one that was expected, even if of its number."""

    table: Table


class Exists(msgspec.Struct, frozen=True):
    """A game of this id exists, and another request has created it."""


class CodeTaken(msgspec.Struct, frozen=True):
    """Another game has the code; nothing is created."""


class Gone(msgspec.Struct, frozen=True):
    """The game does not exist any more."""
