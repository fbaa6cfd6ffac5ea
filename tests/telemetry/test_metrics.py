"""Metrics of members in virtual time."""

from __future__ import annotations

import functools
import gc
import socket
from collections.abc import Callable

import pytest

from membership_client.config import MemberConfig
from membership_client.core.events import CallbackKind, Heartbeat, Tick, Unsubscribe
from membership_client.core.member import Member
from membership_client.errors import NotOwnedError
from membership_client.runtime.worker import Worker
from membership_client.telemetry import Telemetry
from membership_client.testing.fake_cluster import FakeCluster
from membership_client.testing.virtual import VirtualBrokers
from membership_client.types import MemberState, PartitionProgress, Progress, TopicPartition
from membership_client.values import replace
from tests.telemetry.recorder import Recorder, virtual
from tests.telemetry.told import Told
from tests.worker.scene import SETTINGS, SUBSCRIBE

S = MemberState


def test_a_rebalance_is_measured_with_its_cause_and_outcome() -> None:
    """Its phases are measured, too, and add up to it."""
    told = Told(callbacks_s=1.0).stable()
    took_s = told.scene.brokers.now
    assert (
        told.recorder.count(
            "membership.rebalance.duration", {"membership.cause.kind": "joined", "membership.outcome": "stable"}
        )
        == 1
    )
    assert told.recorder.total("membership.rebalance.duration") == pytest.approx(took_s)
    assert told.recorder.total("membership.phase.duration") == pytest.approx(took_s)


def test_a_callback_is_measured_and_its_partitions_counted() -> None:
    """It is measured by kind. A callback that raised is measured with the type of the exception, and moves no partitions."""
    told = Told(callbacks_s=2.0)
    told.scene.runner.raises[CallbackKind.ASSIGNED] = "ValueError: Alice owes 5"
    told.ask(SUBSCRIBE)
    told.until(lambda: len(told.scene.runner.calls) == 2)
    assert (
        told.recorder.count(
            "membership.callback.duration", {"membership.callback.kind": "assigned", "error.type": "ValueError"}
        )
        == 1
    )
    assert told.recorder.count("membership.partitions.moved") == 0
    told.scene.runner.raises.clear()
    told.until_state(S.STABLE)
    assert told.recorder.total(
        "membership.callback.duration", {"membership.callback.kind": "assigned"}
    ) == 4.0 + 2.0 * _more_failures(told)
    assert told.recorder.count("membership.partitions.moved", {"membership.callback.kind": "assigned"}) == 6


def _more_failures(told: Told) -> int:
    return len(told.scene.runner.calls) - 2


def test_a_heartbeat_is_measured_from_its_sending_to_its_answer() -> None:
    """The virtual network takes ten milliseconds each way."""
    told = Told().stable()
    told.scene.pass_time(50.0)
    beats = told.recorder.count("membership.heartbeat.duration")
    assert beats == len(told.scene.heartbeats())
    assert told.recorder.total("membership.heartbeat.duration") == pytest.approx(beats * 0.02)


def test_a_heartbeat_without_an_answer_is_an_error_that_took_its_timeout() -> None:
    """So it shows in the largest latency, too."""
    told = Told(request_timeout_ms=3_000).stable()
    told.scene.brokers.silent = {Heartbeat}
    told.until(lambda: bool(told.scene.brokers.dropped))
    assert told.recorder.total("membership.heartbeat.duration", {"error.type": "timed_out"}) == pytest.approx(3.0)


def test_a_heartbeat_that_a_leave_request_overtakes_is_not_counted() -> None:
    """The member no longer waits for its answer, which is no failure."""
    told = Told().stable()
    told.scene.brokers.silent = {Heartbeat}
    answered, sent = told.recorder.count("membership.heartbeat.duration"), len(told.scene.heartbeats())
    told.until(lambda: len(told.scene.heartbeats()) > sent)
    told.ask(Unsubscribe())
    told.until_state(S.UNSUBSCRIBED)
    assert told.recorder.count("membership.heartbeat.duration") == answered


def test_a_fence_is_counted_and_is_no_failed_rebalance_by_itself() -> None:
    """The member was stable when it was fenced, and the rebalance that followed succeeded."""
    told = Told().stable()
    told.drop()
    told.until_state(S.FENCED)
    told.until_state(S.STABLE)
    assert told.recorder.count("membership.fences") == 1
    assert told.recorder.count("membership.rebalance.failures") == 0
    assert told.recorder.count("membership.heartbeat.duration", {"error.type": "UNKNOWN_MEMBER_ID"}) == 1


