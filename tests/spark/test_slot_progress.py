"""The progress of slots on the driver, from their claims and reports."""

from __future__ import annotations

from typing import Any

from membership_client_spark.incarnation import Incarnation
from membership_client_spark.slot_progress import ProgressRegistry, table

FIRST, SECOND = Incarnation(1, 1), Incarnation(1, 4)
CLAIM: dict[str, Any] = {"host": "h1", "executor": "0", "pid": 11}
REPORT: dict[str, Any] = {"state": "stable", "partitions": ["t-0", "t-1"], "records": 100, "rate": 50.0, "lag": 1234}


def registry() -> ProgressRegistry:
    made = ProgressRegistry()
    made.expect(0)
    return made


def test_a_slot_that_never_spoke_waits_for_a_core() -> None:
    """The commonest reason for silence: all cores are taken."""
    (one,) = registry().progress()
    assert (one.state, one.heard_s, one.restarts) == ("waiting for a free core", None, 0)


def test_a_report_is_shown_with_where_the_slot_runs() -> None:
    """Executor, host, state, partitions, rate and lag of the newest report."""
    made = registry()
    made.hear(0, FIRST, CLAIM)
    made.hear(0, FIRST, {"report": REPORT})
    (one,) = made.progress()
    assert (one.executor, one.host, one.state, one.partitions) == ("0", "h1", "stable", ("t-0", "t-1"))
    assert (one.records, one.rate, one.lag) == (100, 50.0, 1234)
    assert "1,234" in table([one])


def test_a_restart_counts_and_keeps_the_count_of_records() -> None:
    """What earlier incarnations handled is not forgotten; what they still say is."""
    made = registry()
    made.hear(0, FIRST, CLAIM)
    made.hear(0, FIRST, {"report": REPORT})
    made.failed(0, "executor lost")
    made.hear(0, SECOND, {**CLAIM, "executor": "3"})
    made.hear(0, FIRST, {"report": {**REPORT, "lag": 9}})
    made.hear(0, SECOND, {"report": {**REPORT, "records": 5}})
    (one,) = made.progress()
    assert (one.restarts, one.records, one.executor, one.lag, one.failure) == (1, 105, "3", 1234, None)


def test_a_mended_line_is_no_restart() -> None:
    """The same incarnation claims again when its connection broke."""
    made = registry()
    made.hear(0, FIRST, CLAIM)
    made.hear(0, FIRST, CLAIM)
    assert made.progress()[0].restarts == 0


def test_a_removed_slot_is_not_shown() -> None:
    """Nor does its last word bring it back."""
    made = registry()
    made.forget(0)
    made.hear(0, FIRST, CLAIM)
    assert made.progress() == ()
