"""The member for which a group waits, since when, and how long that can last."""

from __future__ import annotations

from dataclasses import replace

import pytest

from membership_client import GroupMember
from membership_client.admin import Blocker, GroupAdmin, GroupView, Waiting, WaitKind
from membership_client.admin.commands import as_json
from membership_client.admin.commands.group_text import waiting_lines
from membership_client.admin.waiting import WaitWatch, waiting
from membership_client.testing import KafkaCluster
from tests.admin.test_watch import NEW, SLOW, VIEW
from tests.integration.members import PATIENCE_S, RecordingListener, eventually
from tests.integration.test_callbacks import Gate
from tests.peers.classic import classic_settings
from tests.peers.conftest import GroupFactory
from tests.peers.group import PeerGroup


def told(view: GroupView, seen_s: float, session_timeout_s: float | None) -> list[str]:
    """The text about a group that has been in this state for this time."""
    watch = WaitWatch()
    watch.see(view, 0.0)
    return waiting_lines(waiting(watch.see(view, seen_s), session_timeout_s))


def test_a_holder_may_be_dead_or_slow_and_both_are_bounded() -> None:
    """A dead member is bounded by the session, a slow one by its own rebalance timeout, which coordinators do not report."""
    _, who, how_long = told(VIEW, 12.0, 45.0)
    assert who == "shop@10.0.0.1 waits for till-1 (10.0.0.1) to release orders[1], seen for 12 s."
    assert "If it is dead, the coordinator removes it in at most 33 s." in how_long
    assert "does not report: at most 288 s more if that is the default of 300 s." in how_long


def test_a_holder_that_outlives_a_session_is_alive() -> None:
    """So its callback takes long."""
    assert "It is alive: it has been a member for longer than a session." in told(VIEW, 50.0, 45.0)[-1]


def test_without_the_session_timeout_no_bound_is_made_up() -> None:
    """Some users may not read a group's settings."""
    assert "session timeout is not known" in told(VIEW, 12.0, None)[-1]


def test_of_a_classic_holder_the_groups_session_timeout_says_nothing() -> None:
    """It has its own session timeout: a member with ten minutes was once reported as alive after the group's 45 seconds."""
    migrating = replace(VIEW, members=(replace(SLOW, is_classic=True), NEW))
    assert (
        "It is a classic member, whose session timeout the coordinator does not report."
        in told(migrating, 50.0, 45.0)[-1]
    )


@pytest.mark.parametrize("epoch", [-2, 4])
def test_only_who_holds_on_to_something_is_known_to_live(epoch: int) -> None:
    """A heartbeat would have ended the other waits, so such a wait beyond a session means that the coordinator has moved."""
    view = replace(VIEW, members=(replace(SLOW, epoch=epoch, target=SLOW.current),))
    watch = WaitWatch()
    watch.see(view, 0.0)
    late = waiting(watch.see(view, 50.0), 45.0)
    (blocker,) = late.blockers
    assert (blocker.is_alive, blocker.removed_within_s) == (False, None)
    assert "Its session should have ended by now" in waiting_lines(late)[-1]
    assert "max.poll.interval.ms" not in waiting_lines(late)[-1]


def test_a_static_member_that_is_away_keeps_its_partitions_from_all() -> None:
    """No member works on them until it is back, or removed."""
    away = replace(VIEW, members=(replace(SLOW, epoch=-2, target=SLOW.current),))
    _, who, how_long = told(away, 5.0, 45.0)
    assert "for till-1 (10.0.0.1) to come back, and meanwhile no member works on orders[0-1], seen for 5 s." in who
    assert how_long.strip() == "If it does not come back, the coordinator removes it in at most 40 s."


def test_a_member_that_has_not_answered_since_the_assignment_is_waited_for() -> None:
    """Its next heartbeat would bring its target."""
    silent = replace(VIEW, members=(replace(NEW, epoch=4),))
    _, who, how_long = told(silent, 1.0, 45.0)
    assert who == (
        "The group waits for shop@10.0.0.1 to take note of the newest epoch, and then work on orders[1], seen for 1 s."
    )
    assert how_long.strip() == (
        "If it is dead, the coordinator removes it in at most 44 s. If it is alive, its next heartbeat ends the wait."
    )


@pytest.mark.parametrize(
    ("state", "says"), [("PreparingRebalance", "not joined again"), ("CompletingRebalance", "leader")]
)
def test_a_classic_coordinator_keeps_it_to_itself(state: str, says: str) -> None:
    """The text says what is known, and what the coordinator does not report."""
    classic = replace(VIEW, protocol="classic", state=state, epoch=None, assignment_epoch=None, members=())
    lines = told(classic, 12.0, None)
    assert lines[0] == f"shop is {state}, seen for 12 s."
    assert "does not say which members it waits for" in lines[1]
    assert says in lines[1]