def test_a_rebalance_that_is_fenced_has_failed() -> None:
    """The member was fenced while its assigned callback ran."""
    told = Told()
    told.scene.runner.takes_s[CallbackKind.ASSIGNED] = 30.0
    told.ask(SUBSCRIBE)
    told.until(lambda: bool(told.scene.runner.calls))
    told.drop()
    told.until_state(S.FENCED)
    assert told.recorder.count("membership.rebalance.failures", {"error.type": "fenced"}) == 1


def test_budgets_that_run_out_are_counted() -> None:
    """There are warnings at 50 % and 80 % of the poll interval."""
    told = Told(max_poll_interval_ms=20_000).stable()
    told.scene.worker.polled_at = told.scene.brokers.now
    told.scene.worker.post(Tick())
    told.until_state(S.STALE)
    assert told.recorder.count("membership.budget.warnings", {"membership.budget": "poll"}) == 2


def test_a_commit_is_measured_with_what_became_of_it() -> None:
    """It is an operation of the messaging conventions."""
    told = Told()
    with told.telemetry.commit():
        pass
    with pytest.raises(NotOwnedError), told.telemetry.commit():
        raise NotOwnedError("Not owned any more: t-1.")
    commits = {"messaging.operation.name": "commit", "messaging.operation.type": "settle"}
    assert told.recorder.count("messaging.client.operation.duration", commits) == 2
    assert told.recorder.count("messaging.client.operation.duration", {"error.type": "NotOwnedError"}) == 1


def test_polling_is_counted_as_idle_and_busy() -> None:
    """The two counters add up to the time that has passed."""
    told = Told()
    told.telemetry.polling(3.0, 1.0)
    told.telemetry.polling(0.5, 0.0)
    assert told.recorder.count("membership.poll.time", {"membership.poll.state": "idle"}) == 3.5
    assert told.recorder.count("membership.poll.time", {"membership.poll.state": "busy"}) == 1.0


