"""The desks, the store and the standing clock of the use cases' tests."""

from tests.service.games.conftest import clock, desk, new_desk, store

__all__ = ["clock", "desk", "new_desk", "store"]
