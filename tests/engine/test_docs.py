"""The pages about the game say what the game does: docs/rules.md, shuffle.md and replay.md, read and compared."""

import ast
import hashlib
import hmac
import json
import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import get_args

import pytest
from msgspec.structs import asdict

from engine import shuffle
from engine.actions import Action, MeldKind
from engine.cards import deck, write_cards
from engine.casefile import read_case_file
from engine.events import DealEnd, Event, Renewal
from engine.faults import _RANGES, faults
from engine.notation import read_action, read_cards, read_rules, write_action, write_event, write_rules
from engine.presets import PRESETS
from engine.replay import Replay, failures, read_replay, replayed
from engine.rules import RuleSet
from tests.clauses import clauses_of
from tests.strategies import rules_of

ROOT = Path(__file__).parents[2]
RULES = (ROOT / "docs/rules.md").read_text()
SHUFFLE = (ROOT / "docs/shuffle.md").read_text()
REPLAY = (ROOT / "docs/replay.md").read_text()
GAMES = ("basic", "rummy500", "pool500")
ROWS = [line.strip("| ").split(" | ") for line in re.findall(r"^\| `\w+` \|.*\|$", RULES, re.MULTILINE)]
FIELDS = {key.strip("`"): values for key, *values in ROWS if len(values) == 5}
VECTORS = re.findall(r"^### ([^\n]+)\n```\n(.+?)\n```$", SHUFFLE, re.MULTILINE | re.DOTALL)


def told(value: object) -> object:
    """The JSON value of a field."""
    return list(value) if isinstance(value, tuple) else value


def read(cell: str) -> object:
    """The value in a cell: JSON, or a word."""
    written = cell.strip("`")
    return written if written.isidentifier() and written not in ("null", "true", "false") else json.loads(written)


def test_every_field_is_described_with_its_values() -> None:
    """The table has each field of a rule set, in order, with what each of the games plays."""
    assert list(FIELDS) == list(RuleSet.__struct_fields__)
    for field, (_, *values, _) in FIELDS.items():
        assert [read(value) for value in values] == [told(getattr(PRESETS[game], field)) for game in GAMES], field


def test_every_value_that_a_field_may_take_is_described() -> None:
    """Where a field takes words each of them is there, and where it takes numbers the least and the most."""
    for field, (meaning, *_) in FIELDS.items():
        value = getattr(PRESETS["pool500"], field)
        if isinstance(value, StrEnum):
            assert [word for word in type(value) if f"`{word}`" not in meaning] == [], field
        if field in _RANGES:
            least, most = _RANGES[field]
            assert f" {least}–{most}" in meaning, field  # noqa: RUF001  a range is written with a dash


@pytest.mark.parametrize(("preset", "title"), [("rummy500", "Rummy 500"), ("pool500", "Pool Rummy 500")])
def test_a_game_is_told_with_all_that_differs_from_basic(preset: str, title: str) -> None:
    """Whoever has read Basic Rummy is told of each field in which another game differs, and of no other."""
    section = RULES.split(f"\n## {title}\n")[1].split("\n## ")[0]
    named = set(re.findall(r"`(\w+)`", section)) & set(FIELDS)
    other, basic = asdict(PRESETS[preset]), asdict(PRESETS["basic"])
    assert named == {field for field in FIELDS if other[field] != basic[field]}


def test_the_clauses_of_each_field_are_clauses() -> None:
    """Each field names the clauses that it belongs to."""
    known = set(clauses_of(RULES))
    assert all(set(clauses.split()) <= known and clauses for *_, clauses in FIELDS.values())


def test_the_variants_are_described_by_what_differs() -> None:
    """Of each variant of the pool game the fields are named that differ from it."""
    rows = re.findall(r"^\| `([\w-]+)` \| ([^|]+) \|$", RULES, re.MULTILINE)
    assert {name for name, _ in rows} == set(PRESETS) - set(GAMES)
    for name, differs in rows:
        overrides = {key: read(value) for key, value in re.findall(r"`(\w+)` `(\w+)`", differs)}
        assert rules_of("pool500", **overrides) == PRESETS[name]
        assert asdict(PRESETS[name]).keys() >= overrides.keys()


def test_what_cannot_be_played_is_described() -> None:
    """Each field for which a rule set is refused beyond its range is named among the faults."""
    told_of = RULES.split("A rule set that cannot be played")[1].split("\n## ")[0]
    source = (ROOT / "engine/faults.py").read_text()
    fields = set(re.findall(r'Fault\("(\w+)", "(?:CONFLICT|NO_END)"', source))
    assert [field for field in sorted(fields) if f"`{field}" not in told_of] == []
    assert faults(PRESETS["basic"]) == []


def test_each_clause_names_what_holds_it() -> None:
    """Each clause has cases, or a test of the engine that is there and carries its mark, and names them."""
    marks = {path.stem: marked(path) for path in (ROOT / "tests/engine").glob("test_*.py")}
    cases = {case.clause for path in (ROOT / "tests/cases").glob("*.json") for case in read_case_file(path)}
    for clause, held in re.findall(r"^\| \*\*(\w+)\*\* \|.*\| ([^|]+) \|$", RULES, re.MULTILINE):
        names = re.findall(r"`(test_\w+)::(test_\w+)`", held)
        assert ("cases" in held) == (clause in cases), clause
        assert names or clause in cases, clause
        for module, name in names:
            assert clause in marks[module][name], f"{clause}: {module}::{name}"


