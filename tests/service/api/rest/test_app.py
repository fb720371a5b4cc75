"""The pages beside the API, and what browsers ask before they call it."""

import re
from pathlib import Path

import httpx
import pytest

from service.api.rest import docs, front
from tests.service.api.fronts import new_app
from tests.service.api.rest.conftest import Backend


async def test_health_says_that_the_process_lives(client: httpx.AsyncClient, backend: Backend) -> None:
    """The path /healthz is 200 even where the process wants no traffic."""
    backend.ready = False
    assert (await client.get("/healthz")).status_code == 200


async def test_readiness_is_what_the_process_says(client: httpx.AsyncClient, backend: Backend) -> None:
    """The path /readyz is 200 or 503, asked anew each time."""
    assert (await client.get("/readyz")).status_code == 200
    backend.ready = False
    assert (await client.get("/readyz")).status_code == 503


@pytest.mark.parametrize(
    "path", ["/docs/nothing", "/docs/../app.py", "/docs/%2e%2e/app.py", "/docs/swagger_ui", "/healthz/x"]
)
async def test_a_page_that_is_not_there_is_not_found(client: httpx.AsyncClient, path: str) -> None:
    """Only what lies in the folder of the docs is served, and the error has the form of every other."""
    answer = await client.get(path)
    assert answer.status_code == 404
    assert answer.json()["error"]["details"][0]["reason"] == "METHOD_NOT_FOUND"


async def test_a_fault_of_the_front_itself_is_answered_and_goes_on_to_the_log(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug of ours is INTERNAL to the client, says nothing of itself, and still reaches the server's log."""

    def crash(*_: object) -> None:
        raise KeyError("the seed is 42")

    monkeypatch.setattr(front, "transcode", crash)
    app = new_app(backend.calls())
    with pytest.raises(KeyError):
        await httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://rummyd").get("/v1/games")
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://rummyd") as http:
        answer = await http.get("/v1/games", headers={"X-Request-Id": "find-me"})
    assert (answer.status_code, answer.headers["x-request-id"]) == (500, "find-me")
    assert answer.json()["error"]["details"][0]["reason"] == "INTERNAL"
    assert "seed" not in answer.text


async def test_a_page_takes_get_only(client: httpx.AsyncClient) -> None:
    """Another verb on a page is 405, with what is allowed."""
    answer = await client.post("/healthz")
    assert (answer.status_code, set(answer.headers["allow"].split(", "))) == (405, {"GET", "HEAD"})
    assert answer.json()["error"]["code"] == 405


async def test_the_docs_are_whole_and_load_nothing_from_elsewhere(client: httpx.AsyncClient) -> None:
    """Every asset of the page is on this server, and the browser is told to load from nowhere else."""
    moved = await client.get("/docs")
    assert (moved.status_code, moved.headers["location"]) == (308, "./docs/")
    page = await client.get("/docs/")
    assert page.headers["content-type"].startswith("text/html")
    assets = re.findall(r'(?:src|href)="([^"]*)"', page.text)
    assert len(assets) == 4
    for asset in assets:
        assert "//" not in asset
        if asset != "data:,":
            found = await client.get(f"/docs/{asset}")
            assert found.status_code == 200
            assert found.headers["content-security-policy"] == page.headers["content-security-policy"] == docs.POLICY
    assert not re.search(r"https?:|\*", docs.POLICY)


def test_the_docs_load_only_the_document_of_this_server() -> None:
    """What starts Swagger UI names no address, and switches off the validator that is on the internet."""
    script = Path(docs.__file__).with_name("pages").joinpath("index.js").read_text()
    assert "//" not in script.replace("// the one", "")
    assert 'url: "../openapi.json"' in script
    assert "validatorUrl: null" in script


@pytest.mark.parametrize(
    "asked_for",
    [
        "authorization,content-type,last-event-id,x-api-key,x-request-id",
        "authorization,cache-control,last-event-id",
        "authorization,baggage,content-type,traceparent,tracestate",
    ],
)
async def test_a_page_of_an_allowed_origin_may_call(client: httpx.AsyncClient, asked_for: str) -> None:
    """The browser's question is answered with the headers that pages and their libraries send, without credentials."""
    asked = {
        "Origin": "https://table.example",
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": asked_for,
    }
    answer = await client.options("/v1/games/a:observe", headers=asked)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "https://table.example"
    assert "GET" in answer.headers["access-control-allow-methods"]
    allowed = answer.headers["access-control-allow-headers"].lower().split(", ")
    assert set(asked_for.split(",")) <= set(allowed)
    assert "access-control-allow-credentials" not in answer.headers
    called = await client.get("/v1/games/a", headers={"Origin": "https://table.example"})
    assert called.headers["access-control-allow-origin"] == "https://table.example"
    assert "X-Request-Id" in called.headers["access-control-expose-headers"]


async def test_a_page_of_another_origin_may_not_read_the_answer(client: httpx.AsyncClient) -> None:
    """An origin that is not on the list gets no permission."""
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    assert (await client.options("/v1/games", headers=asked)).status_code == 400
    assert "access-control-allow-origin" not in (await client.get("/v1/games", headers=asked)).headers


async def test_any_origin_may_call_unless_told_otherwise(backend: Backend) -> None:
    """By default the API is open to every frontend."""
    transport = httpx.ASGITransport(new_app(backend.calls()))
    async with httpx.AsyncClient(transport=transport, base_url="http://rummyd") as http:
        answer = await http.get("/v1/games", headers={"Origin": "https://any.example"})
    assert answer.headers["access-control-allow-origin"] == "*"


async def test_an_error_can_be_read_by_a_page_of_an_allowed_origin(client: httpx.AsyncClient) -> None:
    """A frontend sees why it was refused."""
    answer = await client.get("/v1/nothing", headers={"Origin": "https://table.example"})
    assert answer.headers["access-control-allow-origin"] == "https://table.example"
