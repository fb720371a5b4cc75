"""From an HTTP request to the request message of its method, as `google.api.http` maps path, query and body."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from service.api.errors import Violation, invalid
from service.api.rest.from_json import Faults, descriptor_of, field_named, has_own_form, is_excluded, merge, set_value
from service.api.rest.json_text import parse
from service.api.rest.routes import Route
from service.api.rest.scalars import from_text

__all__ = ["transcode"]

_MOST_PARAMETERS: Final = 200


def transcode(route: Route, captured: Mapping[str, str], query: bytes, body: bytes) -> Message:
    """The request message that an HTTP request stands for.

    `captured` holds the fields of the path, `query` the raw query string, `body` JSON, or nothing where the route takes
    none. Raises ApiError INVALID_FIELD that names each fault: fields by their path in the body or in the query, unknown
    ones by the name that was given.
    """
    message = message_factory.GetMessageClass(route.method.input_type)()
    faults = Faults(_of_the_query(route))
    if route.body == "*":
        merge(message, parse(body), faults)
    elif route.body:
        field = descriptor_of(message).fields_by_name[route.body]
        if body.strip():
            set_value(message, field, parse(body), faults, "")
    for path, text in captured.items():
        _set_captured(message, path, text, faults)
    _set_query(message, route, query, faults)
    faults.refuse()
    return message


def _of_the_query(route: Route) -> Mapping[str, str]:
    """What belongs into the query where the body is one field of the request, by either of its names."""
    if route.body in {"", "*"}:
        return {}
    fields = [field for field in route.method.input_type.fields if field.name not in route.path_fields | {route.body}]
    text = "goes into the query of this call, not into its body"
    return {name: text for field in fields for name in (field.name, field.json_name)}


def _set_captured(message: Message, path: str, text: str, faults: Faults) -> None:
    """Sets a field of the path; where the body has it, too, both must agree."""
    *outer, last = path.split(".")
    for name in outer:
        message = getattr(message, name)
    field = descriptor_of(message).fields_by_name[last]
    before = getattr(message, last)
    written = before != field.default_value
    set_value(message, field, text, faults, field.json_name)
    if written and getattr(message, last) != before:
        faults.add(field.json_name, "differs from the path", "PATH_MISMATCH")


def _set_query(message: Message, route: Route, query: bytes, faults: Faults) -> None:
    closed = route.path_fields | {route.body}
    given: dict[str, tuple[list[FieldDescriptor], list[str]]] = {}
    for name, text in _parameters(query):
        steps = _steps(descriptor_of(message), name)
        path = ".".join(step.name for step in steps)
        if steps and route.body == "*" and path not in closed:
            faults.add(name, "goes into the body of this call, not into its query", "UNKNOWN_FIELD")
        elif not steps or path in closed or steps[0].name in closed:
            faults.add(name or '""', "no such query parameter", "UNKNOWN_FIELD")
        else:
            given.setdefault(".".join(step.json_name for step in steps), (steps, []))[1].append(text)
    for path, (steps, texts) in given.items():
        _set_parameter(message, steps, texts, faults, path)


def _parameters(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS)
    except UnicodeDecodeError:
        raise invalid([Violation("query", "must be UTF-8", "NOT_UTF8")]) from None
    except ValueError:
        raise invalid([Violation("query", f"has more than {_MOST_PARAMETERS} parameters", "TOO_MANY")]) from None


def _steps(descriptor: Descriptor | None, name: str) -> list[FieldDescriptor]:
    """The fields that a dotted name leads through, the last one a value. Empty where there is no such value."""
    steps: list[FieldDescriptor] = []
    for part in name.split("."):
        field = field_named(descriptor, part) if descriptor else None
        if field is None:
            return []
        steps.append(field)
        descriptor = _inner(field)
    last = steps[-1]
    return [] if descriptor or (last.message_type and last.is_repeated) else steps


def _inner(field: FieldDescriptor) -> Descriptor | None:
    """The message whose fields a dotted name may go on with."""
    inner = field.message_type
    return inner if inner and not field.is_repeated and not has_own_form(inner) else None


def _set_parameter(message: Message, steps: list[FieldDescriptor], texts: list[str], faults: Faults, path: str) -> None:
    *outer, field = steps
    for step in outer:
        if is_excluded(message, step, faults, path):
            return
        message = getattr(message, step.name)
    if field.is_repeated:
        set_value(message, field, [from_text(field, text) for text in texts], faults, path)
    elif len(texts) > 1:
        faults.add(path, f"given {len(texts)} times", "REPEATED_FIELD")
    else:
        set_value(message, field, from_text(field, texts[0]), faults, path)
