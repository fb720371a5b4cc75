"""The whole application on the REST port: the API, its description, its docs and the health of the process."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from service.api.callers import call_id_of
from service.api.calls import Calls
from service.api.errors import answer_to
from service.api.rest.answers import error_body
from service.api.rest.docs import Docs
from service.api.rest.errors import not_allowed, not_found
from service.api.rest.front import Front
from service.api.rest.openapi import document

__all__ = ["create_app"]


def create_app(
    calls: Calls,
    *,
    ready: Callable[[], bool],
    cors_origins: Sequence[str],
    max_body_bytes: int,
    receive_s: float,
    trusted_proxies: int,
) -> ASGIApp:
    """The ASGI application that serves `calls`.

    `ready` says whether the process should get traffic: `/readyz` answers 200 or 503 by it; `/healthz` answers 200 as
    long as the process can answer at all. Web pages from `cors_origins` (`*`: from anywhere) may call the API. A body
    may hold `max_body_bytes`, and take `receive_s` to come. `trusted_proxies` in front of it say truly for whom
    they speak.
    """
    front = Front(calls, max_body_bytes=max_body_bytes, receive_s=receive_s, trusted_proxies=trusted_proxies)
    described = document(calls.services, keyed=calls.keyed)

    async def openapi(_request: Request) -> Response:
        return Response(described, media_type="application/json")

    async def docs(_request: Request) -> Response:
        return RedirectResponse("./docs/", status_code=308)

    async def healthz(_request: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def readyz(_request: Request) -> Response:
        if ready():
            return JSONResponse({"status": "ready"})
        return JSONResponse({"status": "not ready"}, status_code=503, headers={"retry-after": "1"})

    app = Starlette(
        routes=[
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/openapi.json", openapi),
            Route("/docs", docs),
            Mount("/docs", Docs()),
        ],
        middleware=[_cors(cors_origins, front.verbs)],
        exception_handlers={HTTPException: _refused, Exception: _crashed},
    )
    app.router.redirect_slashes = False
    app.router.default = front
    return app


_DAY_S: Final = 24 * 60 * 60
_ALLOWED_HEADERS: Final = (
    *("Authorization", "Content-Type", "Last-Event-ID", "X-Api-Key", "X-Request-Id"),
    *("Cache-Control", "Baggage", "Traceparent", "Tracestate"),  # sent by libraries for streams, and for traces
)


def _cors(origins: Sequence[str], verbs: Iterable[str]) -> Middleware:
    """What browsers ask before pages of other origins may call. Credentials stay off: the token is no cookie."""
    return Middleware(
        CORSMiddleware,
        allow_origins=list(origins),
        allow_methods=sorted(verbs),
        allow_headers=_ALLOWED_HEADERS,
        expose_headers=["Retry-After", "WWW-Authenticate", "X-Request-Id"],
        max_age=_DAY_S,
    )


async def _refused(_request: Request, error: Exception) -> Response:
    """What Starlette refuses (no such page, wrong verb), in the form of every other error."""
    status, headers = (error.status_code, error.headers) if isinstance(error, HTTPException) else (500, None)
    answer = not_allowed((headers or {}).get("Allow", "GET").split(", ")) if status == 405 else not_found()
    return Response(error_body(answer), status, headers, media_type="application/json")


async def _crashed(request: Request, error: Exception) -> Response:
    """A fault of ours: the answer says nothing of it, and it goes on to the server's log."""
    call_id = call_id_of(request.headers.getlist("x-request-id"))
    body = error_body(answer_to(error, call_id))
    return Response(body, 500, {"x-request-id": call_id, "cache-control": "no-store"}, media_type="application/json")
