"""Two members of a real group, in spans and in Prometheus."""

from __future__ import annotations

import threading
import time

import confluent_kafka
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode

from membership_client import Consumer, NotOwnedError, TopicPartition
from membership_client.types import MemberState
from tests.integration.members import Call, Group, RecordingListener, WatchedMember, eventually
from tests.telemetry.recorder import NANOSECONDS, Recorder, facts, times
from tests.telemetry.scrape import Prometheus

pytestmark = pytest.mark.kafka


def rebalances_of(recorder: Recorder, member: WatchedMember) -> list[ReadableSpan]:
    who = member.snapshot.member_id
    return [s for s in recorder.spans("membership.rebalance") if facts(s)["membership.member.id"] == who]


def test_two_members_from_join_to_leave(group: Group, recorder: Recorder, prometheus: Prometheus) -> None:
    """Each rebalance of each member is a span; the values in Prometheus add up, and disappear with the members."""
    began_ns = time.time_ns()
    first = group.join()
    group.wait_for_shares([first], group.partitions(6))
    second = group.join()
    group.wait_for_shares([first, second], group.partitions(6))
    labels = {"messaging_consumer_group_name": group.id}
    assert prometheus.value("membership_partitions_assigned", **labels) == 6
    assert prometheus.value("membership_members", membership_state="stable", **labels) == 2
    assert 0 <= prometheus.value("membership_heartbeat_age_seconds", **labels) < 60
    second.close()
    group.wait_for_shares([first], group.partitions(6))
    first.close()
    assert recorder.open.count == 0
    assert_told(recorder, first, second, began_ns)
    joins = {"membership_cause_kind": "joined", "membership_outcome": "stable", **labels}
    assert prometheus.value("membership_rebalance_duration_seconds_count", **joins) == 2
    assert prometheus.value("membership_partitions_moved_total", membership_callback_kind="assigned", **labels) >= 12
    assert prometheus.value("membership_heartbeat_duration_seconds_count", **labels) > 4
    assert not prometheus.scrape().get("membership_members")


def assert_told(recorder: Recorder, first: WatchedMember, second: WatchedMember, began_ns: int) -> None:
    """The first member gave three partitions up and got them back; both members left."""
    of_first, of_second = rebalances_of(recorder, first), rebalances_of(recorder, second)
    kinds = [facts(span)["membership.cause.kind"] for span in of_first]
    assert (kinds[0], kinds[-1]) == ("joined", "closed")
    assert set(kinds[1:-1]) == {"group_changed"}
    revoked = [facts(span).get("membership.partitions.revoked", 0) for span in of_first[1:-1]]
    assert sum(int(str(count)) for count in revoked) == 3
    assert facts(of_second[-1])["membership.cause.kind"] == "closed"
    began, ended = times(of_first[0])[0], times(of_first[-1])[1]
    assert began_ns - NANOSECONDS <= began <= ended <= time.time_ns() + NANOSECONDS


def test_a_callback_that_raises(group: Group, recorder: Recorder, prometheus: Prometheus) -> None:
    """Its span has an error with type and stack, without the message; it is counted by its type."""
    failed: list[Call] = []

    def fail_once(call: Call) -> None:
        if not failed:
            failed.append(call)
            raise ValueError("Alice owes 5")

    member = group.join(listener=RecordingListener(assigned=fail_once))
    group.wait_for_shares([member], group.partitions(6))
    member.close()
    called = recorder.spans("membership.callback.assigned")
    (bad,) = [span for span in called if span.status.status_code is StatusCode.ERROR]
    assert facts(bad)["thread.name"] == f"{group.id}-callbacks"
    stack = (bad.events[0].attributes or {})["exception.stacktrace"]
    assert str(stack).startswith("ValueError at fail_once (test_kafka.py:")
    assert not any("Alice" in span.to_json() for span in recorder.spans())
    labels = {"messaging_consumer_group_name": group.id, "error_type": "ValueError"}
    assert prometheus.value("membership_callback_duration_seconds_count", **labels) == 1


def test_a_fence(group: Group, recorder: Recorder, prometheus: Prometheus) -> None:
    """An administrator removes the member: this is one rebalance, from the loss until the member is back."""
    member = group.join()
    group.remove(member.wait_stable().member_id)
    member.wait(lambda snapshot: bool(member.listener.of("lost")))
    group.wait_for_shares([member], group.partitions(6))
    fence = next(s for s in rebalances_of(recorder, member) if facts(s)["membership.cause.kind"] == "fenced")
    assert (facts(fence)["membership.partitions.lost"], facts(fence)["membership.outcome"]) == (6, "stable")
    assert prometheus.value("membership_fences_total", messaging_consumer_group_name=group.id) == 1


def test_commits(group: Group, prometheus: Prometheus) -> None:
    """The coordinator accepts one commit; the other is of a partition that the member does not own."""
    member = group.join()
    group.wait_for_shares([member], group.partitions(6))
    member.commit({TopicPartition(group.topic, 0): 5})
    with pytest.raises(NotOwnedError):
        member.commit({TopicPartition("elsewhere", 0): 5})
    name, labels = "messaging_client_operation_duration_seconds_count", {"messaging_operation_name": "commit"}
    assert prometheus.value(name, **labels) == 2
    assert prometheus.value(name, error_type="NotOwnedError", **labels) == 1


def test_a_join_is_linked_to_the_span_that_asked_for_it(group: Group, recorder: Recorder) -> None:
    """A leave is linked, too; each is a trace of its own."""
    member = group.member()
    with recorder.tracer.start_as_current_span("start") as start:
        member.subscribe([group.topic])
    member.wait_stable()
    with recorder.tracer.start_as_current_span("stop") as stop:
        member.unsubscribe()
    member.wait(MemberState.UNSUBSCRIBED)
    ended = eventually(lambda: [s for s in rebalances_of(recorder, member) if s.links][1:], "the leave is told")
    asked = [span.links[0].context.span_id for span in [rebalances_of(recorder, member)[0], *ended]]
    assert asked == [start.get_span_context().span_id, stop.get_span_context().span_id]


def test_a_consumer(group: Group, recorder: Recorder, prometheus: Prometheus) -> None:
    """Its callbacks wait for a poll, and run on its thread; its commits are those of the member."""
    config = {"bootstrap.servers": group.bootstrap_servers, "group.id": group.id, "enable.auto.commit": False}
    with recorder.tracer.start_as_current_span("start") as start, Consumer(config) as consumer:
        consumer.subscribe([group.topic])
        eventually(lambda: (consumer.poll(0.05), len(consumer.assignment()) == 6)[1], "the consumer is assigned")
        consumer.commit(offsets=[confluent_kafka.TopicPartition(group.topic, 0, 5)], asynchronous=False)
    own = [span for span in recorder.spans() if facts(span).get("messaging.consumer.group.name") == group.id]
    callback = next(span for span in own if span.name == "membership.callback.assigned")
    assert facts(callback)["thread.name"] == threading.current_thread().name
    assert isinstance(waited := facts(callback)["membership.callback.waited"], float)
    assert waited > 0
    join = next(span for span in own if span.name == "membership.rebalance")
    assert [link.context.span_id for link in join.links] == [start.get_span_context().span_id]
    assert prometheus.value("messaging_client_operation_duration_seconds_count") == 1
    assert prometheus.value("membership_poll_age_seconds") == 0
    assert recorder.open.count == 0
