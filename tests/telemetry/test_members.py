"""The telemetry of a GroupMember without a broker."""

from __future__ import annotations

import logging

import pytest
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor

from membership_client import GroupMember, MembershipError
from membership_client.runtime.worker import Worker
from membership_client.telemetry import backend
from membership_client.types import MemberState
from tests.telemetry.recorder import Recorder, facts

NOWHERE = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g"}


_run_once = Worker.run_once


def joins_and_dies(worker: Worker) -> None:
    """A worker that joins and then ends by a bug."""
    _run_once(worker)
    if worker.member.state is MemberState.JOINING:
        raise AssertionError("a bug")


class Broken(SpanProcessor):
    """An SDK that raises."""

    def on_end(self, span: ReadableSpan) -> None:
        raise RuntimeError("no")


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    monkeypatch.setattr(backend, "of_process", lambda: recorder.backend)
    return recorder


def test_a_close_ends_what_was_under_way(recorder: Recorder) -> None:
    """This includes a join that never found a broker."""
    with GroupMember(NOWHERE) as member:
        member.subscribe(["orders"])
        member.wait_until(MemberState.JOINING, 30)
    (rebalance,) = recorder.spans("membership.rebalance")
    assert facts(rebalance)["membership.outcome"] == "closed"
    assert recorder.open.count == 0
    assert recorder.points("membership.members") == []


def test_a_member_that_was_never_started_is_counted_until_it_is_closed(recorder: Recorder) -> None:
    """It is counted as unsubscribed."""
    member = GroupMember(NOWHERE)
    assert recorder.count("membership.members", {"membership.state": "unsubscribed"}) == 1
    member.close()
    assert recorder.points("membership.members") == []


def test_a_thread_that_died_leaves_no_span_open(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rebalance ends as crashed, and the member is no longer counted."""
    monkeypatch.setattr(Worker, "run_once", joins_and_dies)
    member = GroupMember(NOWHERE)
    member.subscribe(["orders"])
    assert member._thread.has_ended(30)
    (rebalance,) = recorder.spans("membership.rebalance")
    assert facts(rebalance)["membership.outcome"] == "crashed"
    assert recorder.open.count == 0
    assert recorder.points("membership.members") == []
    member.close()


def test_an_sdk_that_raises_does_not_hide_that_a_thread_died(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A thread that waits for the end of the member learns of it."""
    recorder.provider.add_span_processor(Broken())
    monkeypatch.setattr(Worker, "run_once", joins_and_dies)
    member = GroupMember(NOWHERE)
    member.subscribe(["orders"])
    assert member._thread.has_ended(30)
    with pytest.raises(MembershipError, match="a bug"):
        member.poll()
    assert member._thread.has_ended(0.0)
    assert "The OpenTelemetry SDK raised" in caplog.text


def test_an_sdk_that_raises_does_not_keep_a_member_from_closing(
    recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    """It is not called again, and the log says so."""
    recorder.provider.add_span_processor(Broken())
    member = GroupMember(NOWHERE)
    member.subscribe(["orders"])
    member.wait_until(MemberState.JOINING, 30)
    with caplog.at_level(logging.ERROR, "membership_client"):
        report = member.close(timeout_s=5)
    assert report.steps
    assert "is no longer called" in caplog.text


def test_the_label_of_members_must_be_true_or_false() -> None:
    """Other values are refused."""
    with pytest.raises(MembershipError, match=r"telemetry\.member\.id\.label must be True or False, not 'no'"):
        GroupMember({**NOWHERE, "telemetry.member.id.label": "no"})