def marked(path: Path) -> dict[str, set[str]]:
    """The clauses that each test of a module carries."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            marks = (ast.unparse(decorator) for decorator in node.decorator_list)
            found[node.name] = {mark.split("'")[1] for mark in marks if "mark.clause(" in mark}
    return found


def test_the_rules_name_where_each_clause_lives() -> None:
    """What the rules name as the place of a clause is there in the engine."""
    rows = re.findall(r"^\| \*\*\w+\*\* \| [^|]+ \| ([^|]+) \|", RULES, re.MULTILINE)
    for place in {place for row in rows for place in re.findall(r"`([\w.]+)`", row)}:
        module, _, name = place.partition(".")
        source = (ROOT / "engine" / f"{module}.py").read_text()
        assert not name or re.search(rf"^(def|class) {name}\b", source, re.MULTILINE), place


def vector(body: str) -> dict[str, str]:
    """The lines of a test vector by their names, the order joined to one line."""
    head, order = body.split("\norder\n")
    lines = dict(line.split(maxsplit=1) for line in head.splitlines())
    return {**lines, "order": " ".join(order.split())}


@pytest.mark.clause("G6")
@pytest.mark.parametrize("body", [pytest.param(body, id=title) for title, body in VECTORS])
def test_the_shuffle_gives_the_orders_of_its_test_vectors(body: str) -> None:
    """Each test vector holds in the engine, and in the few lines of Python that the page gives to everybody."""
    given = vector(body)
    seed, renewal = bytes.fromhex(given["seed"]), int(given["renewal"])
    entropy = b"" if given["entropy"] == "-" else bytes.fromhex(given["entropy"])
    counts = [int(number) for number in re.findall(r"(\d+) (?:pack|joker)", given["cards"])]
    cards = deck(*counts) if counts else read_cards(given["cards"])
    assert shuffle.commitment(seed).hex() == hashlib.sha256(seed).hexdigest() == given["commitment"]
    block = hmac.digest(seed, bytes([renewal]) + entropy + bytes(4), "sha256").hex()
    assert block == given["block(0)"]
    assert write_cards(shuffle.order(seed, cards, renewal=renewal, entropy=entropy)) == given["order"]
    page = of_the_page()
    begun = page["pack"](*counts) if counts else given["cards"].split()
    assert begun == write_cards(cards).split()
    assert page["shuffled"](begun, seed, renewal, entropy) == given["order"].split()


def test_there_are_test_vectors() -> None:
    """They show one pack and two, jokers, a renewal, and what players add."""
    given = [vector(body) for _, body in VECTORS]
    assert len(given) >= 5
    assert {one["renewal"] == "0" for one in given} == {one["entropy"] == "-" for one in given} == {True, False}


def test_every_key_of_a_replay_is_described() -> None:
    """The page on the replay document has each of its keys, in order."""
    table = REPLAY.split("\n## Keys\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(Replay.__struct_fields__)


def test_every_event_is_described_with_its_fields() -> None:
    """What the digest is made of is there: each event by its name, its fields in order, and the words they take."""
    table = REPLAY.split("\n## Events\n")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", table, re.MULTILINE))
    kinds = {str(kind.__struct_config__.tag): kind for kind in get_args(Event)}
    assert list(rows) == list(kinds)
    for name, kind in kinds.items():
        told = re.findall(r"`(\w+)`", rows[name].split(" | ")[0])
        assert [field for field in told if field in kind.__struct_fields__] == list(kind.__struct_fields__), name
    words = {"deal_ended": DealEnd, "stock_renewed": Renewal, "laid_down": MeldKind}
    for name, enum in words.items():
        assert [word for word in enum if f"`{word}`" not in rows[name]] == [], name


def test_every_move_is_described_as_it_is_written() -> None:
    """Each move on the page is one that a replay would hold, written so, and there is one of each kind."""
    table = REPLAY.split("\n## Moves\n")[1].split("\n## ")[0]
    moves = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
    more = re.findall(r"` ((?:as|at) \w+)`", table)
    assert more == ["as set", "as run", "at low", "at high"]
    actions = [read_action(move) for move in moves]
    assert [write_action(action) for action in actions] == moves
    assert {type(action) for action in actions} == set(get_args(Action))
    for end in more:
        move = next(move for move in moves if move.startswith("lay down" if end.startswith("as") else "lay off"))
        assert write_action(read_action(f"{move} {end}")) == f"{move} {end}"


@pytest.mark.clause("G5")
def test_the_example_of_a_replay_holds() -> None:
    """The document on the page can be played again, comes to the events below it, and they to its digest."""
    (document,) = re.findall(r"^```json\n(.+?)^```$", REPLAY, re.MULTILINE | re.DOTALL)
    (lines,) = re.findall(r"^```\n(deal_started .+?)^```$", REPLAY, re.MULTILINE | re.DOTALL)
    replay = read_replay(document.encode())
    assert failures(replay) == []
    assert "".join(f"{write_event(event)}\n" for step in replayed(replay) for event in step.events) == lines
    assert hashlib.sha256(lines.encode()).hexdigest() == replay.digest
    assert replay.rules == write_rules(read_rules(replay.rules), whole=True)


def of_the_page() -> dict[str, Callable[..., list[str]]]:
    """What the page's Python defines."""
    (code,) = re.findall(r"^```python\n(.+?)^```$", SHUFFLE, re.MULTILINE | re.DOTALL)
    defined: dict[str, Callable[..., list[str]]] = {}
    exec(code, defined)  # noqa: S102  a page of ours
    return defined
