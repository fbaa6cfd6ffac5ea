"""Finds the first seed that breaks a rule: `python -m tests.simulation.find RULE SEEDS`; RULE is a part of the checker's text."""

from __future__ import annotations

import sys

from tests.simulation.generate import script_of
from tests.simulation.play import FailedRunError, play


def main(rule: str, seeds: int) -> str | None:
    """The text of the checker."""
    for seed in range(seeds):
        try:
            play(script_of(seed))
        except FailedRunError as failure:
            if rule in str(failure):
                return f"seed {seed}: {failure}"
    return None


if __name__ == "__main__":
    found = main(sys.argv[1], int(sys.argv[2]))
    sys.exit("no seed breaks that rule" if found is None else sys.stdout.write(found) and 0)
