"""The calls that a client has, held to those that the API has."""

import inspect
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message import Message
from rummy.v1 import game_service_pb2 as pb

from clients.api import Answer, Api
from clients.methods import METHODS, headers_of, method_of, timeout_of

NOT_THE_SERVERS = {"call", "close"}
METHOD_NAMES = sorted(method.name for method in METHODS.values())


class Asked(Api):
    """Answers each call with an empty message, and remembers the method and the token of the last."""

    def __init__(self) -> None:
        self.last = "", ""

    async def call(self, request: Message, answer: type[Answer], token: str = "") -> Answer:
        self.last = method_of(request).name, token
        return answer()

    async def observe(self, request: pb.ObserveRequest, token: str = "") -> AsyncGenerator[pb.ObserveResponse]:
        self.last = method_of(request).name, token
        yield pb.ObserveResponse()

    async def close(self) -> None: ...


def test_no_service_is_left_out() -> None:
    """The client knows every method of every service, each by a request that no other takes."""
    files = FileDescriptorSet.FromString(Path(pb.__file__).with_name("descriptors.binpb").read_bytes())
    services = [service for file in files.file if file.package == "rummy.v1" for service in file.service]
    assert sorted(method.name for service in services for method in service.method) == METHOD_NAMES


def test_nothing_is_made_up() -> None:
    """Each call of the client is one of the API's, and each of the API's is one of the client's."""
    calls = {name for name, _ in inspect.getmembers(Api, inspect.isfunction) if not name.startswith("_")}
    assert calls - NOT_THE_SERVERS == {_snake_case(name) for name in METHOD_NAMES}


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
async def test_a_call_is_its_methods(method: MethodDescriptor) -> None:
    """A call takes the method's request, asks for it as the caller, and gives the method's answer."""
    call = getattr(Asked, _snake_case(method.name))
    hints = get_type_hints(call)
    request, answer = hints["request"], hints["return"]
    assert request.DESCRIPTOR is method.input_type
    api, tokens = Asked(), ["token"] if "token" in hints else []
    if method.server_streaming:
        (answer, *_) = get_args(answer)
        (told,) = [message async for message in call(api, request(), *tokens)]
    else:
        told = await call(api, request(), *tokens)
    assert type(told) is answer
    assert answer.DESCRIPTOR is method.output_type
    assert api.last == (method.name, *(tokens or [""]))


def test_the_key_is_for_creating_tables() -> None:
    """A client that has an API key shows it where a table may be created, and at no other call."""
    keyed = {method.name for method in METHODS.values() if "x-api-key" in headers_of(_request(method), "", "key")}
    assert keyed == {"CreateGame", "QuickJoin"}
    assert headers_of(pb.QuickJoinRequest(), "", "") == {}
    assert headers_of(pb.ActRequest(), "token", "key") == {"authorization": "Bearer token"}


def test_who_waits_is_patient() -> None:
    """A call that waits for news may take longer by that."""
    usual = timeout_of(pb.ActRequest())
    waiting = pb.ListEventsRequest(name="games/a")
    waiting.wait.seconds = 20
    assert timeout_of(waiting) == usual + 20


def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _request(method: MethodDescriptor) -> Message:
    return message_factory.GetMessageClass(method.input_type)()
