"""A member that pushes its metrics to the brokers, in virtual time."""

from __future__ import annotations

import logging
import re
import zlib
from collections.abc import Callable
from uuid import UUID

import pytest

from membership_client.core.events import Close, Heartbeat, Refused, Request, Response, Unsubscribe
from membership_client.net.telemetry_requests import (
    GetTelemetrySubscriptions,
    PushTelemetry,
    TelemetrySubscription,
    TelemetryTaken,
)
from membership_client.runtime.member_setup import metrics_push_of
from membership_client.telemetry.metrics_push import MetricsPush
from membership_client.telemetry.push_schedule import ASK_AGAIN_S, PushCode
from membership_client.testing.fake_classic import Reply
from membership_client.testing.fake_coordinator import Client
from membership_client.types import MemberState, Node
from membership_client.values import replace
from tests.telemetry.otlp_text import Told, read_metrics
from tests.worker.scene import SUBSCRIBE, Scene

CLIENT = UUID(int=7)
WANTED = TelemetrySubscription(
    client_instance_id=CLIENT,
    subscription_id=3,
    accepted_compressions=(4, 3, 1, 2),
    interval_s=60.0,
    most_bytes=1_000_000,
    delta=True,
    prefixes=("*",),
)
PREFIX = "org.apache.kafka.consumer.coordinator."
SECOND_NS = 1_000_000_000


class Pushed:
    """A scene whose brokers have a receiver of metrics, and what the receiver has got."""

    def __init__(
        self, subscription: TelemetrySubscription = WANTED, *, callbacks_s: float = 0.0, **config: object
    ) -> None:
        self.scene = Scene.set(callbacks_s=callbacks_s, **config)
        self.subscription = subscription
        self.asked: list[tuple[float, GetTelemetrySubscriptions]] = []
        self.pushed: list[tuple[float, PushTelemetry]] = []
        self.refuse_with: int | None = None
        brokers = self.scene.brokers
        self.push = MetricsPush(
            self.scene.worker.member, random_share=lambda: 0.5, now_ns=lambda: round(brokers.now * SECOND_NS)
        )
        self.scene.worker._observers.append(self.push.on_step)
        self.scene.worker.side_task = self.push
        self._ask_group: Callable[..., None] = brokers.cluster.ask
        brokers.cluster.ask = self._ask  # type: ignore[method-assign]

    def _ask(self, node: Node | None, request: Request, now: float, client: Client, reply: Reply) -> None:
        answer: Response
        if isinstance(request, GetTelemetrySubscriptions):
            self.asked.append((now, request))
            answer = self.subscription
        elif isinstance(request, PushTelemetry):
            self.pushed.append((now, request))
            answer = TelemetryTaken()
        else:
            self._ask_group(node, request, now, client, reply)
            return
        reply(answer if self.refuse_with is None else Refused(self.refuse_with))

    def told(self, number: int) -> Told:
        request = self.pushed[number][1]
        return read_metrics(zlib.decompress(request.metrics, 31) if request.compression else request.metrics)


def test_the_metrics_of_the_first_rebalance_come_after_about_an_interval() -> None:
    """The subscription is known a moment after the join began."""
    pushed = Pushed(callbacks_s=2.0)
    took_ms = 1000 * pushed.scene.stable().brokers.now
    pushed.scene.pass_time(61.0)
    ((at, _),) = pushed.pushed
    assert at == pytest.approx(60.0, abs=1.0)
    told = pushed.told(0)
    assert {name.removeprefix(PREFIX): value for name, value in told.sums.items()} == {
        "rebalance.total": 1.0,
        "rebalance.latency.total": pytest.approx(took_ms),
        "failed.rebalance.total": 0.0,
        "heartbeat.total": len([1 for at, _ in pushed.scene.heartbeats() if at < 59.0]),
        "commit.total": 0.0,
    }
    gauges = {name.removeprefix(PREFIX): value for name, value in told.gauges.items()}
    assert gauges["assigned.partitions"] == 6.0
    assert gauges["rebalance.latency.avg"] == gauges["rebalance.latency.max"] == pytest.approx(took_ms)
    assert gauges["partition.assigned.latency.max"] == pytest.approx(2000.0)
    assert gauges["heartbeat.response.time.max"] == pytest.approx(20.0)
    assert 0.0 <= gauges["last.heartbeat.seconds.ago"] <= 6.0
    assert gauges["last.rebalance.seconds.ago"] == pytest.approx(60.0 - took_ms / 1000, abs=1.0)


