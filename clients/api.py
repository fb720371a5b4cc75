"""What a client asks of rummyd, whichever way it speaks.

Api          the calls, by the messages of `rummy.v1`: over gRPC (`clients.over_grpc`) or REST (`clients.over_rest`)
CallError    what came instead of an answer, from the server or from the network

async with GrpcApi("127.0.0.1:50051") as api:
    game = await api.create_game(pb.CreateGameRequest(game=Game(seat_count=2)))
    joined = await api.join_game(pb.JoinGameRequest(name=game.name, display_name="Ada"))
    legal = await api.list_legal_actions(pb.ListLegalActionsRequest(name=game.name), joined.token)
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from types import TracebackType
from typing import Self, TypeVar

from google.protobuf.message import Message
from rummy.v1 import game_service_pb2 as pb
from rummy.v1 import rule_set_service_pb2 as rules_pb
from rummy.v1.game_pb2 import Game
from rummy.v1.replay_pb2 import Replay
from rummy.v1.rule_set_pb2 import RuleSet

__all__ = ["Answer", "Api", "CallError"]

Answer = TypeVar("Answer", bound=Message)


class CallError(Exception):
    """A call that failed. `code` is a name of `google.rpc.Code` (`NOT_FOUND`), `text` a sentence for a developer.

    `reason` and `metadata` are those of the server's `google.rpc.ErrorInfo`, `retry_s` the seconds after which it wants
    to be asked again, if it says so. Where the server could not be reached, the code is UNAVAILABLE or
    DEADLINE_EXCEEDED, and there is no reason; CANCELLED, where it ended with the call under way.
    """

    def __init__(
        self,
        code: str,
        text: str,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        *,
        retry_s: float = 0.0,
    ) -> None:
        super().__init__(f"{reason or code}: {text}")
        self.code, self.text, self.reason = code, text, reason
        self.metadata = dict(metadata or {})
        self.retry_s = retry_s

    @property
    def worth_a_retry(self) -> bool:
        """Whether the same request, with the same request id, may do better.

        A version that is not the expected one stays so: that wants a new look, and a new request. A limit is over after
        a while; a message that is too large is not.
        """
        if self.code == "RESOURCE_EXHAUSTED":
            return self.reason == "LIMIT_EXCEEDED"
        if self.code == "ABORTED":
            return self.reason != "VERSION_MISMATCH"
        return self.code in {"UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"}


class Api(ABC):
    """Every call, in the order of the protos, which describe them in full. Each raises CallError and nothing else.

    `token` is a seat's. Where it may be left out, the caller is then a spectator. A way to speak is three methods:
    `call`, `observe` and `close`.
    """

    async def create_game(self, request: pb.CreateGameRequest) -> Game:
        """Creates a table, at which nobody sits yet."""
        return await self.call(request, Game)

    async def get_game(self, request: pb.GetGameRequest, token: str = "") -> Game:
        """Gets a table, as the caller may see it."""
        return await self.call(request, Game, token)

    async def find_game(self, request: pb.FindGameRequest) -> Game:
        """Finds a private table by its code."""
        return await self.call(request, Game)

    async def list_games(self, request: pb.ListGamesRequest) -> pb.ListGamesResponse:
        """Lists the public tables that wait for players, the newest first, page by page."""
        return await self.call(request, pb.ListGamesResponse)

    async def join_game(self, request: pb.JoinGameRequest) -> pb.JoinGameResponse:
        """Takes a seat. The answer has its token."""
        return await self.call(request, pb.JoinGameResponse)

    async def quick_join(self, request: pb.QuickJoinRequest) -> pb.JoinGameResponse:
        """Takes a seat at an open table that fits, or at a new one."""
        return await self.call(request, pb.JoinGameResponse)

    async def add_bot(self, request: pb.AddBotRequest, token: str) -> Game:
        """Puts a bot on a free seat."""
        return await self.call(request, Game, token)

    async def resume_seat(self, request: pb.ResumeSeatRequest, token: str) -> Game:
        """Takes the seat back from the bot that plays it while its player is away."""
        return await self.call(request, Game, token)

    async def leave_game(self, request: pb.LeaveGameRequest, token: str) -> Game:
        """Gives up the seat, and its token."""
        return await self.call(request, Game, token)

    async def rematch(self, request: pb.RematchRequest, token: str) -> pb.JoinGameResponse:
        """Takes the seat's place at the table where those who played here play again."""
        return await self.call(request, pb.JoinGameResponse, token)

    async def start_game(self, request: pb.StartGameRequest, token: str) -> Game:
        """Starts the match with those who are there."""
        return await self.call(request, Game, token)

    async def act(self, request: pb.ActRequest, token: str) -> pb.ActResponse:
        """Plays: every action of the request, in order, or none."""
        return await self.call(request, pb.ActResponse, token)

    async def list_legal_actions(self, request: pb.ListLegalActionsRequest, token: str) -> pb.ListLegalActionsResponse:
        """Lists what the rules allow the caller now, page by page."""
        return await self.call(request, pb.ListLegalActionsResponse, token)

    async def suggest_action(self, request: pb.SuggestActionRequest, token: str) -> pb.SuggestActionResponse:
        """Gets a hint: what a bot would do in the caller's place."""
        return await self.call(request, pb.SuggestActionResponse, token)

    async def get_replay(self, request: pb.GetReplayRequest, token: str = "") -> Replay:
        """Gets a finished match, whole, to be verified by anybody."""
        return await self.call(request, Replay, token)

    @abstractmethod
    def observe(self, request: pb.ObserveRequest, token: str = "") -> AsyncGenerator[pb.ObserveResponse]:
        """Watches a table. Ends when the match does; a stream that breaks off raises."""

    async def list_events(self, request: pb.ListEventsRequest, token: str = "") -> pb.ListEventsResponse:
        """Lists what has happened at a table after a version, once there is something or `wait` is over."""
        return await self.call(request, pb.ListEventsResponse, token)

    async def list_rule_sets(self, request: rules_pb.ListRuleSetsRequest) -> rules_pb.ListRuleSetsResponse:
        """Lists the presets, page by page."""
        return await self.call(request, rules_pb.ListRuleSetsResponse)

    async def get_rule_set(self, request: rules_pb.GetRuleSetRequest) -> RuleSet:
        """Gets one preset."""
        return await self.call(request, RuleSet)

    async def check_rule_set(self, request: rules_pb.CheckRuleSetRequest) -> rules_pb.CheckRuleSetResponse:
        """Finds every fault of a rule set. Faults are an answer, not an error."""
        return await self.call(request, rules_pb.CheckRuleSetResponse)

    @abstractmethod
    async def call(self, request: Message, answer: type[Answer], token: str = "") -> Answer:
        """Any of the calls above but `observe`: the request says which, `answer` is the class of what comes back."""

    @abstractmethod
    async def close(self) -> None:
        """Hangs up."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
