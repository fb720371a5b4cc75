"""Messages of any type, made up by Hypothesis from their descriptors, and the methods that REST serves."""

from itertools import count
from typing import Any

from google.api import annotations_pb2, http_pb2
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor, ServiceDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import strategies as st
from rummy.v1 import game_service_pb2, rule_set_service_pb2

from service.api.rest.annotations import is_required
from service.api.rest.comments import comments

SERVICES: list[ServiceDescriptor] = [
    game_service_pb2.DESCRIPTOR.services_by_name["GameService"],
    rule_set_service_pb2.DESCRIPTOR.services_by_name["RuleSetService"],
]
METHODS: list[MethodDescriptor] = [method for service in SERVICES for method in service.methods]
TOLD = comments(game_service_pb2.DESCRIPTOR)

_files = count()


def service_with(path: str, request: str = "rummy.v1.GetGameRequest", **rule: str) -> ServiceDescriptor:
    """A service of one method, annotated with GET, this path and this rule, which takes messages of this type."""
    of_request = descriptor_pool.Default().FindMessageTypeByName(request)
    number = next(_files)
    file = descriptor_pb2.FileDescriptorProto(name=f"made_{number}.proto", package=f"made{number}", syntax="proto3")
    file.dependency.append(of_request.file.name)
    method = file.service.add(name="S").method.add(name="M", input_type=f".{request}", output_type=f".{request}")
    http: http_pb2.HttpRule = method.options.Extensions[annotations_pb2.http]  # type: ignore[index]  # as in the product
    http.get = path
    for name, value in rule.items():
        setattr(http, name, value)
    descriptor_pool.Default().Add(file)
    return descriptor_pool.Default().FindServiceByName(f"made{number}.S")


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)

_SCALARS: dict[int, st.SearchStrategy[Any]] = {
    FieldDescriptor.CPPTYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: st.integers(-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: st.integers(0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: st.integers(0, 2**64 - 1),
    FieldDescriptor.CPPTYPE_DOUBLE: st.floats(allow_nan=False),
    FieldDescriptor.CPPTYPE_FLOAT: st.floats(allow_nan=False, width=32),
    FieldDescriptor.CPPTYPE_BOOL: st.booleans(),
}


@st.composite
def messages(draw: st.DrawFn, descriptor: Descriptor, depth: int = 4, *, answer: bool = False) -> Message:
    """A message of this type, each field set or not but for messages that it requires; its values keep to no rules.

    An `answer` has every field that is there always: one of each oneof, and what no comment says to be unset at times.
    """
    message = message_factory.GetMessageClass(descriptor)()
    if isinstance(message, Timestamp):
        message.seconds, message.nanos = draw(st.integers(0, 2**32)), draw(st.integers(0, 999_999_999))
        return message
    if isinstance(message, Duration):
        message.FromNanoseconds(draw(st.integers(-(2**62), 2**62)))
        return message
    chosen = {draw(st.sampled_from([field.name for field in oneof.fields])) for oneof in descriptor.oneofs if answer}
    for field in descriptor.fields:
        group = field.containing_oneof
        if answer and group and len(group.fields) > 1:
            needed = field.name in chosen
        elif answer:
            needed = field.has_presence and "unset" not in TOLD[field.full_name].lower()
        else:
            needed = depth > 0 and field.message_type is not None and is_required(field)
        if (group and message.WhichOneof(group.name)) or not (needed or (depth > 0 and draw(st.booleans()))):
            continue
        if field.is_repeated:
            fill(message, field, draw(st.lists(_values(field, depth, answer=answer), max_size=3)))
        elif field.message_type:
            getattr(message, field.name).CopyFrom(draw(_values(field, depth, answer=answer)))
            getattr(message, field.name).SetInParent()
        else:
            setattr(message, field.name, draw(_values(field, depth, answer=answer)))
    return message


def fill(message: Message, field: FieldDescriptor, values: list[Any]) -> None:
    """Sets a repeated field, or a map from pairs of its entries."""
    target = getattr(message, field.name)
    if field.message_type and field.message_type.GetOptions().map_entry:
        for entry in values:
            target[entry.key] = entry.value
    else:
        target.extend(values)


def _values(field: FieldDescriptor, depth: int, *, answer: bool) -> st.SearchStrategy[Any]:
    if field.message_type:
        return messages(field.message_type, depth - 1, answer=answer)
    if field.enum_type:
        return st.sampled_from([value.number for value in field.enum_type.values])
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return st.binary(max_size=6) if field.type == FieldDescriptor.TYPE_BYTES else TEXTS
    return _SCALARS[field.cpp_type]