def test_who_pushes_is_in_the_resource() -> None:
    """It has Java's names. The broker knows the client id, the address and the software by itself."""
    pushed = Pushed(group_instance_id="till-1", client_rack="rack-a")
    pushed.scene.stable().pass_time(61.0)
    assert pushed.told(0).resource == {
        "group_id": "g",
        "group_member_id": pushed.scene.worker.member.member_id,
        "group_instance_id": "till-1",
        "client_rack": "rack-a",
    }


def test_sums_are_deltas_if_the_broker_says_so() -> None:
    """Each begins where the last one ended. Averages and maxima are always those since the last push."""
    pushed = Pushed()
    pushed.scene.stable().pass_time(130.0)
    first, second = pushed.told(0), pushed.told(1)
    assert (first.temporality, second.temporality) == ({1}, {1})
    assert second.sums[PREFIX + "rebalance.total"] == 0.0
    assert {since for since, _ in second.times} == {until for _, until in first.times}
    beats = [at for at, _ in pushed.scene.heartbeats() if pushed.pushed[0][0] < at < pushed.pushed[1][0]]
    assert second.sums[PREFIX + "heartbeat.total"] == pytest.approx(len(beats), abs=1)
    assert PREFIX + "rebalance.latency.avg" not in second.gauges


def test_sums_are_cumulative_if_the_broker_says_so() -> None:
    """They count from the time when the member was made."""
    pushed = Pushed(replace(WANTED, delta=False))
    pushed.scene.stable().pass_time(130.0)
    first, second = pushed.told(0), pushed.told(1)
    assert (first.temporality, second.temporality) == ({2}, {2})
    assert first.sums[PREFIX + "rebalance.total"] == second.sums[PREFIX + "rebalance.total"] == 1.0
    assert second.sums[PREFIX + "heartbeat.total"] > first.sums[PREFIX + "heartbeat.total"]
    assert {since for since, _ in second.times} == {0}


@pytest.mark.parametrize("prefixes", [("*",), ("",), ("org.apache.kafka.consumer.",), ("x", PREFIX + "heartbeat.t")])
def test_only_what_was_asked_for_is_pushed(prefixes: tuple[str, ...]) -> None:
    """Metrics are chosen by the beginning of their names; Kafka's word for all is a star."""
    pushed = Pushed(replace(WANTED, prefixes=prefixes))
    pushed.scene.stable().pass_time(61.0)
    names = pushed.told(0).names
    assert names == {PREFIX + "heartbeat.total"} if "x" in prefixes else len(names) > 10


@pytest.mark.parametrize(("accepted", "compression"), [((), 0), ((2, 3, 4), 0), ((4, 1), 1)])
def test_the_push_is_compressed_as_the_broker_accepts(accepted: tuple[int, ...], compression: int) -> None:
    """It is compressed with gzip, which Python has, or not at all."""
    pushed = Pushed(replace(WANTED, accepted_compressions=accepted))
    pushed.scene.stable().pass_time(61.0)
    assert pushed.pushed[0][1].compression == compression
    assert pushed.told(0).gauges[PREFIX + "assigned.partitions"] == 6.0


def test_more_bytes_than_the_broker_takes_are_not_sent() -> None:
    """The subscription is asked for again."""
    pushed = Pushed(replace(WANTED, most_bytes=100))
    pushed.scene.stable().pass_time(200.0)
    assert pushed.pushed == []
    assert [request.client_instance_id for _, request in pushed.asked] == [None, CLIENT]
    pushed.subscription = WANTED
    pushed.scene.pass_time(200.0)
    assert pushed.pushed


