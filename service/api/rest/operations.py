"""One operation of the OpenAPI document: the parameters, body and answers of one route."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from service.api.errors import CODES, http_status_of
from service.api.rest.annotations import is_read_only, is_required, resource_type
from service.api.rest.cursor import LAST_EVENT_ID
from service.api.rest.error_docs import NAMES, code_name
from service.api.rest.examples import example
from service.api.rest.from_json import has_own_form
from service.api.rest.openapi_types import Schema, Value
from service.api.rest.routes import Route
from service.api.rest.schemas import Form, Schemas
from service.api.rest.sse import CONTENT_TYPE
from service.api.rest.stream_docs import ABOUT, event_schema

__all__ = ["Operations"]


class Operations:
    """Describes routes; the schemas that they refer to are added to `schemas`. Those of `keyed` need an API key."""

    def __init__(self, schemas: Schemas, comments: Mapping[str, str], keyed: frozenset[str] = frozenset()) -> None:
        self._schemas = schemas
        self._comments = comments
        self._keyed = keyed

    def of(self, route: Route) -> tuple[str, Schema]:
        """The path of a route as OpenAPI writes it, and its operation."""
        method = route.method
        path, parameters = self._path(route)
        parameters += self._query(route)
        parameters.append({"$ref": "#/components/parameters/X-Request-Id"})
        if method.server_streaming:
            parameters.append(LAST_EVENT_ID)
        operation: Schema = {
            "operationId": method.name,
            "tags": [method.containing_service.name],
            **_told(self._comments.get(method.full_name, "")),
            "parameters": parameters,
            "responses": self._good(route) | self._bad(route),
        }
        if method.name in self._keyed:
            operation["security"] = [{"apiKey": []}]
        if route.body:
            operation["requestBody"] = self._body(route)
        return path, operation

    def _path(self, route: Route) -> tuple[str, list[Value]]:
        parts = list(route.template.segments)
        parameters: list[Value] = []
        for variable in route.template.variables:
            field = _leaf(route.method.input_type, variable.field)
            wild = [place for place in range(variable.start, variable.stop) if "*" in parts[place]]
            for place in wild:
                name = _part_name(field) if len(wild) == 1 else f"{_part_name(field)}{place}"
                fixed = "/".join(parts[variable.start : place])
                parameters.append(self._path_parameter(field, name, fixed))
                parts[place] = f"{{{name}}}"
        verb = f":{route.template.verb}" if route.template.verb else ""
        return "/" + "/".join(parts) + verb, parameters

    def _path_parameter(self, field: FieldDescriptor, name: str, fixed: str) -> Schema:
        """A part of a field that the path holds, which follows the `fixed` part."""
        schema = self._schemas.field(field, Form.REQUEST)
        pattern, begins = schema.get("pattern"), f"^{fixed}/" if fixed else "^"
        follows = isinstance(pattern, str) and pattern.startswith(begins)
        return {
            "name": name,
            "in": "path",
            "required": True,
            "description": f"What follows `{fixed}/` in the name."
            if fixed
            else self._comments.get(field.full_name, ""),
            "schema": {"type": "string", "pattern": f"^{str(pattern)[len(begins) :]}" if follows else "^[^/:]+$"},
        }

    def _query(self, route: Route) -> list[Value]:
        if route.body == "*":
            return []
        found: list[Value] = []
        for names, field in _parameters(route.method.input_type, route.path_fields | {route.body}):
            schema = self._schemas.field(field, Form.REQUEST)
            about = schema.pop("description", "")
            found.append(
                {
                    "name": ".".join(names),
                    "in": "query",
                    "required": len(names) == 1 and is_required(field),
                    "description": about,
                    "schema": schema,
                }
            )
        return found

    def _body(self, route: Route) -> Schema:
        request = route.method.input_type
        if route.body == "*":
            required = any(is_required(field) for field in request.fields if field.name not in route.path_fields)
            media: Schema = {"schema": self._schemas.message(request, Form.REQUEST, route.path_fields)}
            media["example"] = example(request, without=route.path_fields)
        else:
            field = request.fields_by_name[route.body]
            required = is_required(field)
            media = {"schema": self._schemas.field(field, Form.REQUEST)}
            if field.message_type and not field.is_repeated:
                media["example"] = example(field.message_type)
        return {"required": required, "content": {"application/json": media}}

    def _good(self, route: Route) -> Schema:
        answer = route.method.output_type
        schema = self._schemas.message(answer, Form.ANSWER)
        headers: Schema = {"X-Request-Id": {"$ref": "#/components/headers/X-Request-Id"}}
        about = self._comments.get(answer.full_name, "")
        if not route.method.server_streaming:
            content: Schema = {"application/json": {"schema": schema}}
            return {"200": {"description": about, "headers": headers, "content": content}}
        content = {CONTENT_TYPE: {"schema": event_schema(answer, schema)}}
        return {
            "200": {"description": f"{about}\n\n{ABOUT}".strip(), "headers": headers, "content": content},
            "204": {"description": "Resumed when nothing was left to tell: do not come back.", "headers": headers},
        }

    def _bad(self, route: Route) -> Schema:
        return {
            str(status): {"$ref": f"#/components/responses/{NAMES[status]}"} for status in sorted(self._statuses(route))
        }

    def _statuses(self, route: Route) -> set[int]:
        """The statuses of errors: those of any call, those of its path and body, and those that the comments name."""
        request = route.method.input_type
        found = {400, 401, 429, 431, 500, 503}
        if route.path_fields:
            found.add(404)
        if route.body:
            found |= {408, 413, 415}
        if "request_id" in request.fields_by_name:
            found.add(409)
        names = [route.method.full_name, *(field.full_name for field in request.fields)]
        told = set(_CODE.findall(" ".join(self._comments.get(name, "") for name in names)))
        named = {http_status_of(reason) for reason, code in CODES.items() if code_name(code) in told}
        return found | (named - {405, 408, 413, 415, 431})


_CODE: Final = re.compile(r"\b[A-Z]+(?:_[A-Z]+)+\b|\b[A-Z]{5,}\b")


def _told(comment: str) -> Schema:
    """A comment as a summary, its first sentence, and all that follows."""
    first, _, rest = comment.partition("\n\n")
    head, stop, tail = first.partition(". ")
    summary = head + stop.strip() if stop else head
    description = "\n\n".join(filter(None, (tail, rest)))
    return {"summary": summary.removesuffix("."), "description": description}


def _leaf(descriptor: Descriptor, path: str) -> FieldDescriptor:
    *outer, last = path.split(".")
    for name in outer:
        inner = descriptor.fields_by_name[name].message_type
        if inner is None:
            raise ValueError(f"{path} leads through a field that has none")
        descriptor = inner
    return descriptor.fields_by_name[last]


def _part_name(field: FieldDescriptor) -> str:
    """What the varying part of a resource's name is called: by the resource's type, else as the field."""
    name = resource_type(field).rpartition("/")[2]
    return name[:1].lower() + name[1:] or field.json_name


def _parameters(
    descriptor: Descriptor, closed: frozenset[str], outer: tuple[FieldDescriptor, ...] = ()
) -> Iterator[tuple[list[str], FieldDescriptor]]:
    """The values that a query may hold, each with the names that lead to it."""
    for field in descriptor.fields:
        steps = (*outer, field)
        inner = field.message_type
        if ".".join(step.name for step in steps) in closed or is_read_only(field):
            continue
        if inner is None or (has_own_form(inner) and not field.is_repeated):
            yield [step.json_name for step in steps], field
        elif not field.is_repeated and inner not in {step.containing_type for step in steps}:
            yield from _parameters(inner, closed, steps)
