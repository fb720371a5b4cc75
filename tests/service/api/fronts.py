"""The fronts as a server with the settings' defaults makes them, but for what a test says."""

from collections.abc import Callable, Sequence

from starlette.types import ASGIApp

from service.api.calls import Calls
from service.api.grpc import Age, GrpcServer
from service.api.rest import create_app
from service.api.rest.front import Front
from service.settings import Settings

DEFAULTS = Settings()


def new_app(
    calls: Calls,
    *,
    ready: Callable[[], bool] = lambda: True,
    cors_origins: Sequence[str] = DEFAULTS.cors_origins,
    max_body_bytes: int = DEFAULTS.max_request_bytes,
    trusted_proxies: int = DEFAULTS.trusted_proxies,
) -> ASGIApp:
    """The application on the REST port."""
    return create_app(
        calls,
        ready=ready,
        cors_origins=cors_origins,
        max_body_bytes=max_body_bytes,
        receive_s=DEFAULTS.receive_seconds,
        trusted_proxies=trusted_proxies,
    )


def new_front(
    calls: Calls, *, max_body_bytes: int = DEFAULTS.max_request_bytes, receive_s: float = DEFAULTS.receive_seconds
) -> Front:
    """The API over REST, without what stands beside it."""
    return Front(calls, max_body_bytes=max_body_bytes, receive_s=receive_s, trusted_proxies=DEFAULTS.trusted_proxies)


def new_grpc_server(
    calls: Calls,
    *,
    trusted_proxies: int = DEFAULTS.trusted_proxies,
    receive_s: float = DEFAULTS.receive_seconds,
    send_s: float = DEFAULTS.send_seconds,
    connection_age: Age | None = None,
) -> GrpcServer:
    """The API over gRPC."""
    return GrpcServer(
        calls,
        max_request_bytes=DEFAULTS.max_request_bytes,
        trusted_proxies=trusted_proxies,
        receive_s=receive_s,
        send_s=send_s,
        connection_age=connection_age,
        shared=False,
    )
