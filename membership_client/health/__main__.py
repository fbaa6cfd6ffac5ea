"""`python -m membership_client.health PATH`: a probe that reads the file that `membership_client.health.write()` writes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from membership_client.cli.terminal_text import printable
from membership_client.health.file import trouble_of

_MOST_AGE_S = 10.0


def main() -> None:
    """Exit with 0 if all is well, and else with 1 and a sentence that says why."""
    parser = argparse.ArgumentParser(
        prog="python -m membership_client.health",
        description="Tell whether the process that writes its health to a file is live; for exec probes.",
    )
    parser.add_argument("path", type=Path, help="the file, or a directory in which each process has one")
    kinds = parser.add_mutually_exclusive_group()
    for kind in ("ready", "started"):
        kinds.add_argument(
            f"--{kind}",
            dest="wanted",
            action="store_const",
            const=kind,
            help=f"test whether it is {kind}, instead of live",
        )
    parser.add_argument(
        "--max-age", type=float, default=_MOST_AGE_S, metavar="SECONDS", help="oldest report that counts (10)"
    )
    given = parser.parse_args()
    if (trouble := trouble_of(given.path, given.wanted or "live", given.max_age)) is not None:
        sys.exit(printable(trouble))


if __name__ == "__main__":
    main()
