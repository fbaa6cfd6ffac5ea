"""The worker without its thread: run_once() in a loop, in virtual time, against the fake coordinator."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Sequence

import pytest

from membership_client.config import MemberConfig
from membership_client.core.events import (
    Answered,
    Budget,
    CallbackKind,
    Close,
    Failed,
    FindCoordinator,
    Heartbeat,
    LeaveGroup,
    ResolveTopics,
    Send,
    Tick,
    Unsubscribe,
    Warn,
)
from membership_client.core.machine import Step, step
from membership_client.core.member import Member
from membership_client.runtime.topic_names import TopicNames
from membership_client.runtime.worker import Worker
from membership_client.testing.fake_cluster import FakeCluster
from membership_client.testing.virtual import DeadlockError, VirtualBrokers, VirtualRunner
from membership_client.types import MemberState, Node
from tests.core.play import INTERVAL_S, Play, accepted
from tests.worker.scene import SETTINGS, SUBSCRIBE, Scene

S = MemberState


def test_a_member_joins_and_becomes_stable() -> None:
    """From subscribe to STABLE in four round trips and one callback."""
    scene = Scene.set().stable()
    assert scene.worker.member.epoch == 2
    assert len(scene.worker.member.owned) == 6
    assert [call.kind for call in scene.runner.calls] == [CallbackKind.ASSIGNED]
    assert scene.brokers.now == pytest.approx(0.08)


def test_a_stable_member_wakes_only_for_heartbeats() -> None:
    """Once per interval out, and once for the answer: the thread sleeps in between."""
    scene = Scene.set().stable()
    began, sent = len(scene.steps), len(scene.brokers.sent)
    scene.pass_time(50.0)
    assert len(scene.brokers.sent) - sent == 10
    assert len(scene.steps) - began <= 21


def test_heartbeats_go_on_while_a_callback_runs() -> None:
    """A callback of a minute costs no heartbeat, and none of them claims what it has not brought yet."""
    scene = Scene.set(callbacks_s=60.0)
    scene.worker.post(SUBSCRIBE)
    scene.until(lambda: bool(scene.runner.calls)).pass_time(50.0)
    sent_at = [at for at, _ in scene.heartbeats()]
    assert max(later - earlier for earlier, later in itertools.pairwise(sent_at)) <= 5.1
    assert not scene.worker.member.owned
    scene.until(lambda: scene.worker.member.state is S.STABLE)
    assert len(scene.worker.member.owned) == 6


def test_a_close_gives_back_tells_and_stops() -> None:
    """run() ends after a close, and leaves nothing open."""
    scene = Scene.set().stable()
    scene.worker.post(Close(reason="done", timeout_s=10.0))
    scene.worker.run()
    assert scene.worker.stopped
    assert scene.brokers.closed
    assert scene.runner.stopped
    assert [call.kind for call in scene.runner.calls] == [CallbackKind.ASSIGNED, CallbackKind.REVOKED]
    assert isinstance(scene.brokers.sent[-1][1].request, LeaveGroup)
    assert scene.worker.member.closed is not None
    assert scene.worker.member.closed.clean


def test_a_close_without_any_broker_ends_in_time() -> None:
    """No broker answers, and the close gives up at its timeout."""
    scene = Scene.set().stable()
    scene.brokers.silent = {LeaveGroup}
    asked_at = scene.brokers.now
    scene.worker.post(Close(timeout_s=3.0))
    scene.until(lambda: scene.worker.stopped)
    assert scene.brokers.now == pytest.approx(asked_at + 3.0)
    assert scene.worker.member.closed is not None
    assert not scene.worker.member.closed.clean


def test_nothing_is_done_after_the_stop() -> None:
    """What is still in the inbox when the member is closed stays there."""
    scene = Scene.set()
    scene.worker.post(Close(timeout_s=1.0))
    scene.worker.post(SUBSCRIBE)
    scene.until(lambda: scene.worker.stopped)
    assert scene.worker.member.state is S.UNSUBSCRIBED
    assert not scene.brokers.sent


def test_a_poll_is_noted_without_an_event() -> None:
    """The application only writes a time; the worker finds it whenever it wakes."""
    scene = Scene.set(max_poll_interval_ms=20_000).stable()
    for _ in range(10):
        scene.worker.polled_at = scene.brokers.now
        scene.pass_time(10.0)
    assert scene.worker.member.state is S.STABLE


def test_an_application_that_stops_polling_is_out_until_it_polls_again() -> None:
    """Warned twice, then STALE with its partitions lost; the next poll joins again."""
    scene = Scene.set(max_poll_interval_ms=20_000).stable()
    scene.worker.polled_at = scene.brokers.now
    scene.worker.post(Tick())
    scene.until(lambda: scene.worker.member.state is S.STALE)
    warned = [effect for shown in scene.steps for effect in shown.effects if isinstance(effect, Warn)]
    assert [(warning.budget, round(warning.spent_s)) for warning in warned] == [(Budget.POLL, 10), (Budget.POLL, 16)]
    assert scene.runner.calls[-1].kind is CallbackKind.LOST
    scene.pass_time(30.0)
    assert scene.worker.member.state is S.STALE
    scene.worker.polled_at = scene.brokers.now
    scene.worker.post(Tick())
    scene.until(lambda: scene.worker.member.state is S.STABLE)


def test_an_observer_that_raises_is_dropped_and_the_others_stay(caplog: pytest.LogCaptureFixture) -> None:
    """Watching must never harm what is watched."""
    seen: list[Step] = []
    calls: list[Step] = []

    def broken(shown: Step) -> None:
        calls.append(shown)
        raise RuntimeError("no")

    brokers = VirtualBrokers(FakeCluster({"orders": 6}, SETTINGS))
    config = MemberConfig(bootstrap_servers="b1:9092", group_id="g")
    worker = brokers.worker(config, observers=[broken, seen.append])
    worker.post(SUBSCRIBE)
    with caplog.at_level(logging.ERROR, "membership_client"):
        while worker.member.state is not S.STABLE:
            worker.run_once()
    assert len(calls) == 1
    assert len(seen) > 3
    assert "no longer called" in caplog.text


def test_a_throttled_member_keeps_quiet_for_as_long_as_it_was_told() -> None:
    """The pause comes from the broker's answer, and the next heartbeat waits it out."""
    scene = Scene.set().stable()
    scene.brokers.throttle_s = 12.0
    scene.pass_time(60.0)
    sent_at = [at for at, _ in scene.heartbeats()][-4:]
    assert min(later - earlier for earlier, later in itertools.pairwise(sent_at)) >= 12.0
    assert scene.worker.member.state is S.STABLE


