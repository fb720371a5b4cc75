"""REST is what `/openapi.json` says: no server error, and no answer that the document does not know."""

import json
import os
import re
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
from rummy.v1 import game_service_pb2, rule_set_service_pb2

from tests.e2e.clients import Failure, RestClient
from tests.e2e.live import LONGEST_S, ROOT, Rummyd
from tests.e2e.players import DRAW, game_of, sit_down, watching

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
    "missing_required_header",
)
EXAMPLES = 15
"""Random cases an operation, beside several hundred that cover its parameters one by one."""


def test_every_answer_is_documented(rummyd: Rummyd, document: dict[str, Any], tmp_path: Path) -> None:
    """Schemathesis asks sense and nonsense of tables in every state, and each answer is one that the document knows."""
    options = {
        "--phases": "examples,coverage,fuzzing",
        "--checks": ",".join(CHECKS),
        "--max-examples": str(EXAMPLES),
        "--seed": "1",
        "--request-timeout": str(LONGEST_S),
        "--warnings": "off",
    }
    run = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", "run", "--continue-on-failure", "--generation-deterministic"]
        + [word for option in options.items() for word in option]
        + [f"{rummyd.rest}/openapi.json"],
        cwd=tmp_path,
        env=os.environ
        | {
            "SCHEMATHESIS_HOOKS": "tests.contract.placing",
            "RUMMYD_TEST_REST": rummyd.rest,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "proto/gen")]),
            "NO_COLOR": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    operations = sum(len(path) for path in document["paths"].values())
    assert f"Tested: {operations}" in run.stdout
    assert int(re.findall(r"(\d+) generated", run.stdout)[0]) > 500


def test_the_description_is_valid_openapi(document: dict[str, Any]) -> None:
    """`/openapi.json` is OpenAPI 3.1, and has every method of the protos."""
    assert [*OpenAPIV31SpecValidator(document).iter_errors()] == []
    described = {operation["operationId"] for path in document["paths"].values() for operation in path.values()}
    files = (game_service_pb2.DESCRIPTOR, rule_set_service_pb2.DESCRIPTOR)
    services = [service for file in files for service in file.services_by_name.values()]
    assert described == {method.name for service in services for method in service.methods}


@pytest.mark.parametrize("preset", ["basic", "rummy500", "pool500"])
async def test_what_a_match_answers_is_as_described(rummyd: Rummyd, document: dict[str, Any], preset: str) -> None:
    """Each answer and event of a whole match, and each refusal in it, has the form that the document gives it."""
    async with AsyncExitStack() as stack:
        match = await sit_down(stack, rummyd, game_of(3, preset, deals=1, jokers=2), ["rest"])
        spectator = await stack.enter_async_context(RestClient(rummyd))
        watcher = await stack.enter_async_context(watching(spectator, match.name))
        for player in match.players:
            with pytest.raises(Failure):
                await player.act(match.name, [DRAW, DRAW])
        await match.play()
        await watcher.ended()
        clients = [client for client in (spectator, *match.players) if isinstance(client, RestClient)]
        told = {answer for client in clients for answer in client.answers}
    validators = {
        kind: Draft202012Validator({**document, "$ref": f"#/components/schemas/{kind}"})
        for kind in {kind for kind, _ in told}
    }
    assert validators.keys() >= {"Game", "ActResponse", "ListLegalActionsResponse", "ObserveResponse", "Error"}
    for kind, text in told:
        assert [*validators[kind].iter_errors(json.loads(text))] == []
