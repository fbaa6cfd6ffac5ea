"""Runs programs of two public classes in one group for as long as is wanted, seed after seed.

python -m tests.soak member aio-member --seconds 60 --seed 1 --runs 10
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tests.soak.programs import PROGRAMS
from tests.soak.run import Plan, Run, failure_of
from tests.soak.seated_kafka import seated_kafka


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("programs", nargs=2, choices=sorted(PROGRAMS), metavar="PROGRAM", help=", ".join(PROGRAMS))
    parser.add_argument("--protocol", choices=("consumer", "classic"), default="consumer")
    parser.add_argument("--seconds", type=float, default=60.0, help="of trouble, in each run")
    parser.add_argument("--seed", type=int, default=1, help="of the first run; each run has the next one")
    parser.add_argument("--runs", type=int, default=1)
    wanted = parser.parse_args()
    failed = 0
    for seed in range(wanted.seed, wanted.seed + wanted.runs):
        plan = Plan(tuple(wanted.programs), wanted.protocol, seed, wanted.seconds)
        with seated_kafka() as kafka, tempfile.TemporaryDirectory() as directory:
            run = Run(kafka, Path(directory), plan)
            result = run.run()
            failed += bool(failure_of(result))
            if failure_of(result):
                sys.stderr.write(run.story() + "\n")
        print(json.dumps(result, indent=2), flush=True)  # noqa: T201 - the result is what it is for
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