def test_an_sdk_that_raises_is_told_of_no_more_polls(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The error must not disturb the polling thread; the log says it once."""
    told = Told()

    def fail(*_: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(told.recorder.backend.instruments.poll_time, "add", fail)
    told.telemetry.polling(1.0, 1.0)
    told.telemetry.polling(1.0, 1.0)
    assert caplog.text.count("poll times are no longer recorded") == 1


# --- gauges ----------------------------------------------------------------------------------------------------------


class Crowd:
    """Members of one group in one process."""

    def __init__(self, **config: object) -> None:
        self.brokers = VirtualBrokers(FakeCluster({"orders": 6}, SETTINGS))
        self.recorder = Recorder(virtual(self.brokers.clock))
        self._config = MemberConfig.from_dict({"bootstrap.servers": "b1:9092", "group.id": "g", **config})
        self.workers: list[Worker] = []

    def add(self, member_id: str, progress: Callable[[], Progress] | None = None) -> Worker:
        telemetry = Telemetry(Member(config=self._config, member_id=member_id), self.recorder.backend)
        worker = self.brokers.worker(self._config, member_id=member_id, observers=[telemetry.on_step])
        telemetry.watch(worker, progress)
        self.workers.append(worker)
        return worker

    def stable(self, member_id: str) -> Worker:
        worker = self.add(member_id)
        worker.post(SUBSCRIBE)
        while worker.member.state is not S.STABLE:
            worker.run_once()
        return worker


def test_members_of_a_group_are_summed_up() -> None:
    """One member is stable with all partitions, one never subscribed; every other state has a zero."""
    crowd = Crowd()
    crowd.stable("a")
    crowd.add("b")
    assert crowd.recorder.count("membership.partitions.assigned") == 6
    assert crowd.recorder.count("membership.members", {"membership.state": "stable"}) == 1
    assert crowd.recorder.count("membership.members", {"membership.state": "unsubscribed"}) == 1
    assert len(crowd.recorder.points("membership.members")) == len(MemberState)


def test_members_are_told_apart_on_request() -> None:
    """Every metric then has their ids."""
    crowd = Crowd(telemetry_member_id_label=True, group_instance_id="clerk-1")
    crowd.stable("a")
    (point,) = crowd.recorder.points("membership.partitions.assigned")
    assert dict(point.attributes or {}) == {
        "messaging.system": "kafka",
        "messaging.consumer.group.name": "g",
        "membership.member.id": "a",
        "membership.member.name": "clerk-1",
        "membership.instance.id": "clerk-1",
    }


def test_no_metric_names_a_member_unless_asked() -> None:
    """Every start would make new series of all metrics. The owners' metric has the instance id, which stays after a restart."""
    crowd = Crowd(group_instance_id="clerk-1")
    crowd.stable("a")
    data = crowd.recorder.reader.get_metrics_data()
    assert data is not None
    metrics = [metric for r in data.resource_metrics for scope in r.scope_metrics for metric in scope.metrics]
    assert {metric.name for metric in metrics} >= {"membership.rebalance.duration", "membership.partition.owner"}
    assert {metric.name for metric in metrics if "clerk-1" in metric.to_json()} == {"membership.partition.owner"}
    assert "membership.member.id" not in data.to_json()


def test_owners_of_partitions() -> None:
    """Each partition has one series, with the instance id and the host; none after the group has fenced the member."""
    crowd = Crowd(group_instance_id="clerk-1", client_id="till")
    worker = crowd.stable("a")
    owners = crowd.recorder.points("membership.partition.owner")
    assert {str((point.attributes or {})["messaging.destination.partition.id"]) for point in owners} == set("012345")
    labels = {"messaging.destination.name": "orders", "messaging.destination.partition.id": "3"}
    (owner,) = crowd.recorder.points("membership.partition.owner", labels)
    assert dict(owner.attributes or {}) == {
        "messaging.system": "kafka",
        "messaging.consumer.group.name": "g",
        "messaging.client.id": "till",
        "membership.instance.id": "clerk-1",
        "host.name": socket.gethostname(),
        **labels,
    }
    worker.member = replace(worker.member, epoch=0)
    assert crowd.recorder.points("membership.partition.owner") == []


def test_lag_of_consumers() -> None:
    """The metrics are the known lags, and the largest of the process; once it was reported although one lag was not known."""
    crowd = Crowd()
    for name, partition, position, age_s in (("a", 0, 4, 2.0), ("b", 1, 9, 0.5), ("c", 2, None, None)):
        if partition == 2:
            assert crowd.recorder.count("membership.lag.max") == 6
            assert crowd.recorder.count("membership.time_lag.max") == 2.0
        one = PartitionProgress(position=position, committed=None, end=10, time_lag_s=age_s)
        crowd.add(name, functools.partial(Progress, {TopicPartition("orders", partition): one}))
    lags = {
        str((point.attributes or {})["messaging.destination.partition.id"]): point.value  # type: ignore[union-attr]
        for point in crowd.recorder.points("membership.partition.lag")
    }
    assert lags == {"0": 6, "1": 1}
    assert crowd.recorder.count("membership.partition.time_lag") == 2.5
    assert crowd.recorder.points("membership.lag.max") == []
    assert crowd.recorder.points("membership.time_lag.max") == []


def test_ages_grow_with_time() -> None:
    """They count from the end of the rebalance, the last confirmed heartbeat, and the last poll, if there was one."""
    crowd = Crowd()
    worker = crowd.stable("a")
    assert crowd.recorder.points("membership.poll.age") == []
    worker.polled_at = crowd.brokers.now
    before_s = crowd.recorder.count("membership.heartbeat.age")
    crowd.brokers.now += 4.0
    for name in ("membership.rebalance.age", "membership.poll.age"):
        assert crowd.recorder.count(name) == pytest.approx(4.0)
    assert crowd.recorder.count("membership.heartbeat.age") == pytest.approx(before_s + 4.0)


def test_of_several_members_the_newest_rebalance_and_the_oldest_confirmation_count() -> None:
    """They show whether anything happened lately, and whether a member is in danger."""
    crowd = Crowd()
    crowd.stable("a").polled_at = crowd.brokers.now
    crowd.brokers.now += 4.0
    crowd.stable("b").polled_at = crowd.brokers.now
    assert crowd.recorder.count("membership.rebalance.age") == 0
    assert crowd.recorder.count("membership.heartbeat.age") > 4.0
    assert crowd.recorder.count("membership.poll.age") > 4.0


@pytest.mark.parametrize("state", [S.UNSUBSCRIBED, S.STALE, S.FATAL])
def test_a_member_that_does_not_try_to_be_in_the_group_has_no_late_heartbeats(state: MemberState) -> None:
    """The alert for late heartbeats once fired after every unsubscribe()."""
    crowd = Crowd()
    out, inside = crowd.stable("a"), crowd.stable("b")
    crowd.brokers.now += 100.0
    out.member = replace(out.member, state=state)
    inside.member = replace(inside.member, confirmed_at=crowd.brokers.now)
    assert crowd.recorder.count("membership.heartbeat.age") == 0.0
    inside.stopped = True
    assert crowd.recorder.points("membership.heartbeat.age") == []


def test_a_stopped_member_disappears() -> None:
    """It was closed, has crashed, or belongs to the parent process: its values are no longer updated."""
    crowd = Crowd()
    crowd.stable("a").stopped = True
    assert crowd.recorder.points("membership.members") == []


def test_a_collected_member_disappears() -> None:
    """The gauges do not keep it alive."""
    crowd = Crowd()
    crowd.stable("a")
    crowd.workers.clear()
    gc.collect()
    assert crowd.recorder.points("membership.members") == []
