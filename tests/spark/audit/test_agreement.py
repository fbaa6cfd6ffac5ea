"""The audit says of any group what the debugger says of it."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import pytest

from membership_client_spark.audit import Audit
from tests.spark.audit.debugger_view import DebuggerView, Row, ms

pytestmark = pytest.mark.deep

_TIMES = ("CAST(began AS DOUBLE) AS since", "CAST(ended AS DOUBLE) AS until")


def test_ownership(audited: Audit, debugger: DebuggerView) -> None:
    """Which member owned which partition, from the return of one callback to that of another, and in which epoch."""
    rows = audited.ownership.selectExpr("*", *_TIMES).collect()
    assert debugger.ownership() == Counter(
        (r.group, f"{r.topic}-{r.partition}", r.instance_id or r.member_id, r.epoch, ms(r.since), ms(r.until))
        for r in rows
    )
    assert {row.ending for row in rows} == {"revoked", "lost", "vanished", "open"}


def test_gaps(audited: Audit, debugger: DebuggerView) -> None:
    """Times without an owner while a member was present: the last owner, how it lost the partition, the next owner."""
    rows = audited.gaps.selectExpr("*", *_TIMES).collect()
    assert debugger.gaps() == Counter(
        (r.group, f"{r.topic}-{r.partition}", ms(r.since), ms(r.until), r.last_owner, r.ending, r.next_owner)
        for r in rows
    )


def test_overlaps(audited: Audit, debugger: DebuggerView) -> None:
    """Times with two owners, and whether clocks may explain them."""
    rows = audited.overlaps.selectExpr("*", *_TIMES).collect()
    assert debugger.overlaps() == Counter(
        (r.group, f"{r.topic}-{r.partition}", ms(r.since), ms(r.until), len(r.owners), r.sure) for r in rows
    )


def test_rebalances(audited: Audit, debugger: DebuggerView) -> None:
    """When, why, by whom, who took part, what moved, how long it took, and how sure that is."""
    rows = audited.rebalances.selectExpr("*", "CAST(time AS DOUBLE) AS began").collect()
    found: Counter[Row] = Counter(
        (r.group, r.epoch, ms(r.began), r.cause, r.trigger, tuple(r.members), r.moved, ms(r.lasted_s), r.certainty)
        for r in rows
    )
    assert debugger.rebalances() == found
    causes = {cause for row in rows for cause in row.cause.split(", ")}
    assert {"joined", "left", "away", "fenced", "vanished", "asked for", "ended", "unknown"} <= causes
    assert {row.certainty for row in rows} == {"certain", "likely", "unknown"}


def test_callbacks(audited: Audit, debugger: DebuggerView) -> None:
    """How many, how many failed or never returned, how long they took, and how long they waited for a poll."""
    times: dict[tuple[str, str, str], list[float | None]] = defaultdict(list)
    failures: Counter[tuple[str, str, str]] = Counter()
    waited: dict[tuple[str, str, str], float] = defaultdict(float)
    for group, name, method, took_s, waited_s, failed in debugger.callbacks():
        key = group, name, method
        times[key].append(took_s)
        failures[key] += failed
        waited[key] = max(waited[key], waited_s)
    rows = {(row.group, row.member, row.method): row for row in audited.callbacks.collect()}
    assert rows.keys() == times.keys()
    for key, row in rows.items():
        returned = sorted(time_s for time_s in times[key] if time_s is not None)
        unreturned = len(times[key]) - len(returned)
        assert (row["count"], row.failures, row.unreturned) == (len(times[key]), failures[key], unreturned)
        parts = [within(returned, part) for part in (0.5, 0.95, 0.99, 1.0)]
        assert [row.p50_s, row.p95_s, row.p99_s, row.max_s] == parts
        assert row.max_waited_s == waited[key]
    assert any(waited.values())


def within(times: list[float], part: float) -> float | None:
    """The shortest time within which that part of them has returned."""
    return times[math.ceil(part * len(times)) - 1] if times else None


def test_slots(audited: Audit, debugger: DebuggerView) -> None:
    """Each run that an instance id had, where it was, and from when to when."""
    expected: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for run in sorted(debugger.runs(), key=lambda run: (run.began, run.ended)):
        if run.instance_id is not None:
            holder = (run.host, run.pid, run.member_id, ms(run.began), ms(run.ended))
            expected[run.group, run.instance_id].append(holder)
    times = (
        "transform(holders, h -> struct(CAST(h.began AS DOUBLE) AS since, CAST(h.ended AS DOUBLE) AS until)) AS times"
    )
    rows = audited.slots.selectExpr("*", times).collect()
    assert expected == {
        (row.group, row.instance_id): [
            (h.host, h.pid, h.member_id, ms(t.since), ms(t.until)) for h, t in zip(row.holders, row.times, strict=True)
        ]
        for row in rows
    }
    assert all(row.restarts == len(row.holders) - 1 for row in rows)
    assert {holder.spark for row in rows if row.group == "fleet-001" for holder in row.holders} == {"partition 1"}
