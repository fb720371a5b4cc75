"""TLS and mutual TLS, of gRPC, of REST and of the way to Redis."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import httpx
import pytest
from rummy.v1 import rule_set_service_pb2 as pb
from rummy.v1.rule_set_service_pb2_grpc import RuleSetServiceStub

from service.embedded import EmbeddedRedis
from service.server import Server, running
from service.settings import Settings, read
from service.startup import StartError
from service.store.errors import StoreUnavailable
from service.store.store import Store
from service.tls import Tls, TlsError
from tests.certificates import Authority
from tests.patience import LONGEST_S, patient
from tests.service.store.tables import created

Files = tuple[Path, Path]


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Who signs the server's certificate, and those of clients."""
    return Authority(tmp_path, "authority")


def settings(redis_url: str, **files: Path) -> Settings:
    """A server on free ports, with these files."""
    flags = [f"--{name.replace('_', '-')}={path}" for name, path in files.items()]
    return read(["--redis-url", redis_url, "--grpc-port=0", "--rest-port=0", "--metrics-port=0", *flags], {})


async def over_grpc(server: Server, authority: Authority, client: Files | None = None) -> int:
    """How many rule sets gRPC lists to a client that trusts the authority, and has this certificate if any."""
    files = [path.read_bytes() for path in client] if client else [None, None]
    credentials = grpc.ssl_channel_credentials(authority.certificate.read_bytes(), files[1], files[0])
    address = f"localhost:{server.addresses.grpc[1]}"
    async with grpc.aio.secure_channel(address, credentials) as channel:
        return len((await RuleSetServiceStub(channel).ListRuleSets(pb.ListRuleSetsRequest(), timeout=60)).rule_sets)


async def over_rest(server: Server, authority: Authority, client: Files | None = None) -> int:
    """How many REST lists."""
    context = ssl.create_default_context(cafile=str(authority.certificate))
    if client:
        context.load_cert_chain(*client)
    async with httpx.AsyncClient(verify=context, trust_env=False, timeout=LONGEST_S) as http:
        answer = await http.get(f"https://localhost:{server.addresses.rest[1]}/v1/ruleSets")
        return len(answer.json()["ruleSets"])


async def test_both_fronts_speak_tls(redis_url: str, authority: Authority) -> None:
    """With a certificate gRPC and REST are to be had by TLS, and by nothing else."""
    certificate, key = authority.sign("server")
    async with running(settings(redis_url, tls_certificate=certificate, tls_key=key)) as server:
        assert await over_grpc(server, authority) == await over_rest(server, authority) >= 5
        with pytest.raises(httpx.TransportError):
            async with httpx.AsyncClient(trust_env=False, timeout=LONGEST_S) as http:
                await http.get(f"http://localhost:{server.addresses.rest[1]}/v1/ruleSets")
        with pytest.raises(grpc.aio.AioRpcError):
            async with grpc.aio.insecure_channel(f"localhost:{server.addresses.grpc[1]}") as channel:
                await RuleSetServiceStub(channel).ListRuleSets(pb.ListRuleSetsRequest(), timeout=60)


async def test_mutual_tls_wants_a_clients_certificate(redis_url: str, authority: Authority, tmp_path: Path) -> None:
    """With an authority of clients, those without a certificate of it are turned away from both fronts."""
    certificate, key = authority.sign("server")
    stranger = Authority(tmp_path, "stranger").sign("nobody")
    tls = {"tls_certificate": certificate, "tls_key": key, "tls_client_ca": authority.certificate}
    async with running(settings(redis_url, **tls)) as server:
        client = authority.sign("client")
        assert await over_grpc(server, authority, client) == await over_rest(server, authority, client) >= 5
        for unknown in (None, stranger):
            with pytest.raises(grpc.aio.AioRpcError):
                await over_grpc(server, authority, unknown)
            with pytest.raises(httpx.TransportError):
                await over_rest(server, authority, unknown)


async def test_half_a_certificate_is_refused(redis_url: str, authority: Authority) -> None:
    """A certificate without its key, or an authority of clients alone, is one clear line."""
    for given in ({"tls_certificate": authority.certificate}, {"tls_client_ca": authority.certificate}):
        with pytest.raises(StartError, match="both a certificate and its key"):
            async with running(settings(redis_url, **given)):
                raise AssertionError("it has started")


def test_files_that_cannot_be_used_are_named(authority: Authority, tmp_path: Path) -> None:
    """A file that is missing, is no PEM, or does not belong to the other one, is named with the reason."""
    certificate, key = authority.sign("server")
    other = authority.sign("other")[1]
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("no certificate")
    missing = tmp_path / "missing.pem"
    for files, said in (
        ((missing, key, ""), "missing.pem cannot be read: No such file"),
        ((certificate, other, ""), "are no certificate with its key: key values mismatch"),
        ((nonsense, key, ""), "nonsense.pem and .* are no certificate with its key"),
        ((certificate, key, nonsense), "nonsense.pem holds no certificate of an authority"),
    ):
        with pytest.raises(TlsError, match=said):
            Tls.read(*map(str, files))


async def test_redis_by_tls(embedded_redis: EmbeddedRedis, authority: Authority) -> None:
    """A `rediss` address reaches a Redis behind TLS, with the authority and the certificate that it names."""
    certificate, key = authority.sign("server")
    client = authority.sign("client")
    context = Tls.read(str(certificate), str(key), str(authority.certificate)).context
    async with relay(embedded_redis.url, context) as port:
        options = f"ssl_ca_certs={authority.certificate}&ssl_certfile={client[0]}&ssl_keyfile={client[1]}"
        store = await Store.connect(f"rediss://localhost:{port}?{options}", patient())
        table = await created(store, versions=3)
        assert (await store.load(table.game)).table == table  # type: ignore[union-attr]
        async with store.feed.watch(table.game, 1) as watch:
            assert [(await anext(watch)).version for _ in range(2)] == [2, 3]
        await store.close()
        with pytest.raises(StoreUnavailable):
            await Store.connect(f"rediss://localhost:{port}?ssl_ca_certs={authority.certificate}")


@contextlib.asynccontextmanager
async def relay(target: str, context: ssl.SSLContext) -> AsyncIterator[int]:
    """The port of a TLS endpoint before a server at `unix://…`."""
    serving: set[asyncio.Task[None]] = set()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        up_reader, up_writer = await asyncio.open_unix_connection(target.removeprefix("unix://"))
        await asyncio.gather(pump(reader, up_writer), pump(up_reader, writer))
        for end in (writer, up_writer):
            with contextlib.suppress(OSError):
                await end.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        if serving:
            await asyncio.wait(serving, timeout=60)
