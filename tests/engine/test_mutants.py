import importlib
import inspect
import itertools
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import pytest

from engine.casefile import read_case_file
from engine.cases import failures
from engine.errors import EngineError
from tests.clauses import RULES, clauses_of
from tests.engine.breaking import Mutant, broken
from tests.engine.mutants import MUTANTS
from tests.strategies import rules_of

ROOT = Path(__file__).parents[2]
CLAUSES = clauses_of(RULES.read_text())
Check = Callable[[], None]
TOO_SLOW = ("test_machine", "test_mutants", "test_secrecy")

# What stands for the generated arguments of a property, when it is used to catch a mutant.
TABLES = [(rules_of("basic", jokers=2), 3), (rules_of("rummy500"), 2), (rules_of("pool500"), 4), (rules_of(packs=2), 2)]
EXAMPLES: dict[str, list[object]] = {"table": [*TABLES], "seed": [1, 2]}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.clause}: {mutant.breaks}")
def test_a_break_of_a_clause_is_caught_by_its_tests(mutant: Mutant) -> None:
    """With a clause broken in the engine one of the clause's own tests or cases fails, and not without the break."""
    checks = all_checks()[mutant.clause]
    with broken(mutant):
        caught = next((check for check in checks if fails(check)), None)
    assert caught is not None, f"none of {len(checks)} checks of {mutant.clause} fails"
    caught()


def test_every_clause_is_broken() -> None:
    """For each clause of the rules there is a mutant."""
    assert {mutant.clause for mutant in MUTANTS} == set(CLAUSES)


def fails(check: Check) -> bool:
    """Whether it fails as a test does, by an assertion or a refusal; a crash proves nothing, and is let through."""
    try:
        check()
    except (AssertionError, EngineError, pytest.fail.Exception):
        return True
    return False


@cache
def all_checks() -> dict[str, list[Check]]:
    """By clause what holds the engine to it: its cases, then its tests with the arguments that they name."""
    found: dict[str, list[Check]] = {clause: [] for clause in CLAUSES}
    for path in sorted((ROOT / "tests/cases").glob("*.json")):
        for case in read_case_file(path):
            found[case.clause].append(partial(holds, case))
    for path in sorted((ROOT / "tests/engine").glob("test_*.py")):
        if path.stem not in TOO_SLOW:
            module = importlib.import_module(f"tests.engine.{path.stem}")
            for test in (value for name, value in vars(module).items() if name.startswith("test_")):
                for clause in (mark.args[0] for mark in marks(test) if mark.name == "clause"):
                    found[clause] += runs_of(test)
    return found


def holds(case: object) -> None:
    assert failures(case) == []  # type: ignore[arg-type]


def marks(test: object) -> list[pytest.Mark]:
    return list(getattr(test, "pytestmark", []))


def runs_of(test: Callable[..., None]) -> Iterator[Check]:
    """A test with each of its parameters, a property with a few examples; nothing of one that needs a fixture."""
    ways: list[list[dict[str, object]]] = []
    for mark in marks(test):
        if mark.name == "parametrize":
            names, values = mark.args
            names = names.split(",") if isinstance(names, str) else names
            given = [value.values if isinstance(value, type(pytest.param())) else value for value in values]
            ways.append([dict(zip(names, as_many(value, len(names)), strict=True)) for value in given])
    known = {name for way in ways for arguments in way[:1] for name in arguments}
    inner = test.hypothesis.inner_test if hasattr(test, "hypothesis") else test
    asked = [name for name in inspect.signature(inner).parameters if name not in known]
    if all(name in EXAMPLES for name in asked):
        ways += [[{name: value} for value in EXAMPLES[name]] for name in asked]
        for chosen in itertools.product(*ways):
            yield partial(inner, **{name: value for arguments in chosen for name, value in arguments.items()})


def as_many(value: object, names: int) -> tuple[object, ...]:
    """The values of so many parameters: one alone may stand without its tuple."""
    return value if isinstance(value, tuple) and len(value) == names else (value,)
