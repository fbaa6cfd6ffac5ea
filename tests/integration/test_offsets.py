"""Commits and committed offsets of a member, on a real broker."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from membership_client import (
    ConfigError,
    MemberClosedError,
    MembershipError,
    MemberState,
    NotOwnedError,
    Offset,
    OffsetError,
    TopicGoneError,
    TopicPartition,
)
from tests.integration.members import Call, Group, RecordingListener, WatchedMember, eventually

pytestmark = pytest.mark.kafka


def partition(group: Group, number: int) -> TopicPartition:
    return TopicPartition(group.topic, number)


def test_what_is_committed_can_be_read_by_the_next_owner(group: Group) -> None:
    """Offset, leader epoch and metadata survive; a partition without a commit has none."""
    first = group.join_alone()
    first.commit({partition(group, 0): 17, partition(group, 1): Offset(5, leader_epoch=0, metadata="so far")})
    first.close()
    second = group.join_alone()
    assert second.committed(group.partitions(3)) == {
        partition(group, 0): Offset(17),
        partition(group, 1): Offset(5, 0, "so far"),
        partition(group, 2): None,
    }


def test_commits_in_a_revoked_callback_are_accepted(group: Group) -> None:
    """The partitions are ours until it returns, also in the last callback of a close."""
    members: list[WatchedMember] = []

    def commit(call: Call) -> None:
        members[0].commit(dict.fromkeys(call.partitions, 41))

    members.append(group.join_alone(RecordingListener(revoked=commit)))
    newcomer = group.join()
    group.wait_for_shares([*members, newcomer], group.partitions(6))
    moved = newcomer.assignment()
    assert newcomer.committed(moved) == dict.fromkeys(moved, Offset(41))
    assert members[0].close().clean
    group.wait_for_shares([newcomer], group.partitions(6))
    assert set(newcomer.committed(group.partitions(6)).values()) == {Offset(41)}


def test_a_partition_that_is_not_owned_is_refused_without_asking(group: Group) -> None:
    """The error names it, and nothing of that call is committed."""
    first = group.join_alone()
    second = group.join()
    group.wait_for_shares([first, second], group.partitions(6))
    theirs = min(second.assignment())
    with pytest.raises(NotOwnedError, match=str(theirs)):
        first.commit({theirs: 3, min(first.assignment()): 4})
    assert set(second.committed(group.partitions(6)).values()) == {None}


def test_a_position_in_a_topic_that_is_gone_is_not_committed_to_its_successor(group: Group) -> None:
    """Deleted and created anew at once: what the revoked callback commits is meant for the old one, and the error says so."""
    outcomes: list[type[Exception] | None] = []
    members: list[WatchedMember] = []

    def commit(call: Call) -> None:
        outcomes.append(error_of(members[0], call.partitions))

    members.append(group.join_alone(RecordingListener(revoked=commit)))
    members[0].commit(dict.fromkeys(group.partitions(6), 41))
    group.admin.delete_topic(group.topic)
    group.admin.create_topic(group.topic, 6)
    eventually(lambda: outcomes, "revoked")
    group.wait_for_shares(members, group.partitions(6))
    assert set(outcomes) == {TopicGoneError}
    assert set(members[0].committed(group.partitions(6)).values()) == {None}
    members[0].commit(dict.fromkeys(group.partitions(6), 3))
    assert set(members[0].committed(group.partitions(6)).values()) == {Offset(3)}


def error_of(member: WatchedMember, partitions: frozenset[TopicPartition]) -> type[Exception] | None:
    try:
        member.commit(dict.fromkeys(partitions, 42))
    except MembershipError as error:
        return type(error)
    return None


def test_a_commit_in_a_lost_callback_is_refused(group: Group) -> None:
    """The partitions are others' by then, and so are their offsets."""
    refused: list[Exception] = []
    members: list[WatchedMember] = []

    def commit(call: Call) -> None:
        try:
            members[0].commit(dict.fromkeys(call.partitions, 99))
        except NotOwnedError as error:
            refused.append(error)

    members.append(group.join_alone(RecordingListener(lost=commit)))
    group.remove(members[0].snapshot.member_id)
    eventually(lambda: refused, "the commit is refused")
    group.wait_for_shares(members, group.partitions(6))
    assert set(members[0].committed(group.partitions(6)).values()) == {None}


def test_a_zombies_commit_is_refused_by_the_coordinator(group: Group) -> None:
    """Removed and not yet aware of it, a member learns from its commit; the offsets stay."""
    group.admin.set_group_config(group.id, consumer_heartbeat_interval_ms=5000)
    member = group.join_alone()
    eventually(lambda: member.snapshot.heartbeat_interval_s == 5.0, "the long interval is adopted")
    group.remove(member.snapshot.member_id)
    with pytest.raises(NotOwnedError, match="UNKNOWN_MEMBER_ID"):
        member.commit({partition(group, 0): 1})


