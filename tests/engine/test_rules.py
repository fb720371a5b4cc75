import re
from pathlib import Path

import msgspec

from engine.presets import PRESETS
from engine.rules import RuleSet

ROOT = Path(__file__).parents[2]


def test_every_clause_has_a_test_and_every_test_a_clause() -> None:
    """The clauses of docs/rules.md are just those that tests and cases carry."""
    written = re.findall(r"^\| \*\*([BFPG]\d+)\*\* \|", (ROOT / "docs/rules.md").read_text(), re.MULTILINE)
    marked = "".join(path.read_text() for path in sorted((ROOT / "tests").rglob("test_*.py")))
    in_cases = "".join(path.read_text() for path in sorted((ROOT / "tests/cases").glob("*.json")))
    carried = {*re.findall(r'mark\.clause\("([A-Z]\d+)"\)', marked), *re.findall(r'"clause": "(\w+)"', in_cases)}
    assert len(written) == len(set(written)) > 40
    assert set(written) == carried


def test_the_rules_name_where_each_clause_lives() -> None:
    """What docs/rules.md names as the place of a clause is there in the engine."""
    rows = re.findall(r"^\| \*\*\w+\*\* \|.*\| (.+) \|$", (ROOT / "docs/rules.md").read_text(), re.MULTILINE)
    for place in {place for row in rows for place in re.findall(r"`([\w.]+)`", row)}:
        module, _, name = place.partition(".")
        source = (ROOT / "engine" / f"{module}.py").read_text()
        assert not name or re.search(rf"^(def|class) {name}\b", source, re.MULTILINE), place


def test_a_rule_set_is_kept_by_position() -> None:
    """The encoded form is positional, so the fields keep their order for good, and new ones go to the end."""
    first, last = list(RuleSet.__struct_fields__)[:3], list(RuleSet.__struct_fields__)[-4:]
    assert (first, last) == (["seats", "packs", "jokers"], ["target", "deals", "settlement", "by_players"])
    for rules in PRESETS.values():
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(rules), type=RuleSet) == rules
