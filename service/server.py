"""A whole rummyd in one process: what it is made of, how it starts and how it stops.

    async with running(settings) as server:
        server.addresses              where it listens
        await server.failure()        returns when it cannot go on, and says why

It starts from below (Redis, store, metrics, then gRPC and REST) and stops from above.
"""

import asyncio
import gc
import platform
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final, Never

import structlog

from service.api.calls import Calls
from service.api.door import Door, Limits
from service.api.grpc import Age, GrpcServer
from service.api.handlers import build_calls
from service.api.keys import ApiKeys, BadKeysError
from service.api.rest import create_app
from service.api.rest.unread import refuse_unread
from service.census import keep_counting
from service.clock import Clock
from service.embedded import EmbeddedRedis
from service.games.desk import Desk
from service.games.last_seen import LastSeen
from service.http_server import HttpServer, listen
from service.observability import metrics, traces
from service.readiness import Readiness
from service.settings import Settings
from service.startup import StartError, listening, public, redis_of
from service.store.errors import BadAddress, ServerTooOld, StoreUnavailable
from service.store.feed import FeedLimits
from service.store.link import Limits as LinkLimits
from service.store.store import Options, Store
from service.tls import Tls, TlsError

__all__ = ["Addresses", "Server", "running"]

_POLL_S: Final = 0.5
_QUIET_S: Final = 0.2
_TURNING_AWAY_S: Final = 2.0
"""How long calls are turned away, at most, before the fronts end; see docs/decisions/calls-are-turned-away-first.md."""

_log: Final = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a server listens, each as (host, port), and where its games are kept, in words.

    `tls`: gRPC and REST are to be had by TLS only.
    """

    grpc: tuple[str, int]
    rest: tuple[str, int]
    metrics: tuple[str, int]
    games: str
    tls: bool


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs."""

    addresses: Addresses
    embedded: EmbeddedRedis | None
    tasks: tuple[asyncio.Task[None], ...]

    async def failure(self) -> str:
        """Waits until the server cannot go on, and says why. What may come back by itself, as a lost Redis, is none."""
        while True:
            if self.embedded is not None and not self.embedded.running:
                return "the embedded Redis has ended"
            done, _ = await asyncio.wait(self.tasks, timeout=_POLL_S, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                return f"{task.get_name()} has ended: {task.exception()!r}"


@asynccontextmanager
async def running(settings: Settings, *, shared: bool = False) -> AsyncIterator[Server]:
    """A server that runs meanwhile. At the end it drains: calls under way finish, streams are told to go elsewhere.

    With `shared` it is one of several processes on the same ports, and another shows the metrics of all.
    Raises StartError where it cannot start; then nothing of it is left.
    """
    async with AsyncExitStack() as stack:
        tls, last_seen = _tls(settings), LastSeen()
        door = _door(settings, last_seen)
        url, games, embedded = await redis_of(settings, stack)
        store = await _store(settings, url, stack)
        metrics.describe(version("rummyd"))
        metrics_port = settings.metrics_port if shared else _show_metrics(settings, stack)
        if settings.traces_endpoint:
            _send_traces(settings, stack)

        desk = Desk(store, think_ms=settings.bot_think_ms, last_seen=last_seen)
        clock = Clock(desk, settings.clock_seconds)
        await clock.look()  # before any call: what was missed in an outage counts against no player
        ticking = _background(stack, "the clock", clock.keep())
        _background(stack, "the watch on the event loop", metrics.watch_loop())
        counting = _background(stack, "the census", keep_counting(desk))
        calls = build_calls(desk, heartbeat_s=settings.heartbeat_seconds, door=door)
        grpc = GrpcServer(
            calls,
            max_request_bytes=settings.max_request_bytes,
            trusted_proxies=settings.trusted_proxies,
            receive_s=settings.receive_seconds,
            send_s=settings.send_seconds,
            connection_age=Age(settings.grpc_connection_age_seconds) if settings.grpc_connection_age_seconds else None,
            shared=shared,
        )
        with listening("gRPC", settings.grpc_host, settings.grpc_port):
            # gRPC itself would not say why it cannot.
            listen(settings.grpc_host, settings.grpc_port, shared=shared).close()
            grpc_port = await grpc.start(settings.grpc_host, settings.grpc_port, tls)
        stack.push_async_callback(grpc.stop, 0)

        ready = Readiness(store.lost_shards, grpc.tell)
        await ready.refresh()
        pulse = _background(stack, "the pulse", ready.keep())
        rest = _rest(settings, calls, ready, tls, shared=shared)

        addresses = Addresses(
            grpc=(settings.grpc_host, grpc_port),
            rest=(settings.rest_host, rest.port),
            metrics=(settings.metrics_host, metrics_port),
            games=games,
            tls=tls is not None,
        )
        gc.freeze()  # what lives as long as the server is not gone through again and again
        _log.info("started", grpc_port=grpc_port, rest_port=rest.port, metrics_port=metrics_port)
        try:
            yield Server(addresses, embedded, (pulse, ticking, counting, rest.task))
        finally:
            end = asyncio.get_running_loop().time() + settings.grace_seconds
            await ready.drain()
            await store.feed.close()  # every watcher is told to go on elsewhere
            await _drain(calls, grpc, rest, end)
            _log.info("stopped")


async def _drain(calls: Calls, grpc: GrpcServer, rest: HttpServer, end: float) -> None:
    """Turns calls away, then ends the fronts, both before `end`, a time of the loop."""

    def left() -> float:
        return max(end - asyncio.get_running_loop().time(), 0.0)

    await calls.drain(_QUIET_S, min(_TURNING_AWAY_S, left()))
    grace_s = left()
    await asyncio.gather(grpc.stop(grace_s), rest.stop(grace_s))


def _rest(settings: Settings, calls: Calls, ready: Readiness, tls: Tls | None, *, shared: bool) -> HttpServer:
    """The REST front, which serves from now on."""
    app = create_app(
        calls,
        ready=ready,
        cors_origins=settings.cors_origins,
        max_body_bytes=settings.max_request_bytes,
        receive_s=settings.receive_seconds,
        trusted_proxies=settings.trusted_proxies,
    )
    with listening("REST", settings.rest_host, settings.rest_port):
        listener = listen(settings.rest_host, settings.rest_port, shared=shared)
    return HttpServer(
        app,
        listener,
        receive_s=settings.receive_seconds,
        send_s=settings.send_seconds,
        refuse=refuse_unread,
        tls=tls.context if tls else None,
    )


def _background(stack: AsyncExitStack, name: str, work: Coroutine[None, None, Never]) -> asyncio.Task[Never]:
    """Has this done meanwhile, until the stack's end."""
    task = asyncio.create_task(work, name=name)
    stack.push_async_callback(_end, task)
    return task


async def _end(task: asyncio.Task[Never]) -> None:
    """Cancels the task, and waits until it has ended. In Python 3.11 what it awaits may swallow the telling."""
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=_POLL_S)