def test_a_commit_belongs_to_the_ownership_it_was_made_under(group: Group) -> None:
    """One that is sent late, when another member has had the partition and it is ours once more, is refused.

    It used to be sent under the new epoch, and set the group back behind what the other member had committed.
    """
    member, place = group.join_alone(), partition(group, 0)
    before = member._ownership_of([place])
    group.remove(member.snapshot.member_id)
    member.wait(lambda snapshot: snapshot.state is MemberState.STABLE and len(member.listener.of("lost")) == 1)
    group.wait_for_shares([member], group.partitions(6))
    member.commit({place: 200})
    with pytest.raises(NotOwnedError, match="Not owned any more"):
        member._commit({place: Offset(100)}, before, 10.0)
    assert member.committed([place]) == {place: Offset(200)}


def test_commits_go_on_while_members_come_and_go(group: Group) -> None:
    """Epochs change under the commits: each is accepted or refused as not owned, and no offset ever goes back."""
    member = group.join_alone()
    stop, errors = threading.Event(), list[Exception]()
    kept = partition(group, 0)

    def commit() -> None:
        for number in range(1, 100_000):
            if stop.is_set():
                return
            try:
                member.commit({kept: number})
            except NotOwnedError:
                return
            except MembershipError as error:
                errors.append(error)

    thread = threading.Thread(target=commit)
    thread.start()
    seen = [0]
    for _ in range(4):
        other = group.join()
        other.wait_stable()
        seen += [o.offset for o in other.committed([kept]).values() if o]
        other.close()
    stop.set()
    thread.join()
    assert not errors
    assert seen == sorted(seen)
    assert seen[-1] > 0


def test_a_topic_that_does_not_exist_is_given_up_in_time(group: Group) -> None:
    """Brokers may learn of a topic late, so it is asked for again; but not for ever."""
    member = group.join_alone()
    missing = TopicPartition("no-such-topic", 0)
    assert member.committed([missing]) == {missing: None}
    with pytest.raises(NotOwnedError):
        member.commit({missing: 1}, timeout_s=1)


def test_metadata_that_is_too_long_is_refused_at_once(group: Group) -> None:
    """Asking again would not help, and the error says why."""
    member = group.join_alone()
    with pytest.raises(OffsetError, match="OFFSET_METADATA_TOO_LARGE"):
        member.commit({partition(group, 0): Offset(1, metadata="x" * 5000)})


def test_bad_arguments_and_closed_members(group: Group) -> None:
    """Clear errors at once; nothing to do is nothing done."""
    member = group.join_alone()
    member.commit({})
    assert member.committed([]) == {}
    bad: Any
    for bad in (-1, 123.0, 2**63, Offset(1, 2**31), Offset(1, metadata="\ud800")):
        with pytest.raises(ConfigError, match=f"of {partition(group, 0)}.*, not "):
            member.commit({partition(group, 0): bad})
    with pytest.raises(ConfigError, match="number of a partition"):
        member.committed([(group.topic, "x")])  # type: ignore[list-item]
    with pytest.raises(ConfigError, match="timeout_s"):
        member.commit({partition(group, 0): 1}, timeout_s=float("nan"))
    with pytest.raises(OffsetError, match="cannot be written in Kafka's format"):
        member._commit({partition(group, 0): Offset(2**63)}, member._ownership_of([partition(group, 0)]), 10.0)
    member.commit({partition(group, 0): 1})
    member.close()
    with pytest.raises(MemberClosedError):
        member.commit({partition(group, 0): 1})


def test_a_close_does_not_leave_a_commit_waiting(group: Group) -> None:
    """A commit while another thread closes returns or raises; it never hangs."""
    member = group.join_alone()
    outcomes: list[object] = []

    def commit() -> None:
        while not outcomes:
            try:
                member.commit({partition(group, 0): 1})
            except MembershipError as error:
                outcomes.append(error)

    threads = [threading.Thread(target=commit) for _ in range(4)]
    for thread in threads:
        thread.start()
    member.close()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)


def test_an_observer_cannot_wait_for_its_own_thread(group: Group) -> None:
    """A clear error instead of a deadlock."""
    errors: list[MembershipError] = []
    member = group.member()

    def observe(_: object) -> None:
        if not errors:
            try:
                member.committed([TopicPartition(group.topic, 0)])
            except MembershipError as error:
                errors.append(error)

    member._worker._observers.append(observe)
    member.subscribe([group.topic])
    member.wait_stable()
    assert "cannot wait for itself" in str(errors[0])
