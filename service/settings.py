"""The settings of rummyd: one frozen object, read from flags and from the environment. A flag wins over a variable.

`Settings` is the one table: the variables (`RUMMYD_GRPC_PORT`), the flags (`--grpc-port`), `--help` and the
documentation all come from its fields, their types and what is said of them.
"""

import argparse
import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated, Final, Literal, Never

import msgspec
from msgspec import Meta, inspect

__all__ = ["LOCAL_REDIS", "PREFIX", "TEST_PREFIX", "Row", "Settings", "SettingsError", "read", "table"]

PREFIX: Final = "RUMMYD_"
TEST_PREFIX: Final = "RUMMYD_TEST_"
"""Variables that begin so are for the tests, and no business of a server."""
LONGEST: Final = 400 * 24 * 3600
"""The longest time that anything is kept, in seconds."""
LOCAL_REDIS: Final = "redis://127.0.0.1:6379"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What can be set, with the default of each."""

    redis_url: Annotated[
        str,
        Meta(
            description="The Redis that keeps the games: redis://, rediss://, unix://, redis+sentinel://, "
            "rediss+sentinel://, redis+cluster:// or rediss+cluster://. "
            f"Empty: the embedded server with --embedded, otherwise {LOCAL_REDIS}.",
            extra={"secret": True},
        ),
    ] = ""
    embedded: Annotated[
        bool, Meta(description="Whether to start a Redis-compatible server of its own. Not needed with a Redis URL.")
    ] = False
    data_dir: Annotated[
        str, Meta(min_length=1, description="The folder where the embedded server keeps the games.")
    ] = ".data"
    throw_away: Annotated[
        bool, Meta(description="Whether the embedded server keeps nothing: its games end with it.")
    ] = False
    redis_timeout_seconds: Annotated[
        float, Meta(ge=0.05, le=60, description="Seconds that a call of Redis, or the start of a stream, may take.")
    ] = 2.0
    redis_replicas: Annotated[
        int,
        Meta(
            ge=0,
            le=16,
            description="How many replicas must have a commit before it is acknowledged. They are waited for half as "
            "long as the longest wait for Redis.",
        ),
    ] = 0
    keep_open_seconds: Annotated[
        int, Meta(ge=60, le=LONGEST, description="How long a table that waits for players is kept, in seconds.")
    ] = 24 * 3600
    keep_playing_seconds: Annotated[
        int, Meta(ge=60, le=LONGEST, description="How long a match is kept after its last act, in seconds.")
    ] = 7 * 24 * 3600
    keep_over_seconds: Annotated[
        int,
        Meta(
            ge=60, le=LONGEST, description="How long a match that is over is kept for replays and retries, in seconds."
        ),
    ] = 24 * 3600
    history_length: Annotated[
        int,
        Meta(ge=1, le=1_000_000, description="How many of a table's versions are kept for watchers to resume from."),
    ] = 1000

    workers: Annotated[
        int,
        Meta(
            ge=1,
            le=256,
            description="Processes that serve on the same ports (Linux only): one per core. One that ends is replaced.",
        ),
    ] = 1
    worker_silence_seconds: Annotated[
        int,
        Meta(
            ge=5,
            le=3600,
            description="How long one of several such processes may give no sign of life before it is killed and "
            "replaced, in seconds.",
        ),
    ] = 30
    grpc_host: Annotated[str, Meta(min_length=1, description="The address that gRPC listens on.")] = "127.0.0.1"
    grpc_port: Annotated[int, Meta(ge=0, le=65535, description="The port of gRPC. 0: any free one.")] = 50051
    grpc_connection_age_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=86_400,
            description="The age, give or take a tenth, at which a gRPC connection is closed, in seconds. Its client "
            "then opens another, which may lead to another server. 0: never.",
        ),
    ] = 600.0
    rest_host: Annotated[str, Meta(min_length=1, description="The address that REST and the docs listen on.")] = (
        "127.0.0.1"
    )
    rest_port: Annotated[int, Meta(ge=0, le=65535, description="The port of REST and the docs. 0: any free one.")] = (
        8080
    )
    metrics_host: Annotated[str, Meta(min_length=1, description="The address that the metrics listen on.")] = (
        "127.0.0.1"
    )
    metrics_port: Annotated[int, Meta(ge=0, le=65535, description="The port of the metrics. 0: any free one.")] = 9090
    tls_certificate: Annotated[
        str, Meta(description="The PEM file of the certificate of gRPC and REST, with its chain. Empty: no TLS.")
    ] = ""
    tls_key: Annotated[str, Meta(description="The PEM file of the certificate's key, not encrypted.")] = ""
    tls_client_ca: Annotated[
        str,
        Meta(
            description="The PEM file of CA certificates; a client's certificate must be signed by one of them (mutual "
            "TLS). Empty: clients need no certificate."
        ),
    ] = ""
    cors_origins: Annotated[
        tuple[str, ...],
        Meta(description="The origins of the web pages that may call REST, separated by commas. *: any."),
    ] = ("*",)
    max_request_bytes: Annotated[
        int, Meta(ge=1024, le=16_777_216, description="The largest request that is accepted, in bytes.")
    ] = 65_536

    trusted_proxies: Annotated[
        int,
        Meta(
            ge=0,
            le=16,
            description="How many proxies in front of the server add the address of their client to X-Forwarded-For. "
            "0: the header is ignored.",
        ),
    ] = 0
    api_keys: Annotated[
        str,
        Meta(
            description="The API keys of those who may create tables: NAME:KEY, separated by commas. A name may have "
            "several. Without keys here or in the file, anybody may create tables.",
            extra={"secret": True},
        ),
    ] = ""
    api_keys_file: Annotated[
        str, Meta(description="A file of further API keys, one per line. Lines that begin with # are comments.")
    ] = ""
    limit_calls_per_second: Annotated[
        float, Meta(ge=0, le=1e6, description="Sustained calls per second allowed per caller. 0: no limit.")
    ] = 100.0
    limit_acts_per_second: Annotated[
        float, Meta(ge=0, le=1e6, description="Sustained acts per second allowed per table. 0: no limit.")
    ] = 50.0
    limit_burst_seconds: Annotated[
        float, Meta(ge=1, le=3600, description="How many seconds' worth of calls, and of acts, may come in one burst.")
    ] = 20.0
    limit_tables_per_minute: Annotated[
        float, Meta(ge=0, le=1e6, description="Tables per minute that a caller may create. 0: no limit.")
    ] = 60.0
    limit_failures_per_minute: Annotated[
        float,
        Meta(
            ge=0,
            le=1e6,
            description="Wrong API keys per minute that an address may send before only keys known to be right are "
            "checked, and wrong codes before none is. 0: no limit.",
        ),
    ] = 60.0
    limit_streams_per_caller: Annotated[
        int, Meta(ge=0, le=1_000_000, description="Streams that a caller may have open at once. 0: no limit.")
    ] = 1000
    limit_watchers_per_table: Annotated[
        int, Meta(ge=0, le=1_000_000, description="Spectators who may watch a table at once. 0: no limit.")
    ] = 10_000

    clock_seconds: Annotated[
        float, Meta(ge=0.01, le=1, description="The interval of the looks for turns whose time is up, in seconds.")
    ] = 0.25
    bot_think_ms: Annotated[
        int,
        Meta(
            ge=0,
            le=60_000,
            description="How long a bot thinks on average over a draw, and again over the rest of its turn, in ms.",
        ),
    ] = 1000

    watcher_queue: Annotated[
        int,
        Meta(ge=1, le=100_000, description="How many versions a watcher may lag behind before its stream is ended."),
    ] = 256
    heartbeat_seconds: Annotated[
        float,
        Meta(
            ge=0.1,
            le=3600,
            description="The silence after which a watcher is sent a heartbeat, in seconds. The JavaScript client "
            "gives up a stream that is silent for 40 s (SILENCE_MS), and deploy/proxy/nginx.conf one that is for 60 s "
            "(proxy_read_timeout, grpc_read_timeout): with more than 30 here, raise both, and any other proxy's.",
        ),
    ] = 15.0
    send_seconds: Annotated[
        float,
        Meta(
            ge=0.1,
            le=3600,
            description="How long a client may read nothing of what it is sent before it is disconnected, in seconds.",
        ),
    ] = 30.0
    receive_seconds: Annotated[
        float,
        Meta(
            ge=0.1,
            le=3600,
            description="How long a client may take to send the message of a call, or over REST the head of a request "
            "and again its body, in seconds.",
        ),
    ] = 20.0
    grace_seconds: Annotated[
        float, Meta(ge=0, le=600, description="How long calls may still run after the signal to stop, in seconds.")
    ] = 10.0

    log_format: Annotated[
        Literal["auto", "console", "json"],
        Meta(description="The format of log lines. auto: console on a terminal, otherwise json."),
    ] = "auto"
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Meta(description="The lowest level of the lines that are logged.")
    ] = "info"
    traces_endpoint: Annotated[
        str,
        Meta(
            description="Where traces are sent, by OTLP over HTTP, as in http://collector:4318/v1/traces. Needs "
            "rummyd[otel]. Empty: no traces."
        ),
    ] = ""
    traces_share: Annotated[
        float, Meta(ge=0, le=1, description="The share of calls that are traced where the caller does not decide.")
    ] = 1.0
    traces_trust_parents: Annotated[
        bool,
        Meta(
            description="Whether a call with a traceparent goes on in the caller's trace, and the caller decides "
            "whether it is traced. Not for a server that the public calls."
        ),
    ] = False
    instance: Annotated[
        str, Meta(max_length=64, description="The name of this server in its log. Empty: the host's name.")
    ] = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A setting as `--help` and the documentation show it: `kind` says its type and range in words."""

    name: str
    variable: str
    flag: str
    kind: str
    default: str
    text: str
    secret: bool
    type: inspect.Type


