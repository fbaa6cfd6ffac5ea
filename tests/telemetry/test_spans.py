"""Spans of a member in virtual time, where every duration is known exactly."""

from __future__ import annotations

from dataclasses import replace

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode

from membership_client.core.events import CallbackKind, CallbackReturned, Heartbeat, Subscribe, Tick
from membership_client.core.machine import Step
from membership_client.types import MemberState
from tests.telemetry.recorder import NANOSECONDS, Recorder, facts, seconds, times, virtual
from tests.telemetry.told import Told
from tests.worker.scene import SUBSCRIBE

S = MemberState

RAISED = (
    'Traceback (most recent call last):\n  File "/app/shop.py", line 12, in load\n    read()\nValueError: Alice owes 5'
)


def names_of(spans: list[ReadableSpan]) -> list[str]:
    return [span.name.removeprefix("membership.") for span in spans]


def test_a_join_is_a_span_from_the_subscription_to_stable() -> None:
    """Times are exact to the nanosecond; its phases follow each other, and the callback is inside its phase."""
    told = Told(callbacks_s=1.0).stable()
    (rebalance,) = told.rebalances
    assert times(rebalance) == (0, round(told.scene.brokers.now * NANOSECONDS))
    phases = told.recorder.children(rebalance)
    assert names_of(phases) == ["joining", "assigning", "acknowledging"]
    assert sum(map(seconds, phases)) == pytest.approx(seconds(rebalance))
    (callback,) = told.recorder.children(phases[1])
    assert (callback.name, seconds(callback)) == ("membership.callback.assigned", 1.0)
    assert facts(callback)["membership.partitions"] == 6


def test_a_rebalance_says_whose_it_is_and_what_it_changed() -> None:
    """It has group, member and instance id, the cause, the epochs, and how many partitions came and went."""
    told = Told(group_instance_id="clerk-1").stable()
    (rebalance,) = told.rebalances
    assert facts(rebalance) == {
        "messaging.system": "kafka",
        "messaging.consumer.group.name": "g",
        "messaging.client.id": "membership-client",
        "messaging.operation.name": "rebalance",
        "membership.member.id": "a1",
        "membership.member.name": "clerk-1",
        "membership.instance.id": "clerk-1",
        "membership.cause.kind": "joined",
        "membership.cause.detail": "joined the group",
        "membership.epoch.before": 0,
        "membership.epoch.after": 2,
        "membership.partitions.assigned": 6,
        "membership.outcome": "stable",
    }
    assert rebalance.status.status_code is StatusCode.UNSET


def test_heartbeats_are_no_spans() -> None:
    """A stable member makes no spans."""
    told = Told().stable()
    before = len(told.recorder.spans())
    told.scene.pass_time(100.0)
    assert len(told.recorder.spans()) == before


def test_a_close_is_a_span_of_its_own() -> None:
    """It contains the release of the partitions, and ends with the member."""
    told = Told(callbacks_s=0.5).stable()
    told.scene.pass_time(30.0)
    told.close()
    (_, leave) = told.rebalances
    assert (facts(leave)["membership.cause.kind"], facts(leave)["membership.outcome"]) == ("closed", "closed")
    assert facts(leave)["membership.partitions.revoked"] == 6
    (phase,) = told.recorder.children(leave)
    assert names_of([phase, *told.recorder.children(phase)]) == ["leaving", "callback.revoked"]
    assert told.recorder.open.count == 0


def test_a_close_that_does_not_wait_for_a_callback_leaves_no_span_open() -> None:
    """The callback's span ends with the member, and says that the callback has not returned."""
    told = Told()
    told.scene.runner.takes_s[CallbackKind.ASSIGNED] = 1000.0
    told.ask(SUBSCRIBE)
    told.until(lambda: bool(told.scene.runner.calls))
    told.close()
    (callback,) = told.recorder.spans("membership.callback.assigned")
    assert facts(callback)["membership.callback.returned"] is False
    assert told.recorder.open.count == 0


def test_what_a_callback_raised_is_told_without_its_message() -> None:
    """The span has its type and stack. The message may quote a record."""
    told = Told()
    told.scene.runner.raises[CallbackKind.ASSIGNED] = RAISED
    told.ask(SUBSCRIBE)
    told.until(lambda: len(told.scene.runner.calls) == 2)
    callback = told.recorder.spans("membership.callback.assigned")[0]
    assert callback.status.status_code is StatusCode.ERROR
    (event,) = callback.events
    assert dict(event.attributes or {}) == {
        "exception.type": "ValueError",
        "exception.stacktrace": "ValueError at load (shop.py:12)",
    }
    assert facts(callback)["error.type"] == "ValueError"


