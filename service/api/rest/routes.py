"""From verb and path to a method of the API, by the `google.api.http` annotations in the protos.

    Routes(services).match("GET", "/v1/games/7k2m")   the route of GetGame, and {"name": "games/7k2m"}

The grammar of templates is that of google/api/http.proto. What an annotation may say and this front does not do is an
error when the server starts, never a route that quietly lacks it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

from google.api import http_pb2
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

from service.api.errors import Violation, invalid
from service.api.rest.annotations import http_rule
from service.api.rest.errors import not_allowed, not_found

__all__ = ["Route", "Routes", "Template", "Variable", "routes_of"]


@dataclass(frozen=True, slots=True)
class Variable:
    """A part of a path that is a field of the request: its path, such as `name`, and the segments that it spans."""

    field: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Template:
    """A path template, taken apart: segments (literal, `*` or `**`), variables over them, the verb after a colon."""

    segments: tuple[str, ...]
    variables: tuple[Variable, ...]
    verb: str

    @classmethod
    def parse(cls, text: str) -> "Template":
        """Takes apart a template such as `/v1/{name=games/*}:join`. Raises ValueError where it is none."""
        found = _TEMPLATE.fullmatch(text)
        if found is None:
            raise ValueError(f"not a path template: {text!r}")
        segments: list[str] = []
        variables: list[Variable] = []
        for part in _PART.finditer(found["path"]):
            start = len(segments)
            if part["field"]:
                segments += (part["spans"] or "*").split("/")
                variables.append(Variable(part["field"], start, len(segments)))
            else:
                segments.append(part["plain"])
        if "**" in segments[:-1]:
            raise ValueError(f"only the last segment may be **: {text!r}")
        return cls(tuple(segments), tuple(variables), found["verb"] or "")

    def pattern(self) -> re.Pattern[str]:
        """What paths look like, still percent-encoded: a group for each variable. A bare colon begins the verb."""
        last = len(self.segments) - 1
        forms = [_segment_pattern(segment, index == last) for index, segment in enumerate(self.segments)]
        for variable in self.variables:
            forms[variable.start] = "(" + forms[variable.start]
            forms[variable.stop - 1] += ")"
        return re.compile("".join("/" + form for form in forms) + (re.escape(":" + self.verb) if self.verb else ""))


@dataclass(frozen=True, slots=True)
class Route:
    """One HTTP binding of a method. `body` is the request's field that is the body, `*` for all, empty for none."""

    method: MethodDescriptor
    verb: str
    template: Template
    pattern: re.Pattern[str]
    body: str

    @property
    def path_fields(self) -> frozenset[str]:
        """The fields of the request that the path holds."""
        return frozenset(variable.field for variable in self.template.variables)


class Routes:
    """Every route of some services, found by verb and path; where several fit, the first that was declared."""

    def __init__(self, services: Iterable[ServiceDescriptor]) -> None:
        self._by_suffix: dict[str, list[Route]] = {}
        for service in services:
            for route in routes_of(service):
                self._by_suffix.setdefault(route.template.verb, []).append(route)

    @property
    def verbs(self) -> frozenset[str]:
        """The verbs of HTTP that some route takes."""
        return frozenset(route.verb for routes in self._by_suffix.values() for route in routes)

    def match(self, verb: str, path: str) -> tuple[Route, Mapping[str, str]]:
        """The route of a request, and the value of each field that its path holds.

        `path` is percent-encoded. Raises ApiError: METHOD_NOT_FOUND, VERB_NOT_ALLOWED where another would do, or
        INVALID_FIELD where a field is not UTF-8.
        """
        allowed = []
        suffix = path.rpartition("/")[2].partition(":")[2]
        for route in self._by_suffix.get(suffix, ()):
            if found := route.pattern.fullmatch(path):
                if route.verb == verb:
                    return route, _captured(route.template, found.groups())
                allowed.append(route.verb)
        raise not_allowed(allowed) if allowed else not_found()


def routes_of(service: ServiceDescriptor) -> Iterator[Route]:
    """The routes of each method, in the order of declaration. A method without an annotation has none."""
    for method in service.methods:
        rule = http_rule(method)
        if rule.WhichOneof("pattern") is None:
            continue
        for binding in (rule, *rule.additional_bindings):
            yield _route(method, binding)


_TEMPLATE: Final = re.compile(r"(?P<path>(?:/(?:\{[^{}]+\}|[^/{}:]+))+)(?::(?P<verb>[^/{}:]+))?")
_PART: Final = re.compile(r"/(?:\{(?P<field>[a-z0-9_.]+)(?:=(?P<spans>[^{}:]+))?\}|(?P<plain>[^/{}:]+))")
_ENCODED_SLASH: Final = re.compile("(%2[Ff])")


def _route(method: MethodDescriptor, rule: http_pb2.HttpRule) -> Route:
    kind = rule.WhichOneof("pattern")
    if kind is None or rule.response_body or method.client_streaming:
        raise ValueError(f"{method.full_name}: no response_body, client stream or rule without a path is possible here")
    verb, path = (rule.custom.kind, rule.custom.path) if kind == "custom" else (kind.upper(), str(getattr(rule, kind)))
    template = Template.parse(path)
    return Route(method, verb, template, template.pattern(), rule.body)


def _segment_pattern(segment: str, last: bool) -> str:
    if segment == "**":
        return "(?:[^/]+/)*[^/:]+"
    if segment == "*":
        return "[^/:]+" if last else "[^/]+"
    return re.escape(segment)


def _captured(template: Template, texts: tuple[str, ...]) -> dict[str, str]:
    values = {}
    for variable, text in zip(template.variables, texts, strict=True):
        whole = template.segments[variable.start : variable.stop] == ("*",)
        try:
            values[variable.field] = _decoded(text, whole=whole)
        except UnicodeError:
            raise invalid([Violation(variable.field, "must be UTF-8", "NOT_UTF8")]) from None
    return values


def _decoded(text: str, *, whole: bool) -> str:
    """Undoes percent-encoding; of a variable that spans several segments, %2F stays, as http.proto has it."""
    if "%" not in text:
        return text
    if whole:
        return unquote_to_bytes(text).decode()
    parts = _ENCODED_SLASH.split(text)
    parts[::2] = [unquote_to_bytes(part).decode() for part in parts[::2]]
    return "".join(parts)