def test_in_another_state_the_time_begins_anew() -> None:
    """For a classic group this time is all that shows how long it rebalances; it is in the JSON, too."""
    classic = replace(VIEW, protocol="classic", state="Stable", epoch=None, assignment_epoch=None, members=())
    watch, rebalancing = WaitWatch(), replace(classic, state="PreparingRebalance")
    watch.see(classic, 0.0)
    watch.see(rebalancing, 10.0)
    assert as_json.waiting(waiting(watch.see(rebalancing, 14.0), None))["seen_s"] == 4.0


def test_a_quiet_group_waits_for_nobody() -> None:
    """This holds for groups of both protocols."""
    assert told(replace(VIEW, members=(), state="Stable"), 1.0, 45.0) == [
        "shop is Stable, seen for 1 s.",
        "The group waits for no member.",
    ]


@pytest.mark.kafka
def test_a_slow_callback_is_found_and_its_wait_goes_on(
    kafka: KafkaCluster, admin: GroupAdmin, peers: PeerGroup
) -> None:
    """A second call on the same GroupAdmin knows since when; the session timeout is the group's own."""
    gate = Gate()
    with slow_member(kafka, peers, gate):
        second = peers.join("confluent", "second")
        first = eventually(lambda: blocker(admin, peers, "slow"), "somebody who is waited for")
        later = blocker(admin, peers, "slow")
        gate.open()
        assert first is not None
        assert later is not None
        assert (first.wait.kind, first.wait.waiting) == (WaitKind.RELEASE, ("second",))
        assert (first.wait.partitions, len(first.wait.partitions)) == (first.holder.to_release, 3)
        assert (first.session_timeout_s, first.is_alive, later.seen_s > first.seen_s) == (45.0, False, True)
        eventually(lambda: second.history.owned == first.wait.partitions, "what was waited for")


def slow_member(kafka: KafkaCluster, peers: PeerGroup, gate: Gate, **settings: object) -> GroupMember:
    """A member that owns all partitions, and releases none before the gate is open."""
    config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": peers.id, "group.instance.id": "slow"}
    member = GroupMember(config | settings, listener=RecordingListener(revoked=gate))
    member.subscribe([peers.id])
    member.wait_until(lambda now: len(now.owned) == 6, PATIENCE_S)
    return member


def blocker(admin: GroupAdmin, peers: PeerGroup, name: str) -> Blocker | None:
    """The member for which the others wait by now."""
    told = admin.waiting_for(peers.id).blockers
    return next((found for found in told if found.holder.name == name and found.wait.waiting), None)


@pytest.mark.kafka
def test_a_dead_holder_is_removed_when_its_session_ends(admin: GroupAdmin, new_group: GroupFactory) -> None:
    """The text predicts it, and then it happens."""
    group = new_group(consumer_session_timeout_ms=8000)
    dead = group.join_process("ours", "dead")
    group.wait_settled([dead])
    dead.kill()
    heir = group.join("ours", "heir")
    found = eventually(lambda: blocker(admin, group, "dead"), "somebody who is waited for")
    assert found is not None
    assert (found.wait.kind, found.wait.waiting, len(found.wait.partitions)) == (WaitKind.RELEASE, ("heir",), 3)
    assert found.removed_within_s is not None
    assert 0 < found.removed_within_s <= 8.0
    group.wait_settled([heir])
    assert admin.waiting_for(group.id).blockers == ()


@pytest.mark.kafka
def test_a_classic_group_that_rebalances_is_seen_to(kafka: KafkaCluster, admin: GroupAdmin, peers: PeerGroup) -> None:
    """The text says for how long, and that the member is not reported."""
    gate = Gate()
    classic = {"group.protocol": "classic", "partition.assignment.strategy": "range", "heartbeat.interval.ms": 200}
    with slow_member(kafka, peers, gate, **classic):
        second = peers.join("ours", "second", **classic_settings("ours", "range"))
        first = eventually(lambda: rebalancing(admin, peers), "a rebalance")
        later = rebalancing(admin, peers)
        gate.open()
        assert first is not None
        assert later is not None
        assert "Members that have not joined again are removed" in first.unknown
        assert later.seen_s > first.seen_s
        eventually(lambda: len(second.history.owned) == 3, "what was waited for")


def rebalancing(admin: GroupAdmin, peers: PeerGroup) -> Waiting | None:
    told = admin.waiting_for(peers.id)
    return told if told.view.state == "PreparingRebalance" else None


@pytest.mark.kafka
def test_a_static_member_that_left_for_a_while_is_found(admin: GroupAdmin, peers: PeerGroup) -> None:
    """Java's and librdkafka's static members leave temporarily when they are closed."""
    member = peers.join("confluent", "till-1")
    peers.wait_settled([member])
    member.leave()
    (away,) = admin.waiting_for(peers.id).blockers
    assert (away.holder.name, away.wait.kind) == ("till-1", WaitKind.RETURN)
    assert away.wait.partitions == peers.partitions
