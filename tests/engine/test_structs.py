import importlib
import inspect
from pathlib import Path

import msgspec
import pytest

import engine
from engine.replay import Replay
from engine.rules import RuleSet
from engine.state import State
from engine.view import Summary, View

MODULES = sorted(path.stem for path in Path(engine.__path__[0]).glob("[a-z]*.py"))
STRUCTS = sorted(
    {
        struct
        for name in MODULES
        for struct in vars(importlib.import_module(f"engine.{name}")).values()
        if inspect.isclass(struct) and issubclass(struct, msgspec.Struct) and struct.__module__.startswith("engine.")
    },
    key=lambda struct: f"{struct.__module__}.{struct.__name__}",
)
BY_NAME = {"engine.casefile", "engine.replay"}
"""Where structs are documents for people, their fields named."""


@pytest.mark.clause("G2")
@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_no_value_of_the_engine_can_be_changed(struct: type[msgspec.Struct]) -> None:
    """States, actions, events, views, rule sets: all are frozen, so that what is refused cannot have changed them."""
    assert struct.__struct_config__.frozen


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_what_is_stored_is_encoded_by_position(struct: type[msgspec.Struct]) -> None:
    """Values are encoded as arrays; documents for people name their fields, and refuse any that they do not know."""
    for_people = struct.__module__ in BY_NAME
    assert struct.__struct_config__.array_like != for_people
    assert struct.__struct_config__.forbid_unknown_fields == for_people


@pytest.mark.parametrize("struct", [Replay, RuleSet, State, Summary, View], ids=lambda struct: struct.__name__)
def test_long_values_are_made_by_name_alone(struct: type[msgspec.Struct]) -> None:
    """A value of many fields takes each by its name, so that two of them cannot change places unseen."""
    assert {field.kind for field in inspect.signature(struct).parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