def test_brokers_that_want_nothing_get_nothing() -> None:
    """The subscription is asked for once per interval."""
    pushed = Pushed(replace(WANTED, prefixes=()))
    pushed.scene.stable().pass_time(130.0)
    assert [request.client_instance_id for _, request in pushed.asked] == [None, CLIENT, CLIENT]
    pushed.scene.worker.post(Close(timeout_s=10.0))
    pushed.scene.until(lambda: pushed.scene.worker.stopped)
    assert pushed.pushed == []


def test_a_changed_subscription_is_followed() -> None:
    """The broker answers UNKNOWN_SUBSCRIPTION_ID once; the next push is for the new subscription."""
    pushed = Pushed()
    pushed.scene.stable()
    pushed.refuse_with = PushCode.UNKNOWN_SUBSCRIPTION_ID
    pushed.scene.until(lambda: len(pushed.pushed) == 1)
    pushed.refuse_with, pushed.subscription = None, replace(WANTED, subscription_id=4)
    pushed.scene.until(lambda: len(pushed.pushed) == 2)
    assert [request.subscription_id for _, request in pushed.pushed] == [3, 4]
    assert [request.client_instance_id for _, request in pushed.asked] == [None, CLIENT]


def test_a_refusal_for_good_is_said_and_obeyed(caplog: pytest.LogCaptureFixture) -> None:
    """The log has one line with the group and the code."""
    pushed = Pushed()
    pushed.scene.stable()
    pushed.refuse_with = PushCode.INVALID_RECORD
    with caplog.at_level(logging.INFO, "membership_client"):
        pushed.scene.pass_time(1000.0)
    assert len(pushed.pushed) == 1
    (said,) = [record.getMessage() for record in caplog.records if "INVALID_RECORD" in record.getMessage()]
    assert re.fullmatch(r"\[g/.+\]: no more metrics are pushed: the broker refused them with INVALID_RECORD", said)


def test_that_the_brokers_want_metrics_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """The log line has the id by which their console shows the member."""
    pushed = Pushed()
    with caplog.at_level(logging.INFO, "membership_client"):
        pushed.scene.stable().pass_time(200.0)
    (said,) = [record.getMessage() for record in caplog.records if "KIP-714" in record.getMessage()]
    assert said.endswith(f"want metrics of this client every 60 s (KIP-714); its client instance id is {CLIENT}")


def test_a_receiver_that_hangs_gets_one_push_and_harms_nothing() -> None:
    """Heartbeats are not affected."""
    pushed, alone = Pushed(), Scene.set().stable()
    pushed.scene.brokers.silent = {PushTelemetry}
    pushed.scene.stable().pass_time(1000.0)
    alone.pass_time(1000.0)
    pushes = [send for _, send in pushed.scene.brokers.sent if isinstance(send.request, PushTelemetry)]
    assert len(pushes) == 1
    assert pushed.scene.worker.member.state is MemberState.STABLE
    assert [at for at, _ in pushed.scene.heartbeats()] == pytest.approx([at for at, _ in alone.heartbeats()])


def test_brokers_without_a_receiver_are_asked_every_five_minutes() -> None:
    """No request leaves the process, because the transport knows the broker's APIs."""
    scene = Pushed().scene
    scene.brokers.cluster.lacks = frozenset({GetTelemetrySubscriptions})
    scene.stable().pass_time(2 * ASK_AGAIN_S + 10.0)
    questions = [at for at, send in scene.brokers.sent if isinstance(send.request, GetTelemetrySubscriptions)]
    assert questions == pytest.approx([0.02, ASK_AGAIN_S + 0.03, 2 * ASK_AGAIN_S + 0.04], abs=0.1)
    assert scene.worker.member.state is MemberState.STABLE


