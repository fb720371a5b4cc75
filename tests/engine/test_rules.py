import msgspec

from engine.presets import PRESETS
from engine.rules import RuleSet


def test_a_rule_set_is_kept_by_position() -> None:
    """The encoded form is positional, so the fields keep their order for good, and new ones go to the end."""
    first, last = list(RuleSet.__struct_fields__)[:3], list(RuleSet.__struct_fields__)[-4:]
    assert (first, last) == (["seats", "packs", "jokers"], ["target", "deals", "settlement", "by_players"])
    for rules in PRESETS.values():
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(rules), type=RuleSet) == rules
