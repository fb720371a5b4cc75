"""The engine beside RLCard and OpenSpiel, in CPU time.

    make bench                      or, in that environment:  python -m bench.engine [--rounds N] [PART ...]

Parts: decisions, solver, rich, codec, step, legal. Both others play gin rummy, as they ship it; it has no lay-offs
before the end of a deal, and melds are sought at every decision. What is compared is thus the rate at which each can be
played, not the time for the same work.
"""

import argparse
import platform
from collections.abc import Callable, Mapping

from bench import games, solvers, states
from bench.measure import Work, rates, table

PARTS: Mapping[str, tuple[str, str, Callable[[], dict[str, Work]]]] = {
    "decisions": ("Random play, two seats", "decisions", games.contestants),
    "solver": ("Best melds of ten cards at random", "hands", lambda: solvers.contestants(solvers.random_hand)),
    "rich": ("Best melds of ten cards close together", "hands", lambda: solvers.contestants(solvers.rich_hand)),
    "codec": ("States as bytes", "states", states.coders),
    "step": ("Single steps", "steps", states.steppers),
    "legal": ("One action judged", "judgements", states.judges),
}


def main() -> None:
    """Measure the parts that are asked for, or all."""
    parser = argparse.ArgumentParser(prog="bench.engine", description="The engine beside RLCard and OpenSpiel.")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of each contestant (9)")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    asked = parser.parse_args()
    if unknown := set(asked.parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    print(f"Python {platform.python_version()}, {platform.machine()}; {asked.rounds} rounds")
    for name in asked.parts or PARTS:
        title, unit, contestants = PARTS[name]
        found = rates(contestants(), asked.rounds)
        print(*table(title, unit, found, null="null"), sep="\n")
        if name == "decisions":
            ours, *others = (rate.median for who, rate in found.items() if who != "null")
            print(f"  {ours / max(others):.2f} times the better of the two")


if __name__ == "__main__":
    main()