class SettingsError(Exception):
    """Settings that cannot be used. `faults` has a line for each, which names the setting and where it comes from."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = tuple(faults)


def table() -> tuple[Row, ...]:
    """Every setting, in the order of `Settings`."""
    return tuple(_row(field) for field in inspect.type_info(Settings).fields)  # type: ignore[attr-defined]


def read(flags: Sequence[str], environment: Mapping[str, str]) -> Settings:
    """The settings from a command line (without the program's name) and the environment's variables.

    Raises SettingsError with every fault. `--help` and `--version` print, and raise SystemExit(0).
    """
    rows = table()
    environment = {name: text for name, text in environment.items() if not _LINK.match(f"{name}={text}")}
    faults = list(_unknown(rows, environment))
    try:
        parsed: dict[str, str] = vars(_parser(rows).parse_args(flags))
    except _FlagsError as error:
        raise SettingsError([*faults, str(error)]) from None
    given = [(row, row.variable, environment[row.variable]) for row in rows if row.variable in environment]
    given += [(row, row.flag, parsed[row.name]) for row in rows if row.name in parsed]
    values: dict[str, object] = {}
    for row, source, text in given:
        try:
            values[row.name] = _value(row, text)
        except msgspec.ValidationError:
            faults.append(f"{source}{'' if row.secret else f'={text}'}: must be {row.kind}")
    if faults:
        raise SettingsError(faults)
    return Settings(**values)  # type: ignore[arg-type]  # each was converted to its field's type


_LINK: Final = re.compile(
    rf"{PREFIX}(\w+_)?(SERVICE_HOST=|SERVICE_PORT(_\w+)?=|PORT=(tcp|udp|sctp)://)"
    rf"|{PREFIX}(\w+_)?PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?="
)
"""What Kubernetes sets for a Service: for one named rummyd-grpc also RUMMYD_GRPC_PORT=tcp://…, which is no setting."""


def _value(row: Row, text: str) -> object:
    """The text of a setting as a value of its type. Raises ValidationError."""
    if isinstance(row.type, inspect.VarTupleType):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    hint = Settings.__annotations__[row.name]
    return msgspec.convert(text, hint, strict=False)


def _unknown(rows: Sequence[Row], environment: Mapping[str, str]) -> Iterator[str]:
    """A fault for each variable that looks like a setting and is none: a misspelt one would be ignored otherwise."""
    known = [row.variable for row in rows]
    for name in environment:
        if name.startswith(PREFIX) and not name.startswith(TEST_PREFIX) and name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            yield f"{name}: no such setting" + (f"; did you mean {near[0]}?" if near else "")


class _FlagsError(Exception):
    """The command line cannot be parsed."""


class _Parser(argparse.ArgumentParser):
    """Raises what is wrong as one line, instead of printing the usage and ending the process."""

    def error(self, message: str) -> Never:
        raise _FlagsError(message)


def _parser(rows: Sequence[Row]) -> _Parser:
    """Takes every flag as text, as the environment has it: one reading does for both."""
    parser = _Parser(
        prog="rummyd",
        description="Rummy as a service, over gRPC and REST.",
        epilog=f"Each may be set by a variable instead, as in {PREFIX}GRPC_PORT=50051. A flag wins.",
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"rummyd {version('rummyd')}")
    for row in rows:
        said = f"{row.text} ({row.kind}; {row.default or 'empty'})".replace("%", "%%")
        if isinstance(row.type, inspect.BoolType):
            parser.add_argument(row.flag, dest=row.name, action="store_const", const="true", help=said)
            opposite = "--no-" + row.flag.removeprefix("--")
            parser.add_argument(opposite, dest=row.name, action="store_const", const="false", help=argparse.SUPPRESS)
        else:
            parser.add_argument(row.flag, dest=row.name, metavar="VALUE", help=said)
    return parser


def _row(field: inspect.Field) -> Row:
    said = field.type
    if not isinstance(said, inspect.Metadata):
        raise TypeError(f"{field.name} is not described")
    default = ",".join(field.default) if isinstance(field.default, tuple) else str(field.default)
    return Row(
        name=field.name,
        variable=PREFIX + field.name.upper(),
        flag="--" + field.name.replace("_", "-"),
        kind=_kind(said.type),
        default=default.lower() if isinstance(said.type, inspect.BoolType) else default,
        text=(said.extra_json_schema or {})["description"],
        secret=(said.extra or {}).get("secret", False),
        type=said.type,
    )


def _kind(said: inspect.Type) -> str:
    """A type and its range, as in "an integer from 0 to 65535"."""
    match said:
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType(ge=low, le=high):
            return f"an integer from {low} to {high}"
        case inspect.FloatType(ge=low, le=high):
            return f"a number from {low:g} to {high:g}"
        case inspect.LiteralType(values=values):
            return "one of " + ", ".join(map(str, values))
        case inspect.StrType(min_length=low, max_length=high):
            return "text" + (f" of at most {high} characters" if high else "") + (", not empty" if low else "")
        case inspect.VarTupleType():
            return "a list separated by commas"
    raise TypeError(f"a setting cannot be of type {said}")
