"""Replays as messages. The JSON form of the message is the document that `engine.replay` reads."""

from rummy.v1 import replay_pb2 as pb

from engine.replay import Replay

__all__ = ["replay_to"]


def replay_to(replay: Replay) -> pb.Replay:
    """The replay, field by field."""
    return pb.Replay(
        format=replay.format,
        rules=replay.rules,
        seats=replay.seats,
        entropy=replay.entropy,
        seeds=replay.seeds,
        moves=replay.moves,
        scores=replay.scores,
        digest=replay.digest,
    )
