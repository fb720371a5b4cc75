import keyword
from collections.abc import Iterator

import pytest
from google.protobuf.descriptor import Descriptor, FileDescriptor
from rummy.v1 import (
    action_pb2,
    card_pb2,
    error_reason_pb2,
    event_pb2,
    game_pb2,
    game_service_pb2,
    replay_pb2,
    rule_set_pb2,
    rule_set_service_pb2,
    view_pb2,
)

from tools import protos

FILES = [
    module.DESCRIPTOR
    for module in (
        action_pb2, card_pb2, error_reason_pb2, event_pb2, game_pb2, game_service_pb2, replay_pb2, rule_set_pb2,
        rule_set_service_pb2, view_pb2,
    )
]  # fmt: skip
WORDS_OF_CPP = {
    "auto", "bool", "case", "char", "class", "const", "default", "delete", "do", "double", "enum", "explicit", "export",
    "extern", "false", "final", "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace",
    "new", "operator", "private", "protected", "public", "register", "short", "signed", "sizeof", "static", "struct",
    "switch", "template", "this", "throw", "true", "typedef", "typename", "union", "unsigned", "using", "virtual",
    "void", "volatile",
}  # fmt: skip


def messages(file: FileDescriptor) -> Iterator[Descriptor]:
    found = list(file.message_types_by_name.values())
    while found:
        message = found.pop()
        found += message.nested_types
        yield message


def camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.rpartition("/")[2])
def test_every_file_says_where_its_stubs_belong(file: FileDescriptor) -> None:
    """Go, Java, C# and Objective-C put what each file gives into one package, without anybody having to say where."""
    options = file.GetOptions()
    assert (options.go_package, options.java_package, options.csharp_namespace, options.objc_class_prefix) == (
        "rummyd/rummy/v1;rummyv1",
        "rummy.v1",
        "Rummy.V1",
        "RMY",
    )
    stem = file.name.rpartition("/")[2].removesuffix(".proto")
    assert (options.java_multiple_files, options.java_outer_classname) == (True, f"{camel(stem)}Proto")


def test_every_file_is_looked_at() -> None:
    """No proto is missing here."""
    assert [file.name for file in FILES] == protos.ours()


def test_no_field_has_a_name_that_a_language_has_to_change() -> None:
    """No field is a word of Python or C++, is called as its message (C#), or as what counts its neighbour (Java)."""
    taken = []
    for message in (found for file in FILES for found in messages(file)):
        names = [field.name for field in message.fields]
        counts = {f"{field.name}_count" for field in message.fields if field.is_repeated}
        taken += [
            f"{message.full_name}.{name}"
            for name in names
            if keyword.iskeyword(name) or name in WORDS_OF_CPP | counts or camel(name) == message.name
        ]
    assert taken == []