def test_the_last_push_says_that_it_is_the_last() -> None:
    """It is sent when the member has left, even before the first interval has passed, and nothing waits for its answer."""
    pushed = Pushed()
    pushed.scene.stable().pass_time(10.0)
    pushed.scene.worker.post(Close(timeout_s=10.0))
    pushed.scene.until(lambda: pushed.scene.worker.stopped)
    request = pushed.scene.brokers.sent[-1][1].request
    assert isinstance(request, PushTelemetry)
    assert request.terminating
    told = read_metrics(zlib.decompress(request.metrics, 31))
    assert told.gauges[PREFIX + "assigned.partitions"] == 0.0
    assert PREFIX + "partition.revoked.latency.max" in told.gauges
    assert pushed.pushed == []


def test_a_close_under_a_receiver_that_hangs_takes_as_long_as_without() -> None:
    """The close does not wait for the push under way."""
    pushed, alone = Pushed(), Scene.set().stable()
    pushed.scene.brokers.silent = {PushTelemetry}
    pushed.scene.stable()
    took = []
    for scene in (pushed.scene.pass_time(100.0), alone.pass_time(100.0)):
        began_at = scene.brokers.now
        scene.worker.post(Close(timeout_s=10.0))
        scene.until(lambda scene=scene: scene.worker.stopped)  # type: ignore[misc]
        took.append(scene.brokers.now - began_at)
    assert took[0] == pytest.approx(took[1])


def test_a_member_outside_its_group_still_tells() -> None:
    """It reports that it owns nothing."""
    pushed = Pushed()
    pushed.scene.stable().worker.post(Unsubscribe())
    pushed.scene.pass_time(61.0)
    assert pushed.told(0).gauges[PREFIX + "assigned.partitions"] == 0.0


def test_a_fence_is_a_failed_rebalance_and_lost_partitions() -> None:
    """Java counts it in the same way."""
    pushed = Pushed()
    pushed.scene.stable()
    brokers = pushed.scene.brokers
    assert brokers.cluster.groups.expel("g", pushed.scene.worker.member.member_id, brokers.now, "removed")
    pushed.scene.pass_time(61.0)
    told = pushed.told(0)
    assert told.sums[PREFIX + "rebalance.total"] == 2.0
    assert PREFIX + "partition.lost.latency.max" in told.gauges


def test_commits_are_counted_with_their_latency() -> None:
    """These are the successful commits of all threads."""
    pushed = Pushed()
    pushed.scene.stable()
    with pushed.push.commit():
        pass
    with pytest.raises(ValueError, match="refused"), pushed.push.commit():
        raise ValueError("refused")
    pushed.scene.pass_time(61.0)
    told = pushed.told(0)
    assert told.sums[PREFIX + "commit.total"] == 1.0
    assert 0.0 <= told.gauges[PREFIX + "commit.latency.avg"] <= told.gauges[PREFIX + "commit.latency.max"]


def test_a_bug_in_it_does_not_harm_the_member(caplog: pytest.LogCaptureFixture) -> None:
    """The log has the error, and no more metrics are pushed."""
    pushed = Pushed()
    pushed.scene.stable()
    pushed.push._now_ns = lambda: 1 // 0
    with caplog.at_level(logging.ERROR, "membership_client"):
        pushed.scene.pass_time(200.0)
    assert pushed.scene.worker.side_task is None
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ZeroDivisionError]
    assert pushed.scene.worker.member.state is MemberState.STABLE
    assert len([1 for at, send in pushed.scene.brokers.sent if isinstance(send.request, Heartbeat) and at > 150.0]) > 5


def test_one_key_switches_it_off() -> None:
    """It is the key of librdkafka and of Java, which is on by default there as well."""
    assert metrics_push_of(Scene.set().worker.member) is not None
    assert metrics_push_of(Scene.set(enable_metrics_push="false").worker.member) is None


def test_the_subscription_is_asked_for_when_the_coordinator_is_known() -> None:
    """The thread takes no turn for it before."""
    scene = Pushed().scene
    scene.brokers.cluster.coordinator = None
    scene.worker.post(SUBSCRIBE)
    scene.pass_time(10.0)
    assert not [send for _, send in scene.brokers.sent if isinstance(send.request, GetTelemetrySubscriptions)]
    assert scene.worker.side_task is not None
    assert scene.worker.side_task.due_at(scene.worker.member) == float("inf")
