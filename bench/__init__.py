"""Benchmarks of the engine, each beside a null baseline of the same run. `make bench` builds their own environment."""
