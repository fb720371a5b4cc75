"""How settings are read."""

import re
from pathlib import Path

import pytest

from service.settings import Settings, SettingsError, read, table

ROOT = Path(__file__).parents[2]


def test_defaults_need_nothing() -> None:
    """Without flags and variables every setting has its default."""
    assert read([], {}) == Settings()
    assert (Settings().grpc_port, Settings().rest_port, Settings().metrics_port) == (50051, 8080, 9090)


def test_flag_wins_over_variable() -> None:
    """A setting that is given both ways is the flag's."""
    assert read(["--grpc-port", "1"], {"RUMMYD_GRPC_PORT": "2"}).grpc_port == 1
    assert read([], {"RUMMYD_GRPC_PORT": "2"}).grpc_port == 2


def test_switches() -> None:
    """A switch needs no value as a flag, can be taken back, and is true or false as a variable."""
    assert read(["--embedded"], {}).embedded
    assert not read(["--no-embedded"], {"RUMMYD_EMBEDDED": "true"}).embedded
    assert read([], {"RUMMYD_EMBEDDED": "1"}).embedded


def test_lists_are_separated_by_commas() -> None:
    """A list is taken apart at its commas; blanks around them don't count."""
    assert read(["--cors-origins", "https://a.example, https://b.example"], {}).cors_origins == (
        "https://a.example",
        "https://b.example",
    )
    assert read(["--cors-origins", ""], {}).cors_origins == ()


@pytest.mark.parametrize(
    ("flags", "variables", "line"),
    [
        (["--grpc-port", "65536"], {}, "--grpc-port=65536: must be an integer from 0 to 65535"),
        ([], {"RUMMYD_GRPC_PORT": "http"}, "RUMMYD_GRPC_PORT=http: must be an integer from 0 to 65535"),
        ([], {"RUMMYD_GRPC_PORT": ""}, "RUMMYD_GRPC_PORT=: must be an integer from 0 to 65535"),
        ([], {"RUMMYD_GRACE_SECONDS": "-1"}, "RUMMYD_GRACE_SECONDS=-1: must be a number from 0 to 600"),
        ([], {"RUMMYD_GRACE_SECONDS": "nan"}, "RUMMYD_GRACE_SECONDS=nan: must be a number from 0 to 600"),
        ([], {"RUMMYD_EMBEDDED": "perhaps"}, "RUMMYD_EMBEDDED=perhaps: must be true or false"),
        (["--log-format", "xml"], {}, "--log-format=xml: must be one of auto, console, json"),
        (["--data-dir", ""], {}, "--data-dir=: must be text, not empty"),
        (["--grpc-port"], {}, "argument --grpc-port: expected one argument"),
        (["--grpc-prot", "1"], {}, "unrecognized arguments: --grpc-prot 1"),
        (["--grpc", "1"], {}, "unrecognized arguments: --grpc 1"),
        ([], {"RUMMYD_GRCP_PORT": "1"}, "RUMMYD_GRCP_PORT: no such setting; did you mean RUMMYD_GRPC_PORT?"),
        ([], {"RUMMYD_QQQQ": "1"}, "RUMMYD_QQQQ: no such setting"),
    ],
)
def test_bad_setting_is_named_with_its_source(flags: list[str], variables: dict[str, str], line: str) -> None:
    """A bad setting is one line that says where it comes from and what it must be."""
    with pytest.raises(SettingsError) as caught:
        read(flags, variables)
    assert caught.value.faults == (line,)


def test_all_faults_at_once() -> None:
    """Of several bad settings each has its line."""
    with pytest.raises(SettingsError) as caught:
        read(["--rest-port", "x"], {"RUMMYD_GRPC_PORT": "y", "RUMMYD_NOTHING": ""})
    assert len(caught.value.faults) == 3


def test_overridden_variable_must_still_be_good() -> None:
    """A bad variable is refused even where a flag wins over it."""
    with pytest.raises(SettingsError, match="RUMMYD_GRPC_PORT=x"):
        read(["--grpc-port", "1"], {"RUMMYD_GRPC_PORT": "x"})


def test_other_variables_are_left_alone() -> None:
    """Variables of the tests, and of others, are no settings."""
    assert read([], {"RUMMYD_TEST_REDIS_URL": "redis://x", "PATH": "/bin", "RUMMY": "1"}) == Settings()


def test_service_links_are_no_settings() -> None:
    """What Kubernetes sets for Services named rummyd, or rummyd-grpc, is neither a setting nor a fault."""
    links = {
        "RUMMYD_SERVICE_HOST": "10.0.0.1",
        "RUMMYD_SERVICE_PORT": "8080",
        "RUMMYD_SERVICE_PORT_REST": "8080",
        "RUMMYD_PORT": "tcp://10.0.0.1:8080",
        "RUMMYD_PORT_8080_TCP": "tcp://10.0.0.1:8080",
        "RUMMYD_PORT_8080_TCP_ADDR": "10.0.0.1",
        "RUMMYD_GRPC_SERVICE_HOST": "10.0.0.2",
        "RUMMYD_GRPC_PORT": "tcp://10.0.0.2:50051",
        "RUMMYD_GRPC_PORT_50051_TCP_PROTO": "tcp",
    }
    assert read([], links) == Settings()


def test_help_names_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` has every flag with its meaning, range and default."""
    with pytest.raises(SystemExit) as caught:
        read(["--help"], {})
    assert caught.value.code == 0
    printed = " ".join(capsys.readouterr().out.split())
    for row in table():
        assert f"{row.flag} " in printed
        assert f"{row.text} ({row.kind}; {row.default or 'empty'})" in printed


def test_a_long_heartbeat_says_what_it_needs() -> None:
    """The text of the heartbeat names the silence that the JavaScript client and the proxy of deploy/ put up with."""
    (text,) = [row.text for row in table() if row.flag == "--heartbeat-seconds"]
    client, proxy = [(ROOT / path).read_text() for path in ("clients/javascript/rummyd.js", "deploy/proxy/nginx.conf")]
    (ms,) = re.findall(r"^const SILENCE_MS = ([\d_]+);$", client, re.MULTILINE)
    seconds = set(re.findall(r"(?:proxy|grpc)_read_timeout (\d+)s;", proxy))
    assert re.findall(r"(\d+) s\b", text) == [str(int(ms) // 1000), *seconds]


def test_every_default_is_within_its_range() -> None:
    """What `--help` gives as a default may be given outright."""
    rows = [row for row in table() if row.default or (row.kind.startswith("text") and "not empty" not in row.kind)]
    assert len(rows) == len(table())
    assert read([], {row.variable: row.default for row in rows}) == Settings()
