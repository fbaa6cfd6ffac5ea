"""How the ranges of an epoch are shared by the tasks that read it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from membership_client_spark.pipeline.ranges import OffsetRange, offsets_in
from membership_client_spark.pipeline.read_tasks import default_tasks, share

RANGES = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 30)), min_size=1, max_size=6).map(
    lambda sizes: [OffsetRange("t", number, start, start + size) for number, (start, size) in enumerate(sizes)]
)


def offsets(ranges: list[OffsetRange]) -> list[tuple[int, int]]:
    return [(piece.partition, offset) for piece in ranges for offset in range(piece.start, piece.end)]


@given(RANGES, st.integers(1, 40))
def test_each_offset_is_read_by_one_task_and_tasks_are_equal(ranges: list[OffsetRange], tasks: int) -> None:
    """A range may be cut; no task is empty, and none has two pieces of a partition."""
    parts = share(ranges, tasks)
    assert [place for part in parts for place in offsets(part)] == offsets(ranges)
    sizes = [offsets_in(part) for part in parts]
    assert len(parts) == min(tasks, offsets_in(ranges))
    assert min(sizes) >= 1
    assert max(sizes) - min(sizes) <= 1
    assert all(len({piece.partition for piece in part}) == len(part) for part in parts)


def test_large_epochs_take_all_that_spark_runs_at_once_and_small_ones_do_not() -> None:
    """The number of tasks was that of the slots: two of eight cores read."""
    assert default_tasks(10_000_000, slots=2, parallelism=8) == 8
    assert default_tasks(1_000, slots=2, parallelism=8) == 2
    assert default_tasks(200_000, slots=2, parallelism=8) == 4
    assert default_tasks(10_000_000, slots=12, parallelism=8) == 12
