"""Every measurement by name, in the order of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tests.benchmarks import (
    assignors,
    asyncio_throughput,
    crowd,
    first_assignment,
    first_record,
    idle_cost,
    import_time,
    lateness,
    many_partitions,
    recording,
    rolling_restart,
    second_member,
    siblings,
    static_crash,
    throughput,
)
from tests.benchmarks.figures import Figure
from tests.benchmarks.stage import Sizes, Stage

Measure = Callable[[Stage, Sizes], list[Figure]]

MEASUREMENTS: dict[str, Measure] = {
    "first-assignment": first_assignment.measure,
    "first-record": first_record.measure,
    "second-member": second_member.measure,
    "siblings": siblings.measure,
    "static-crash": static_crash.measure,
    "rolling-restart": rolling_restart.measure,
    "lateness": lateness.measure,
    "idle-cost": idle_cost.measure,
    "crowd": crowd.measure,
    "many-partitions": many_partitions.measure,
    "assignors": assignors.measure,
    "throughput": throughput.measure,
    "asyncio-throughput": asyncio_throughput.measure,
    "recording": recording.measure,
    "import-time": import_time.measure,
}


def run(stage: Stage, sizes: Sizes, names: Iterable[str]) -> list[Figure]:
    """One after the other, so that none disturbs another."""
    return [figure for name in names for figure in MEASUREMENTS[name](stage, sizes)]