def test_a_request_that_is_never_answered_costs_its_connection() -> None:
    """After the request timeout the connection is dropped, the coordinator is looked up again, and all is said again."""
    scene = Scene.set(request_timeout_ms=3_000).stable()
    coordinator = scene.worker.member.coordinator
    scene.brokers.silent = {Heartbeat}
    scene.until(lambda: bool(scene.brokers.dropped))
    assert scene.brokers.dropped == [coordinator]
    sent_at = scene.heartbeats()[-1][0]
    assert scene.brokers.now == pytest.approx(sent_at + 3.0)
    scene.brokers.silent = set()
    before = len(scene.heartbeats())
    scene.until(lambda: len(scene.heartbeats()) > before and scene.worker.member.problem is None)
    assert isinstance(_last(scene, FindCoordinator).request, FindCoordinator)
    assert scene.heartbeats()[before][1].owned == scene.worker.member.owned


def test_bootstrap_servers_that_never_answer_are_asked_again() -> None:
    """A look-up that gets no answer drops that connection and goes on, ever less often."""
    scene = Scene.set(request_timeout_ms=2_000)
    scene.brokers.silent = {FindCoordinator}
    scene.worker.post(SUBSCRIBE)
    scene.pass_time(30.0)
    assert set(scene.brokers.dropped) == {None}
    assert len(scene.brokers.dropped) >= 9
    scene.brokers.silent = set()
    scene.until(lambda: scene.worker.member.state is S.STABLE)


