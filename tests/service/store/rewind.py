"""A game taken back to what it was, as by a replica that takes over and has missed the last commits."""

from typing import Any

from service.store.keys import GameKeys
from tests import servers

Kept = dict[str, bytes]


def keep(url: str, keys: GameKeys) -> Kept:
    """What the server holds of a game now."""
    with servers.client(url) as client:
        commands: Any = client
        return {key: data for key in _own(keys) if (data := commands.dump(key)) is not None}


def bring_back(url: str, keys: GameKeys, kept: Kept) -> None:
    """Has the server hold of a game what it held then, and forget all since. Nobody is told."""
    with servers.client(url) as client:
        commands: Any = client
        for key in _own(keys):
            if key in kept:
                commands.restore(key, 0, kept[key], replace=True)
            else:
                commands.delete(key)


def _own(keys: GameKeys) -> tuple[str, ...]:
    return keys.game, keys.history, keys.record