def _tls(settings: Settings) -> Tls | None:
    """What the fronts need for TLS; None: they use none."""
    if not (settings.tls_certificate or settings.tls_key or settings.tls_client_ca):
        return None
    if not (settings.tls_certificate and settings.tls_key):
        raise StartError("TLS needs both a certificate and its key (--tls-certificate, --tls-key)")
    try:
        return Tls.read(settings.tls_certificate, settings.tls_key, settings.tls_client_ca)
    except TlsError as error:
        raise StartError(f"TLS: {error}") from error


def _door(settings: Settings, last_seen: LastSeen) -> Door:
    """Who may call, and how often."""
    limits = Limits(
        calls_per_second=settings.limit_calls_per_second,
        acts_per_second=settings.limit_acts_per_second,
        burst_s=settings.limit_burst_seconds,
        tables_per_minute=settings.limit_tables_per_minute,
        failures_per_minute=settings.limit_failures_per_minute,
        streams_per_caller=settings.limit_streams_per_caller,
        watchers_per_table=settings.limit_watchers_per_table,
    )
    return Door(limits, _api_keys(settings), last_seen)


def _api_keys(settings: Settings) -> ApiKeys:
    """The keys of the settings and of the file that they name."""
    try:
        in_file = Path(settings.api_keys_file).read_text("utf-8") if settings.api_keys_file else ""
        keys = ApiKeys.parse(f"{settings.api_keys}\n{in_file}")
    except BadKeysError as error:
        raise StartError(f"API keys: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise StartError(f"API keys: {settings.api_keys_file} cannot be read: {why}") from error
    if settings.api_keys_file and not keys:
        raise StartError(f"API keys: there is none in {settings.api_keys_file}")
    return keys


def _show_metrics(settings: Settings, stack: AsyncExitStack) -> int:
    """Shows the metrics until the stack's end, and gives their port."""
    with listening("metrics", settings.metrics_host, settings.metrics_port):
        shown = metrics.MetricsServer.start(settings.metrics_host, settings.metrics_port)
    stack.push_async_callback(shown.stop)
    return shown.port


def _send_traces(settings: Settings, stack: AsyncExitStack) -> None:
    """Sends traces until the stack's end."""
    try:
        from service.observability.otel import OtelTracer  # noqa: PLC0415  what it takes is an extra
    except ImportError as error:
        raise StartError("traces need OpenTelemetry: install rummyd[otel]") from error
    tracer = OtelTracer(
        settings.traces_endpoint,
        share=settings.traces_share,
        trust_parents=settings.traces_trust_parents,
        instance=settings.instance or platform.node(),
        release=version("rummyd"),
    )
    stack.push_async_callback(asyncio.to_thread, tracer.close)
    stack.callback(traces.use, None)
    traces.use(tracer)


async def _store(settings: Settings, url: str, stack: AsyncExitStack) -> Store:
    """The store in that Redis, found to answer."""
    options = Options(
        history=settings.history_length,
        keep_open_s=settings.keep_open_seconds,
        keep_playing_s=settings.keep_playing_seconds,
        keep_over_s=settings.keep_over_seconds,
        link=LinkLimits(
            connect_s=settings.redis_timeout_seconds,
            call_s=settings.redis_timeout_seconds,
            replicas=settings.redis_replicas,
        ),
        feed=FeedLimits(room=settings.watcher_queue, subscribe_s=settings.redis_timeout_seconds),
    )
    try:
        store = await Store.connect(url, options)
    except BadAddress as error:
        raise StartError(f"the Redis URL is unusable: {error}") from error
    except ServerTooOld as error:
        raise StartError(f"the Redis at {public(url)} is unusable: {error}") from error
    except StoreUnavailable as error:
        raise StartError(f"no Redis answers at {public(url)}: {error}") from error
    stack.push_async_callback(store.close)
    return store