def test_events_are_taken_in_the_order_of_their_posting() -> None:
    """Two wishes in one round: the last one counts."""
    scene = Scene.set()
    scene.worker.post(SUBSCRIBE)
    scene.worker.post(Unsubscribe())
    scene.pass_time(20.0)
    assert scene.worker.member.state is S.UNSUBSCRIBED
    assert not scene.heartbeats()


def test_waiting_for_nothing_is_found_at_once() -> None:
    """A member without a subscription would sleep for ever: the virtual clock calls that a deadlock."""
    with pytest.raises(DeadlockError):
        Scene.set().worker.run_once()


def test_what_was_shown_can_be_played_again() -> None:
    """The steps an observer saw are all there is: the same events at the same times give the same member."""
    scene = Scene.set(callbacks_s=1.0).stable().pass_time(30.0)
    scene.worker.post(Unsubscribe(reason="enough"))
    scene.until(lambda: scene.worker.member.state is S.UNSUBSCRIBED)
    member = scene.steps[0].before
    for shown in scene.steps:
        member, effects = step(member, shown.event, shown.at)
        assert (member, effects) == (shown.after, shown.effects)
    assert member == scene.worker.member


def _last(scene: Scene, kind: type) -> Send:
    return next(send for _, send in reversed(scene.brokers.sent) if isinstance(send.request, kind))


def test_a_topic_is_asked_for_once_per_process() -> None:
    """After leaving and joining again the name is known, and the broker is not asked for all partitions once more."""
    scene = Scene.set().stable()
    scene.worker.post(Unsubscribe())
    scene.until(lambda: scene.worker.member.state is S.UNSUBSCRIBED).stable()
    assert len(scene.worker.member.owned) == 6
    assert len([send for _, send in scene.brokers.sent if isinstance(send.request, ResolveTopics)]) == 1


def test_members_of_a_process_share_what_they_know_of_topics() -> None:
    """The second one need not ask."""
    brokers, names = VirtualBrokers(FakeCluster({"orders": 6}, SETTINGS)), TopicNames()
    for member_id in ("a", "b"):
        member = Member(config=MemberConfig(bootstrap_servers="b1:9092", group_id=member_id), member_id=member_id)
        worker = Worker(member, brokers, names=names, clock=brokers.clock)
        worker.runner = VirtualRunner(brokers, 0.0)
        worker.post(SUBSCRIBE)
        while worker.member.state is not S.STABLE:
            worker.run_once()
    assert len([send for _, send in brokers.sent if isinstance(send.request, ResolveTopics)]) == 1


def test_what_is_in_the_inbox_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the wake-up that came with it is already used up."""
    scene = Scene.set().stable()
    monkeypatch.setattr(scene.brokers, "wakeup", lambda: None)
    posted_at = scene.brokers.now
    scene.worker.post(Unsubscribe())
    scene.worker.run_once()
    assert scene.steps[-1].at == posted_at
    assert scene.worker.member.state is S.LEAVING


class LateTransport(VirtualBrokers):
    """The thread sleeps far beyond its deadline; the answer is there when it gets its turn."""

    def __init__(self, now: float, answer: Answered) -> None:
        super().__init__(FakeCluster({"orders": 6}, SETTINGS))
        self.now = now
        self.answer = answer
        self.dropped: list[Node | None] = []

    def wait(self, timeout_s: float | None) -> Sequence[Answered | Failed]:
        if timeout_s != 0.0:
            self.now += 60.0
            return []
        return [self.answer]

    def disconnect(self, to: Node | None) -> None:
        self.dropped.append(to)


def test_an_answer_that_came_while_the_thread_was_late_is_not_a_timeout() -> None:
    """A process that was stopped or starved blames itself, and keeps a connection that works."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    transport = LateTransport(play.now, Answered(play.open(Heartbeat).request_id, accepted(2)))
    worker = Worker(play.member, transport, clock=lambda: transport.now)
    worker.run_once()
    assert transport.dropped == []
    assert worker.member.coordinator is not None
    assert worker.member.problem is None
