"""The table of errors in docs/api.md, made of the codes in `service.api.errors` and the comments of the protos.

`python tools/error_table.py write | check`
"""

import re
import sys
from pathlib import Path

from google.rpc import code_pb2
from rummy.v1.error_reason_pb2 import DESCRIPTOR, ErrorReason

from service.api.errors import CODES, http_status_of
from service.api.rest.comments import comments

PAGE = Path(__file__).resolve().parent.parent / "docs" / "api.md"
PLACE = re.compile(r"(?<=<!-- errors: written by `make proto` -->\n).*?(?=<!-- /errors -->)", re.DOTALL)


def table() -> str:
    """The table, in the order of the enum."""
    said = comments(DESCRIPTOR)
    enum = ErrorReason.DESCRIPTOR
    lines = ["| reason | code | HTTP | |", "|---|---|---|---|"]
    for value in enum.values:
        reason = value.name.removeprefix("ERROR_REASON_")
        if reason in CODES:
            code = CODES[reason]
            text = said[f"{enum.full_name}.{value.name}"]
            lines.append(f"| `{reason}` | {code_pb2.Code.Name(code)} | {http_status_of(reason)} | {text} |")
    return "\n".join(lines) + "\n"


def main(command: str) -> None:
    """Writes the table into the page, or fails if the page has another."""
    page = PAGE.read_text()
    fresh = PLACE.sub(lambda _found: table(), page)
    if command == "write":
        PAGE.write_text(fresh)
    elif fresh != page or not PLACE.search(page):
        sys.exit("docs/api.md has not the errors that the server gives: run `make proto` and commit it")


if __name__ == "__main__":
    if sys.argv[1:] not in (["write"], ["check"]):
        sys.exit("usage: python tools/error_table.py write | check")
    main(sys.argv[1])
