"""The comments of the protos, which generated code does not keep: `make proto` writes them beside it."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import FileDescriptor

__all__ = ["comments"]


def comments(beside: FileDescriptor) -> Mapping[str, str]:
    """The comment of each thing in the package of a proto, by its full name.

    A value of an enum has its enum's full name before its own: `rummy.v1.Game.State.STATE_OPEN`.
    """
    code = sys.modules[beside.name.removesuffix(".proto").replace("/", ".") + "_pb2"]
    stored = Path(str(code.__file__)).with_name("descriptors.binpb").read_bytes()
    described = descriptor_pb2.FileDescriptorSet.FromString(stored)
    return MappingProxyType(dict(pair for file in described.file for pair in _of_file(file)))


class _Named(Protocol):
    @property
    def name(self) -> str: ...


def _of_file(file: descriptor_pb2.FileDescriptorProto) -> Iterator[tuple[str, str]]:
    texts = {tuple(location.path): location.leading_comments for location in file.source_code_info.location}
    for path, name in _paths(file):
        if text := texts.get(path):
            yield name, _tidy(text)


_Place = tuple[tuple[int, ...], str]
"""Where a thing stands in a descriptor (numbers of fields and indices), and its full name."""


def _paths(file: descriptor_pb2.FileDescriptorProto) -> Iterator[_Place]:
    for path, name, message in _messages((), file.package, 4, file.message_type):
        yield path, name
        yield from _members(path, name, 2, message.field)
        yield from _members(path, name, 8, message.oneof_decl)
        yield from _enums(path, name, 4, message.enum_type)
    yield from _enums((), file.package, 5, file.enum_type)
    for (path, name), service in zip(_members((), file.package, 6, file.service), file.service, strict=True):
        yield path, name
        yield from _members(path, name, 2, service.method)


def _messages(
    path: tuple[int, ...], scope: str, number: int, found: Iterable[descriptor_pb2.DescriptorProto]
) -> Iterator[tuple[tuple[int, ...], str, descriptor_pb2.DescriptorProto]]:
    """Messages at any depth."""
    for index, message in enumerate(found):
        inner, name = (*path, number, index), f"{scope}.{message.name}"
        yield inner, name, message
        yield from _messages(inner, name, 3, message.nested_type)


def _enums(
    path: tuple[int, ...], scope: str, number: int, found: Sequence[descriptor_pb2.EnumDescriptorProto]
) -> Iterator[_Place]:
    for (inner, name), enum in zip(_members(path, scope, number, found), found, strict=True):
        yield inner, name
        yield from _members(inner, name, 2, enum.value)


def _members(path: tuple[int, ...], scope: str, number: int, found: Iterable[_Named]) -> Iterator[_Place]:
    for index, member in enumerate(found):
        yield (*path, number, index), f"{scope}.{member.name}"


def _tidy(text: str) -> str:
    """The comment without the blank that follows each `//`, a paragraph to a line."""
    paragraphs = "\n".join(line.removeprefix(" ").rstrip() for line in text.strip("\n").split("\n")).split("\n\n")
    return "\n\n".join(" ".join(paragraph.split("\n")) for paragraph in paragraphs)
