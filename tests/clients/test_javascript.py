"""The client in JavaScript, in node: what it makes of answers, every call of it, and a match of a live server."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE

import httpx
import pytest
from google.api import annotations_pb2, http_pb2
from google.protobuf.descriptor import Descriptor
from rummy.v1.action_pb2 import Action
from rummy.v1.event_pb2 import Event
from rummy.v1.game_pb2 import Game
from rummy.v1.view_pb2 import Options, View

from clients.methods import KEYED, METHODS
from tests.conftest import Lacking
from tests.e2e.live import LONGEST_S, ROOT, Rummyd

CLIENT = ROOT / "clients" / "javascript"
EVERY_CALL = """
import { Rummyd } from "./clients/javascript/rummyd.js";
for (const call of Object.getOwnPropertyNames(Rummyd.prototype).filter((name) => name !== "constructor")) {
  const fetch = async (request) => {
    const asked = `${request.url} ${await request.text()}`;
    const path = new URL(request.url).pathname.slice(1);
    const keyed = request.headers.has("x-api-key");
    console.log(JSON.stringify([call, request.method, path, asked.includes("requestId"), keyed]));
    return new Response(call === "observe" ? "event: end\\ndata: {}\\n\\n" : "{}");
  };
  const name = call === "getRuleSet" ? "ruleSets/*" : "games/*";
  const answer = new Rummyd("http://rummyd", { apiKey: "key", fetch })[call]({ name, game: {} });
  await (call === "observe" ? answer.next() : answer);
}
"""


@pytest.fixture(scope="module")
def node(lacking: Lacking) -> str:
    """Where node is."""
    return shutil.which("node") or lacking("no node is here: the client in JavaScript was not tried")


def test_what_it_makes_of_answers(node: str) -> None:
    """The module's own tests pass."""
    tests = sorted(map(str, (ROOT / "tests" / "clients" / "javascript").glob("*.test.js")))
    done = subprocess.run([node, "--test", *tests], check=False, capture_output=True, text=True, timeout=LONGEST_S)
    assert done.returncode == 0, done.stdout
    assert tests


def test_it_has_every_call(node: str) -> None:
    """Each method of the API is there by its name, with the verb, path, request id and key that it wants."""
    command = [node, "--input-type=module", "--eval", EVERY_CALL]
    said = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST_S).stdout
    wanted = list[tuple[object, ...]]()
    for method in METHODS.values():
        rule: http_pb2.HttpRule = method.GetOptions().Extensions[annotations_pb2.http]  # type: ignore[index]
        path = re.sub(r"\{name=(.*?)\}", r"\1", rule.get or rule.post).removeprefix("/")
        wants_id = "request_id" in method.input_type.fields_by_name
        keyed = method.input_type.full_name in {kind.DESCRIPTOR.full_name for kind in KEYED}
        name = method.name[0].lower() + method.name[1:]
        wanted.append((name, "GET" if rule.get else "POST", path, wants_id, keyed))
    assert sorted(tuple(json.loads(line)) for line in said.splitlines()) == sorted(wanted)


def test_the_table_in_a_page_names_what_there_is() -> None:
    """The fields, actions and events that the page's script names are those of the API."""
    script = (CLIENT / "examples" / "table.js").read_text()
    named: dict[Descriptor, set[str]] = {
        Game.DESCRIPTOR: set(re.findall(r"\bgame\??\.(\w+)", script)),
        View.DESCRIPTOR: set(re.findall(r"\bview\??\.(\w+)", script)),
        Options.DESCRIPTOR: set(re.findall(r"\boptions\??\.(\w+)", script)),
        Action.DESCRIPTOR: set(re.findall(r"\b(?:action\.|act\(\{ )(\w+)", script)),
        Event.DESCRIPTOR: set(re.findall(r"^  (\w+): \(", script.split("const EVENTS")[1], re.MULTILINE)),
    }
    for message, names in named.items():
        assert len(names) > 2, message.name
        assert names - {field.json_name for field in message.fields} == set()


def test_the_program_of_its_page_plays(node: str, redis_url: str, tmp_path: Path) -> None:
    """The program on the client's page sits down with a bot and plays to the match's end."""
    (program,) = re.findall(r"^```js\n(.*?)^```$", (CLIENT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    with Rummyd(tmp_path, "--bot-think-ms", "10", redis_url=redis_url) as server:
        program = program.replace("http://127.0.0.1:8080", server.rest) + "console.log(name);"
        done = subprocess.run(
            [node, "--input-type=module", "--eval", program],
            check=False,
            cwd=CLIENT,
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
        )
        assert done.returncode == 0, done.stderr
        with httpx.Client(base_url=f"{server.rest}/v1/", trust_env=False, timeout=LONGEST_S) as http:
            assert http.get(done.stdout.strip()).json()["state"] == "STATE_FINISHED"


def test_it_plays_a_match_across_the_end_of_the_server(node: str, redis_url: str, tmp_path: Path) -> None:
    """The example's players come to the match's end though the server is killed, and its watcher misses no version."""
    with Rummyd(tmp_path, redis_url=redis_url) as server:
        command = [node, str(CLIENT / "examples" / "match.js"), server.rest, "rummy500", "3"]
        with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True) as playing:
            assert playing.stdout
            assert playing.stderr
            said = list(_restarting(server, playing.stdout))
            wrong = playing.stderr.read()
        assert playing.returncode == 0, wrong
        with httpx.Client(base_url=f"{server.rest}/v1/", trust_env=False, timeout=LONGEST_S) as http:
            result = http.get(said[0]).json()["view"]["result"]
    versions = [int(line.split()[0]) for line in said if re.match(r"\d+ (?!snapshot)", line)]
    assert versions == list(range(versions[0], versions[-1] + 1))
    assert any(line.startswith("again, after ") for line in said)
    assert said[-1] == f"winners: {_joined(result['winners'])} scores: {_joined(result['scores'])}"


def _restarting(server: Rummyd, said: Iterator[str]) -> Iterator[str]:
    """What the example says; the server is killed and started again when the match is under way."""
    for line in said:
        yield line.strip()
        if line.startswith("20 "):
            server.kill()
            server.start()


def _joined(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))
