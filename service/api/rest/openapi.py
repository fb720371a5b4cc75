"""The description of the API as OpenAPI 3.1, made of the protos: their annotations, comments and constraints."""

from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Final

import msgspec
from google.protobuf.descriptor import ServiceDescriptor

from service.api.rest.comments import comments
from service.api.rest.error_docs import error_responses
from service.api.rest.openapi_types import Schema
from service.api.rest.operations import Operations
from service.api.rest.routes import Route, routes_of
from service.api.rest.schemas import Form, Schemas, held_by

__all__ = ["document"]

_ABOUT: Final = (
    "Rummy at tables: create one, join it, play and watch. The same API is served as gRPC, from the same protos.\n\n"
    "Bodies are JSON. Names are in camel case; snake case is understood, too. In a request, a field left out has its "
    "default, an unknown one is refused, and one that only the server sets is ignored. In an answer, ignore what you "
    "do not know: a later release may add fields, events and enum values. A seat's token, which JoinGame answers with, "
    "goes into the header `Authorization: Bearer TOKEN`.\n\n"
    "Every error has the body that AIP-193 describes: a reason to act on, a sentence to read, "
    "and the path of each bad field. An HTTP method that a path does not take is 405, `VERB_NOT_ALLOWED`."
)


def document(services: Sequence[ServiceDescriptor], *, keyed: frozenset[str] = frozenset()) -> bytes:
    """The document of these services' methods, as JSON; those named in `keyed` need an API key.

    Services of several packages may not share a message's name.
    """
    told: dict[str, str] = {}
    for file in {service.file.package: service.file for service in services}.values():
        told |= comments(file)
    routes = [route for service in services for route in routes_of(service)]
    asked = held_by((route.method.input_type for route in routes), Form.REQUEST)
    answered = held_by((route.method.output_type for route in routes), Form.ANSWER)
    schemas = Schemas(told, asked, answered)
    paths = _paths(routes, Operations(schemas, told, keyed))
    error_schemas, responses = error_responses(told)
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "rummyd",
                "version": version("rummyd"),
                "description": _ABOUT,
                "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
            },
            "servers": [{"url": "/"}],
            "tags": [{"name": service.name, "description": told.get(service.full_name, "")} for service in services],
            "security": [{}, {"token": []}],
            "paths": paths,
            "components": {
                "schemas": dict(sorted((schemas.components | error_schemas).items())),
                "responses": responses,
                "parameters": {"X-Request-Id": _CALL_ID},
                "headers": {"X-Request-Id": _ANSWERED_ID},
                "securitySchemes": {"token": _TOKEN} | ({"apiKey": _API_KEY} if keyed else {}),
            },
        }
    )


_CALL_ID: Final[Schema] = {
    "name": "X-Request-Id",
    "in": "header",
    "description": "Finds the call in the server's log. Left out, or of another form: the server makes one.",
    "schema": {"type": "string"},
}
_ANSWERED_ID: Final[Schema] = {
    "description": "The id of the call in the server's log.",
    "required": True,
    "schema": {"type": "string", "pattern": "^[!-~]{1,64}$"},
}
_TOKEN: Final[Schema] = {
    "type": "http",
    "scheme": "bearer",
    "description": "The token of a seat. A call without one is a spectator's.",
}

_API_KEY: Final[Schema] = {
    "type": "apiKey",
    "in": "header",
    "name": "X-Api-Key",
    "description": "A key for creating tables. Ask the operator of the server for one.",
}


def _paths(routes: Iterable[Route], operations: Operations) -> Schema:
    paths: dict[str, Schema] = {}
    for route in routes:
        path, operation = operations.of(route)
        paths.setdefault(path, {})[route.verb.lower()] = operation
    return dict(paths)
