"""What the protos say beside names and types: HTTP bindings, behaviour of fields, resources and rules for values."""

from buf.validate import validate_pb2
from google.api import annotations_pb2, field_behavior_pb2, http_pb2, resource_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor

__all__ = ["http_rule", "is_of_resource", "is_read_only", "is_required", "must_choose", "resource_type", "rules_of"]

# The stubs of google.api call an extension a plain field, which is why each of its look-ups needs an ignore.


def http_rule(method: MethodDescriptor) -> http_pb2.HttpRule:
    """How a method is called over HTTP; without a pattern it is not."""
    rule: http_pb2.HttpRule = method.GetOptions().Extensions[annotations_pb2.http]  # type: ignore[index]
    return rule


def is_required(field: FieldDescriptor) -> bool:
    """Whether a request must set the field."""
    return field_behavior_pb2.REQUIRED in _behaviours(field)


def is_read_only(field: FieldDescriptor) -> bool:
    """Whether the field is the server's to set: in a request it counts for nothing."""
    return bool({field_behavior_pb2.OUTPUT_ONLY, field_behavior_pb2.IDENTIFIER} & _behaviours(field))


def is_of_resource(descriptor: Descriptor) -> bool:
    """Whether the message is a resource, such as Game, or declared in one, such as Game.TurnLimit."""
    while descriptor.containing_type is not None:
        descriptor = descriptor.containing_type
    of_message: resource_pb2.ResourceDescriptor = descriptor.GetOptions().Extensions[resource_pb2.resource]  # type: ignore[index]
    return bool(of_message.type)


def resource_type(field: FieldDescriptor) -> str:
    """The type of the resource that a field names, such as `rummyd/Game`; empty where it names none."""
    reference: resource_pb2.ResourceReference = field.GetOptions().Extensions[resource_pb2.resource_reference]  # type: ignore[index]
    return reference.type


def rules_of(field: FieldDescriptor) -> validate_pb2.FieldRules:
    """The rules for a field's values."""
    return field.GetOptions().Extensions[validate_pb2.field]


def must_choose(descriptor: Descriptor, oneof: str) -> bool:
    """Whether one field of a oneof must be set."""
    return descriptor.oneofs_by_name[oneof].GetOptions().Extensions[validate_pb2.oneof].required


def _behaviours(field: FieldDescriptor) -> frozenset[int]:
    return frozenset(field.GetOptions().Extensions[field_behavior_pb2.field_behavior])  # type: ignore[index]
