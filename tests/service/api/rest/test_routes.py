"""Finding the method of a request."""

import re

import pytest

from service.api.errors import ApiError
from service.api.rest.errors import HttpError
from service.api.rest.routes import Routes, Template, Variable
from tests.service.api.rest.messages import METHODS, SERVICES, service_with

ROUTES = Routes(SERVICES)


@pytest.mark.parametrize(
    ("verb", "path", "method", "fields"),
    [
        ("POST", "/v1/games", "CreateGame", {}),
        ("GET", "/v1/games", "ListGames", {}),
        ("GET", "/v1/games/7k2m", "GetGame", {"name": "games/7k2m"}),
        ("POST", "/v1/games/7k2m:act", "Act", {"name": "games/7k2m"}),
        ("GET", "/v1/games/7k2m:legalActions", "ListLegalActions", {"name": "games/7k2m"}),
        ("GET", "/v1/games/7k2m:suggestedAction", "SuggestAction", {"name": "games/7k2m"}),
        ("GET", "/v1/games/a%20%C3%A9%3Ab:observe", "Observe", {"name": "games/a é:b"}),
        ("GET", "/v1/games/a%2Fb%2fc", "GetGame", {"name": "games/a%2Fb%2fc"}),
        ("GET", "/v1/ruleSets/basic", "GetRuleSet", {"name": "ruleSets/basic"}),
        ("POST", "/v1/ruleSets:check", "CheckRuleSet", {}),
    ],
)
def test_verb_and_path_name_the_method_and_the_fields_of_the_path(
    verb: str, path: str, method: str, fields: dict[str, str]
) -> None:
    """A request goes to the method whose annotation it fits, with percent-encoding undone as http.proto has it."""
    route, captured = ROUTES.match(verb, path)
    assert (route.method.name, captured) == (method, fields)


def test_every_method_has_a_route() -> None:
    """No method of the API is out of reach over HTTP."""
    assert {route.method for routes in ROUTES._by_suffix.values() for route in routes} == set(METHODS)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/v1",
        "/v1/",
        "/v1/games/",
        "/v1/games/a/b",
        "/v1/games/:join",
        "/v1/games:join",
        "/v1/games/a:fly",
        "//v1/games",
    ],
)
def test_a_path_that_no_method_has_is_not_found(path: str) -> None:
    """A path that fits no annotation is METHOD_NOT_FOUND, with 404."""
    with pytest.raises(ApiError) as caught:
        ROUTES.match("GET", path)
    assert (caught.value.reason, caught.value.http_status) == ("METHOD_NOT_FOUND", 404)


@pytest.mark.parametrize(
    ("verb", "path", "allow"),
    [
        ("DELETE", "/v1/games", "GET, POST"),
        ("GET", "/v1/games/a:join", "POST"),
        ("POST", "/v1/games/a", "GET"),
        ("HEAD", "/v1/games/a:observe", "GET"),
    ],
)
def test_a_known_path_with_another_verb_says_which_verbs_it_takes(verb: str, path: str, allow: str) -> None:
    """A path that other verbs have is 405, and `Allow` names them."""
    with pytest.raises(HttpError) as caught:
        ROUTES.match(verb, path)
    assert (caught.value.http_status, caught.value.headers) == (405, (("allow", allow),))


def test_a_path_that_is_not_utf8_names_the_field() -> None:
    """Bytes that are no UTF-8 are a fault of the field that they are for."""
    with pytest.raises(ApiError) as caught:
        ROUTES.match("GET", "/v1/games/%FF")
    assert [(violation.field, violation.reason) for violation in caught.value.violations] == [("name", "NOT_UTF8")]


def test_a_template_is_taken_apart_into_segments_variables_and_verb() -> None:
    """The grammar of http.proto: literals, wildcards, variables over several segments, and a verb."""
    template = Template.parse("/v1/{a.b=x/*/y/*}/{c}/z/**:go")
    assert template.segments == ("v1", "x", "*", "y", "*", "*", "z", "**")
    assert template.variables == (Variable("a.b", 1, 5), Variable("c", 5, 6))
    assert template.verb == "go"


@pytest.mark.parametrize("text", ["", "v1", "/", "/v1/", "/{}", "/{a", "/a:b:c", "/**/x", "/a/:b", "/{a=**}/x"])
def test_what_is_no_template_is_an_error_at_once(text: str) -> None:
    """An annotation that cannot be followed stops the server before it starts."""
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        Template.parse(text)


def test_a_single_segment_decodes_slashes_and_a_deep_one_keeps_them() -> None:
    """`{a}` undoes %2F, while `{a=**}` takes any number of segments and leaves %2F as it is."""
    assert Routes([service_with("/x/{a}")]).match("GET", "/x/p%2Fq")[1] == {"a": "p/q"}
    assert Routes([service_with("/x/{a=**}:go")]).match("GET", "/x/p%2Fq/r%20s:go")[1] == {"a": "p%2Fq/r s"}
    assert Routes([service_with("/x/{a}/y/{b}")]).match("GET", "/x/1:2/y/3")[1] == {"a": "1:2", "b": "3"}


def test_an_annotation_that_is_not_served_in_full_is_an_error_at_once() -> None:
    """A `response_body` is not done here, so it is refused rather than left out."""
    with pytest.raises(ValueError, match="response_body"):
        Routes([service_with("/x", response_body="name")])
