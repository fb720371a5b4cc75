"""The game of rummy, pure: no clock, no chance, no input or output.

`engine.step.step(state, seat, action)` plays one action; `engine.presets.PRESETS` names the games.
"""
