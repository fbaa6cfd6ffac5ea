"""The command `membership-client-spark`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

_DEMO = """\
Starts a broker and a small Spark cluster (two executors) on this machine. A pipeline reads a topic of orders epoch by
epoch and writes Parquet: the orders, and the revenue per customer. In the middle of an epoch one executor is killed with
SIGKILL. The summary shows what was produced, what is in the files, and whether the group was rebalanced. The exit code
is 0 if every order is there once and there was no rebalance, 1 if not, 2 if the demonstration cannot run.
"""

_DEMO_NEEDS = """\
Needs Linux and Java 17 or newer. Takes a minute or two. Real Kafka is started where its jars are in the cache, as they are after
scripts/test in a checkout; an embedded broker is started elsewhere.

example:
  membership-client-spark demo --records 20000 --keep /tmp/shop    and look at the Parquet files afterwards
"""

_FEWEST = 100


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code; a wrong command line exits with 2 and says what is wrong."""
    options = _parser().parse_args(arguments)
    return int(options.run(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="membership-client-spark", description="Kafka group membership for Spark jobs, shown and explained."
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    _add_demo(commands.add_parser("demo", help="watch a pipeline lose an executor, and no record"))
    return parser


def _add_demo(demo: argparse.ArgumentParser) -> None:
    demo.description, demo.epilog = _DEMO, _DEMO_NEEDS
    demo.formatter_class = argparse.RawDescriptionHelpFormatter
    demo.add_argument("--records", type=_records, default=100_000, metavar="N", help="how many; default: 100000")
    demo.add_argument("--keep", type=_path, metavar="DIR", help="write there, and leave it; new or empty")
    demo.add_argument("--svg", type=_path, metavar="FILE", help="also write a picture of the output (needs rich)")
    demo.set_defaults(run=_demo)


def _records(text: str) -> int:
    """With fewer records the run would end before an executor can be killed."""
    if not text.isdecimal() or int(text) < _FEWEST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {_FEWEST} on")
    return int(text)


def _path(text: str) -> Path:
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"{text[:100]!r} is not a path")
    return Path(text)


def _demo(options: argparse.Namespace) -> int:
    # Imported late: --help answers without starting anything.
    from membership_client_spark.demo.run import SparkDemoOptions, run  # noqa: PLC0415

    return run(SparkDemoOptions(records=options.records, keep=options.keep, svg=options.svg))
