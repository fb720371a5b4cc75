"""The tables in docs/ that the sources say better: errors, settings, metrics, and the fields of a rule set in the API.

python tools/tables.py write      `make tables`
python tools/tables.py check      fails where a page has another table than the sources make
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from google.protobuf.descriptor import FieldDescriptor
from google.rpc import code_pb2
from rummy.v1.error_reason_pb2 import DESCRIPTOR, ErrorReason
from rummy.v1.rule_set_pb2 import RuleSet

from engine.rules import RuleSet as Rules
from service import settings
from service.api.errors import CODES, http_status_of
from service.api.rest.annotations import rules_of
from service.api.rest.comments import comments
from service.observability import metrics

DOCS: Final = Path(__file__).resolve().parent.parent / "docs"


def errors() -> Iterator[str]:
    """Every reason of an error, in the order of the enum, with what the protos say of it."""
    said = comments(DESCRIPTOR)
    enum = ErrorReason.DESCRIPTOR
    yield from ("| reason | code | HTTP | |", "|---|---|---|---|")
    for value in enum.values:
        reason = value.name.removeprefix("ERROR_REASON_")
        if reason in CODES:
            code = CODES[reason]
            text = said[f"{enum.full_name}.{value.name}"]
            yield f"| `{reason}` | {code_pb2.Code.Name(code)} | {http_status_of(reason)} | {text} |"


def settings_() -> Iterator[str]:
    """Every setting, as `rummyd --help` has it."""
    yield from ("| variable | flag | value | default | |", "|---|---|---|---|---|")
    for row in settings.table():
        default = f"`{row.default}`" if row.default else "empty"
        yield f"| `{row.variable}` | `{row.flag}` | {row.kind} | {default} | {row.text} |"


def metrics_() -> Iterator[str]:
    """Every metric of rummyd's own, by the names that Prometheus shows."""
    yield from ("| metric | kind | labels | |", "|---|---|---|---|")
    for metric in metrics.every():
        (told,) = metric.describe()
        name = f"{told.name}_total" if told.type == "counter" else told.name
        labels = ", ".join(f"`{label}`" for label in metric._labelnames)  # noqa: SLF001  nothing else tells them
        yield f"| `{name}` | {told.type} | {labels} | {told.documentation} |"


def rule_fields() -> Iterator[str]:
    """Every field of a rule set, by its key in rules.md, with its name in JSON and all values that the API takes."""
    yield from ("| key | in JSON | values |", "|---|---|---|")
    told = RuleSet.DESCRIPTOR.fields_by_name
    for key in Rules.__struct_fields__:
        if key in told:
            yield f"| `{key}` | `{told[key].json_name}` | {_values(told[key])} |"
        else:
            yield f"| `{key}` | | not a field: the preset's is kept |"


def _values(field: FieldDescriptor) -> str:
    if field.enum_type:
        return " · ".join(f"`{value.name}`" for value in field.enum_type.values if value.number)
    if field.message_type:
        inner = field.message_type.fields
        return "an object: " + ", ".join(f"`{part.json_name}`, {_values(part)}" for part in inner)
    if field.type == FieldDescriptor.TYPE_BOOL:
        return "`true` · `false`"
    rules = rules_of(field).int32
    return f"{rules.gte} to {rules.lte}"


TABLES: Final[Mapping[str, tuple[str, Callable[[], Iterator[str]]]]] = {
    "errors": ("api.md", errors),
    "settings": ("operations.md", settings_),
    "metrics": ("operations.md", metrics_),
    "rule fields": ("rules.md", rule_fields),
}
"""Each by its name: the page, and what makes its lines."""


def main(command: str) -> None:
    """Writes the tables into their pages, or fails if a page has another."""
    for name, (file, lines) in TABLES.items():
        page = (DOCS / file).read_text()
        place = re.compile(rf"(?<=<!-- {name}: written by `make tables` -->\n).*?(?=<!-- /{name} -->)", re.DOTALL)
        fresh = place.sub("".join(f"{line}\n" for line in lines()).replace("\\", r"\\"), page)
        if command == "write":
            (DOCS / file).write_text(fresh)
        elif fresh != page or not place.search(page):
            sys.exit(f"docs/{file} has other {name} than the sources: run `make tables` and commit it")


if __name__ == "__main__":
    if sys.argv[1:] not in (["write"], ["check"]):
        sys.exit("usage: python tools/tables.py write | check")
    main(sys.argv[1])
