"""What REST answers is what `/openapi.json` promises: all that it requires, and the rest now and then."""

import json
from collections import defaultdict
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from rummy.v1.game_pb2 import Game
from rummy.v1.rule_set_pb2 import RuleSet
from rummy.v1.rule_set_service_pb2 import GetRuleSetRequest

from tests.e2e.clients import Failure, RestClient
from tests.e2e.live import Rummyd
from tests.e2e.players import DRAW, game_of, sit_down, watching


class Answers:
    """Holds answers to their schemas, and keeps which fields were there and which were not."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.schemas: Mapping[str, dict[str, Any]] = document["components"]["schemas"]
        self.seen: dict[tuple[str, str], set[bool]] = defaultdict(set)
        """Of each property of a schema: whether it was there, whether it was not, or both."""
        self._document = document
        self._validators: dict[str, Draft202012Validator] = {}

    def hold(self, kind: str, text: bytes) -> None:
        """Holds an answer to the schema of its message."""
        if kind not in self._validators:
            reference = {**self._document, "$ref": f"#/components/schemas/{kind}"}
            self._validators[kind] = Draft202012Validator(reference)
        value = json.loads(text)
        assert [*self._validators[kind].iter_errors(value)] == []
        self._walk({"$ref": f"#/components/schemas/{kind}"}, value)

    def _walk(self, schema: Mapping[str, Any], value: Any) -> None:
        name = schema.get("$ref", "").rpartition("/")[2]
        schema = self.schemas.get(name, schema)
        for option in schema.get("oneOf", []):
            if {*self.schemas[option["$ref"].rpartition("/")[2]]["required"]} <= value.keys():
                self._walk(option, value)
        if name and "properties" in schema:
            assert value.keys() <= schema["properties"].keys(), name
            for field, described in schema["properties"].items():
                self.seen[name, field].add(field in value)
                if field in value:
                    self._walk(described, value[field])
        for item in value if isinstance(value, list) else []:
            self._walk(schema["items"], item)


async def every_call(rummyd: Rummyd, stack: AsyncExitStack) -> list[RestClient]:
    """Clients that have made every call: at a table with a turn limit, of several deals, and at others without one."""
    limited = game_of(2, "basic", deals=2, jokers=2)
    limited.turn_limit.turn.FromSeconds(3600)
    match = await sit_down(stack, rummyd, limited, ["rest"])
    ann, bob, spectator = *match.players, await stack.enter_async_context(RestClient(rummyd))
    watcher = await stack.enter_async_context(watching(spectator, match.name))
    await match.players[(await ann.get(match.name)).view.turn].suggestion(match.name)
    await ann.resume(match.name)
    await match.play()
    await watcher.ended()
    await spectator.events(match.name)
    await spectator.events(match.name, after=2)
    await spectator.replay(match.name)
    other = await stack.enter_async_context(RestClient(rummyd, ann.token))
    await other.rematch(match.name)

    hidden = await spectator.create(Game(seat_count=4, visibility=Game.VISIBILITY_PRIVATE))
    await spectator.find(hidden.join_code)
    for player in (ann, bob):
        await player.join(hidden.name)
    await ann.add_bot(hidden.name)
    await ann.start(hidden.name)
    await ann.legal(hidden.name)
    with pytest.raises(Failure):
        await spectator.act(hidden.name, [DRAW])
    await spectator.get(hidden.name)
    await bob.leave(hidden.name)
    quick = await stack.enter_async_context(RestClient(rummyd))
    await quick.quick_join(game_of(3, "rummy500"))
    await spectator.games()
    await spectator.rule_sets()
    await spectator.ask(GetRuleSetRequest(name="ruleSets/pool500"), RuleSet)
    await spectator.check(RuleSet(preset="basic"))
    await spectator.check(RuleSet(preset="basic", jokers=99))
    clients = [ann, bob, spectator, other, quick]
    return [client for client in clients if isinstance(client, RestClient)]


async def test_what_an_answer_promises_is_there_and_what_it_may_lack_is_not_always(
    rummyd: Rummyd, document: dict[str, Any]
) -> None:
    """Real answers to every call have what the document requires, and nothing that it does not describe.

    Each field that it does not require was there once, and once was not: a comment that says when a field is unset is
    not there for nothing.
    """
    answers = Answers(document)
    async with AsyncExitStack() as stack:
        told = {answer for client in await every_call(rummyd, stack) for answer in client.answers}
    for kind, text in told:
        answers.hold(kind, text)
    answered = {
        operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        for path in document["paths"].values()
        for operation in path.values()
        if operation["operationId"] != "Observe"
    }
    assert {kind for kind, _ in told} == answered | {"ObserveResponse", "Error"}
    both = {"Action.LayDown", "Action.LayOff"}  # what may be left out there is left out by clients
    optional = {
        (name, field)
        for name, field in answers.seen
        if name not in both and field not in answers.schemas[name].get("required", [])
    }
    assert {of for of in optional if answers.seen[of] != {True, False}} == set()
    assert {name for name, _ in optional} >= {"Game", "Game.Seat", "View", "RuleSet", "ListEventsResponse"}
