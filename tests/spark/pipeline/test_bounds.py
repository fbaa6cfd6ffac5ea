"""How much an epoch may contain, and how partitions share it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from membership_client_spark.pipeline.planning import Bounds, Experience, allot, record_limit

BACKLOGS = st.dictionaries(st.integers(0, 50), st.integers(0, 10**9), max_size=30)


@given(backlog=BACKLOGS, limit=st.integers(1, 10**6), turn=st.integers(0, 1000))
def test_the_bound_is_exact_and_used_up(backlog: dict[int, int], limit: int, turn: int) -> None:
    """As many records as allowed, or all there are; no partition gets more than it has."""
    shares = allot(backlog, limit, turn)
    assert sum(shares.values()) == min(limit, sum(backlog.values()))
    assert all(0 < count <= backlog[key] for key, count in shares.items())


@given(backlog=BACKLOGS, limit=st.integers(1, 10**6))
def test_nobody_starves(backlog: dict[int, int], limit: int) -> None:
    """Within as many epochs as there are partitions each that waits has its turn."""
    served: set[int] = set()
    for turn in range(len(backlog)):
        served |= allot(backlog, limit, turn).keys()
    assert served == {key for key, count in backlog.items() if count > 0}


def test_shares_are_in_proportion_to_what_waits() -> None:
    """A partition with nine times the backlog brings about nine times as much."""
    assert allot({"a": 9000, "b": 1000}, 100, 0) == {"a": 90, "b": 10}


def test_without_a_bound_everything_is_read() -> None:
    """Which is what waits, and not what does not."""
    assert allot({"a": 3, "b": 0}, record_limit(Bounds(), Experience()), 0) == {"a": 3}


def test_the_tightest_bound_counts() -> None:
    """Bytes by the size of records, seconds by their pace."""
    bounds = Bounds(max_records=1000, max_bytes=5000, max_seconds=10)
    assert record_limit(bounds, Experience(bytes_per_record=10, records_per_s=80)) == 500
    assert record_limit(bounds, Experience(bytes_per_record=10, records_per_s=8)) == 80
    assert record_limit(bounds, Experience(bytes_per_record=1, records_per_s=800)) == 1000


def test_what_nothing_is_known_of_is_begun_with_little() -> None:
    """Bytes were once no bound at all as long as no record had been seen: the first epoch then was all that waited."""
    for bounds in (Bounds(max_bytes=5000), Bounds(max_seconds=10)):
        assert record_limit(bounds, Experience()) == 10_000


def test_an_epoch_is_never_empty_by_its_bounds() -> None:
    """A record larger than max_bytes is read all the same, alone."""
    assert record_limit(Bounds(max_bytes=100), Experience(bytes_per_record=1000)) == 1


def test_small_epochs_do_not_slow_the_next_ones_down() -> None:
    """Five records that took a second say nothing about five million."""
    bounds = Bounds(max_seconds=10)
    fast = Experience().ran(1_000_000, 10, bounds)
    assert fast.ran(5, 1, bounds).records_per_s == fast.records_per_s


def test_epochs_that_take_too_long_get_smaller() -> None:
    """Until they fit, and not all at once, because one slow epoch may be chance."""
    bounds, known = Bounds(max_seconds=10), Experience(records_per_s=1000)
    for _ in range(20):
        records = record_limit(bounds, known)
        assert records is not None
        known = known.ran(records, records / 100, bounds)
    limit = record_limit(bounds, known)
    assert limit is not None
    assert 1000 <= limit <= 1100
