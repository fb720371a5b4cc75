"""The engine with a deliberate break in it, for as long as a test asks."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType, MappingProxyType, ModuleType
from typing import NamedTuple

__all__ = ["Mutant", "broken"]

ENGINE = Path(__file__).parents[2] / "engine"


class Mutant(NamedTuple):
    """What is broken, in which module of the engine: the text that stands there once, and what stands there instead."""

    clause: str
    breaks: str
    module: str
    was: str
    becomes: str


@contextmanager
def broken(mutant: Mutant) -> Iterator[None]:
    """The engine with the break in it, wherever its functions and tables have been imported to, until the end."""
    source = (ENGINE / f"{mutant.module}.py").read_text()
    if source.count(mutant.was) != 1:
        raise ValueError(f"{mutant.module}.py holds {mutant.was!r} {source.count(mutant.was)} times")
    module = importlib.import_module(f"engine.{mutant.module}")
    made: dict[str, object] = {"__name__": module.__name__}
    exec(compile(source.replace(mutant.was, mutant.becomes), f"{mutant.module}.py, broken", "exec"), made)  # noqa: S102
    restore = [swap for name, value in made.items() if (swap := _swapped(vars(module).get(name), value))]
    if not restore:
        raise ValueError(f"{mutant.becomes!r} breaks nothing that {mutant.module}.py offers")
    try:
        for old, new in restore:
            _put(old, new)
        _forget(module)
        yield
    finally:
        for old, new in restore:
            _put(new, old)
        _forget(module)


def _forget(module: ModuleType) -> None:
    """Empty the module's caches."""
    for value in vars(module).values():
        if hasattr(value, "cache_clear"):
            value.cache_clear()


def _swapped(old: object, new: object) -> tuple[object, object] | None:
    """What stands for what: the code of a function, or a table that differs."""
    old, new = getattr(old, "__wrapped__", old), getattr(new, "__wrapped__", new)
    if isinstance(old, FunctionType) and isinstance(new, FunctionType) and old.__module__ == new.__module__:
        return (old, new) if old.__code__ != new.__code__ else None
    tables = (dict, MappingProxyType, frozenset, tuple)
    return (old, new) if isinstance(old, tables) and isinstance(new, tables) and old != new else None


def _put(old: object, new: object) -> None:
    """Let the one stand where the other stood: in a function's place, or by every name that a table has."""
    if isinstance(old, FunctionType) and isinstance(new, FunctionType):
        old.__code__, new.__code__ = new.__code__, old.__code__
        return
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in ("engine", "tests"):
            for key in [key for key, value in vars(module).items() if value is old]:
                setattr(module, key, new)
