"""The fleet audit on a fleet: `python -m tests.benchmarks.fleet_audit --members 1000 --hours 24`.

Traces are generated into a temporary folder by a process of its own, audited here with a driver of limited memory, and
deleted. A thousand members' day is eight gigabytes, and takes as much again for what Spark shuffles. The exit code is 1 if
the memory in use was ever more than the driver's and a little beside it, whatever the size of the fleet.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from membership_client_spark import audit
from tests.benchmarks.command import tell
from tests.benchmarks.figures import Figure, Limit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BYTES_PER_MEMBER_HOUR = 400_000

_BESIDE_THE_HEAP_MB = 1_200
"""Python, and what a JVM has for code, threads and files that it reads and writes."""


def main() -> int:
    """0 if memory was bounded, 1 if not."""
    wanted = _parse()
    with tempfile.TemporaryDirectory(dir=wanted.folder) as name:
        folder = Path(name)
        _check_room(folder, 3 * _BYTES_PER_MEMBER_HOUR * wanted.members * wanted.hours)
        _generate(folder / "traces", wanted.members, wanted.hours)
        spark = _session(folder / "spark", wanted.driver_memory_mb)
        try:
            figures = _measure(spark, folder, wanted.driver_memory_mb)
        finally:
            spark.stop()
    return tell(figures, wanted.json)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.fleet_audit", description=__doc__)
    parser.add_argument("--members", type=int, default=1000)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--driver-memory-mb", type=int, default=2_000, help="heap of the JVM that does all the work")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    parser.add_argument("--folder", type=Path, help="where to make the temporary folder")
    return parser.parse_args()


def _check_room(folder: Path, needed: float) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        sys.exit(f"{folder} has {free / 1e9:.0f} GB free, and {needed / 1e9:.0f} GB are needed: give another --folder.")


def _generate(folder: Path, members: int, hours: float) -> None:
    folder.mkdir()
    command = [sys.executable, "-m", "tests.spark.audit.fleet", str(folder), "--members", str(members)]
    subprocess.run([*command, "--hours", str(hours)], check=True)


def _session(scratch: Path, memory_mb: int) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[*]").config("spark.driver.memory", f"{memory_mb}m")
    builder = builder.config("spark.local.dir", str(scratch)).config("spark.driver.host", "127.0.0.1")
    builder = builder.config("spark.ui.enabled", value=False).config("spark.ui.showConsoleProgress", value=False)
    return builder.getOrCreate()


def _measure(spark: SparkSession, folder: Path, memory_mb: int) -> list[Figure]:
    size = sum(path.stat().st_size for path in (folder / "traces").iterdir())
    began_at = time.monotonic()
    summary = audit(spark, folder / "traces").write(folder / "audit")
    took_s = time.monotonic() - began_at
    print(summary, flush=True)  # noqa: T201 - that is the answer
    how = f"{size / 1e9:.2f} GB, {summary.lines:,} lines of {summary.members} members in {took_s:.0f} s"
    return [
        Figure(name="audit", unit="MB/s", values={"ours": size / 1e6 / took_s}, how=how),
        Figure(
            name="audit's peak memory",
            unit="MB",
            values={"ours": _peak_of_java_mb() + resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3},
            how=f"JVM with a heap of {memory_mb} MB, and Python",
            limit=Limit(at_most=memory_mb + _BESIDE_THE_HEAP_MB),
        ),
    ]


def _peak_of_java_mb() -> float:
    """Of the JVM that this process started."""
    children = Path("/proc/self/task").glob("*/children")
    pids = [pid for file in children for pid in file.read_text().split()]
    (java,) = [pid for pid in pids if Path(f"/proc/{pid}/comm").read_text().strip() == "java"]
    status = dict(line.split(":", 1) for line in Path(f"/proc/{java}/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1e3


if __name__ == "__main__":
    sys.exit(main())
