"""The use cases: what can be done with games, whichever front, timer or bot asks for it."""
