"""Many seeds: `python -m tests.consumer.simulation --seeds 10000 --first 0`. Exits with 1 if a rule was broken."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time

from tests.consumer.simulation.play import play

_TELL_S = 15.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.consumer.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    began, told, failed = time.monotonic(), time.monotonic(), 0
    seeds = range(options.first, options.first + options.seeds)
    with multiprocessing.Pool(os.cpu_count()) as pool:
        for number, verdict in enumerate(pool.imap_unordered(verdict_of, seeds, chunksize=20), start=1):
            if verdict is not None:
                failed += 1
                say(verdict)
            if time.monotonic() - told > _TELL_S:
                told = time.monotonic()
                say(f"{number} of {options.seeds} seeds, {failed} failed")
    say(f"{options.seeds} seeds from {options.first} on, {failed} failed, {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


def verdict_of(seed: int) -> str | None:
    """The error of the seed; None if there is none."""
    try:
        play(seed)
    except AssertionError as error:
        return f"seed {seed}: {error}"
    return None


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