@pytest.mark.parametrize("policy", ["raise", "leave", "continue"])
def test_no_span_quotes_what_a_callback_raised(policy: str) -> None:
    """This holds for cause and outcome, and for every policy."""
    told = Told(callback_errors=policy)
    told.scene.runner.raises[CallbackKind.ASSIGNED] = RAISED
    told.ask(SUBSCRIBE)
    told.scene.pass_time(20.0)
    told.close()
    assert told.recorder.spans("membership.callback.assigned")
    assert not any("Alice" in span.to_json() for span in told.recorder.spans())
    assert told.recorder.open.count == 0


def test_a_fence_is_one_rebalance_from_the_loss_to_stable_again() -> None:
    """Its phases are losing, joining, assigning, acknowledging; its cause is the fence, and the join is an event in it."""
    told = Told(callbacks_s=0.2).stable()
    told.drop()
    told.until_state(S.FENCED)
    told.until_state(S.STABLE)
    (_, fence) = told.rebalances
    assert facts(fence)["membership.cause.kind"] == "fenced"
    assert (facts(fence)["membership.partitions.lost"], facts(fence)["membership.partitions.assigned"]) == (6, 6)
    assert names_of(told.recorder.children(fence)) == ["losing", "joining", "assigning", "acknowledging"]
    assert [event.name for event in fence.events] == ["membership.cause"]


def test_the_fence_of_a_member_that_owned_nothing_is_told_as_one() -> None:
    """The member joins again within the same step."""
    told = Told()
    told.ask(Subscribe(frozenset({"nothing"})))
    told.until_state(S.STABLE)
    told.drop()
    told.until_state(S.JOINING)
    told.until_state(S.STABLE)
    assert facts(told.rebalances[1])["membership.cause.kind"] == "fenced"


@pytest.mark.parametrize(("began_s", "waited_s"), [(0.5, 0.5), (-1.0, 0.0), (9.0, 2.0)])
def test_a_callback_begins_when_it_began_and_not_when_it_was_wanted(began_s: float, waited_s: float) -> None:
    """A begin before the callback was wanted, or after it returned, is corrected."""
    told = Told(callbacks_s=2.0)
    steps = told.stable().scene.steps
    recorder = Recorder(virtual(told.scene.brokers.clock))
    recorder.told([_begun(step, began_s) for step in steps], steps[0].before)
    (callback,) = recorder.spans("membership.callback.assigned")
    assert facts(callback)["membership.callback.waited"] == pytest.approx(waited_s)
    assert seconds(callback) == pytest.approx(2.0 - waited_s)


def _begun(step: Step, late_s: float) -> Step:
    """The step; if a callback returned in it, with a begin that is this much later than it was wanted."""
    if not isinstance(step.event, CallbackReturned) or step.before.call is None:
        return step
    return replace(step, event=replace(step.event, began_at=step.before.call.began_at + late_s, thread="poller"))


def test_an_application_that_stops_polling_ends_its_rebalance_as_stale() -> None:
    """The span does not stay open until the next poll, which may never come; that poll begins another one."""
    told = Told(callbacks_s=1.0, max_poll_interval_ms=20_000).stable()
    told.scene.worker.polled_at = told.scene.brokers.now
    told.scene.worker.post(Tick())
    told.until_state(S.STALE)
    told.scene.pass_time(30.0)
    (_, stale) = told.rebalances
    assert facts(stale)["membership.outcome"] == "stale"
    assert stale.status.status_code is StatusCode.ERROR
    assert names_of(told.recorder.children(stale)) == ["callback.lost", "leaving", "losing"]
    assert told.recorder.open.count == 0
    told.scene.worker.polled_at = told.scene.brokers.now
    told.scene.worker.post(Tick())
    told.until_state(S.STABLE)
    assert facts(told.rebalances[2])["membership.cause.kind"] == "joined"


def test_a_member_whose_thread_ended_leaves_no_span_open() -> None:
    """Open spans end as crashed."""
    told = Told()
    told.scene.brokers.silent = {Heartbeat}
    told.ask(SUBSCRIBE)
    told.until(lambda: bool(told.scene.heartbeats()))
    told.telemetry.end()
    (rebalance,) = told.rebalances
    assert facts(rebalance)["membership.outcome"] == "crashed"
    assert told.recorder.open.count == 0
