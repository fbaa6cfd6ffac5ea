"""The thread that commits: in order, together where they wait together."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable

import pytest

from membership_client import MembershipError, NotOwnedError, Offset, OffsetError, TopicPartition
from membership_client.consumer.committer import Commit, Committer, Offsets
from membership_client.runtime.ownership import Ownership

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


class Coordinator:
    """Takes commits one at a time, and only when let; refuses those of `foreign` partitions."""

    def __init__(self, *, error: MembershipError | None = None) -> None:
        self.asked: list[Offsets] = []
        self.foreign: set[TopicPartition] = set()
        self.error = error
        self.number = 0
        self.ownership: Ownership = {}
        """Which ownership the last commit was made under."""
        self.entered = threading.Semaphore(0)
        self.allowed = threading.Semaphore(0)

    def commit(self, offsets: Offsets, ownership: Ownership) -> None:
        self.asked.append(offsets)
        self.ownership = ownership
        self.entered.release()
        assert self.allowed.acquire(timeout=30)
        if self.foreign & offsets.keys():
            raise NotOwnedError("Not owned any more.")
        if self.error is not None:
            raise self.error

    def ownership_of(self, partitions: Iterable[TopicPartition]) -> Ownership:
        return dict.fromkeys(partitions, self.number)


class Outcomes:
    """What became of commits, by name, in the order they were told."""

    def __init__(self) -> None:
        self._told: queue.SimpleQueue[tuple[str, MembershipError | None]] = queue.SimpleQueue()

    def of(self, name: str, offsets: Offsets) -> Commit:
        return Commit(offsets, lambda error: self._told.put((name, error)))

    def next(self) -> tuple[str, type[MembershipError] | None]:
        name, error = self._told.get(timeout=30)
        return name, None if error is None else type(error)


def committed_behind_another(coordinator: Coordinator, *commits: Commit) -> Committer:
    """These wait while another is under way; then all are let through."""
    committer = Committer(coordinator.commit, coordinator.ownership_of, "test-commits")
    committer.submit(Commit({A: Offset(1)}, lambda error: None))
    assert coordinator.entered.acquire(timeout=30)
    for commit in commits:
        committer.submit(commit)
    coordinator.allowed.release(100)
    return committer


def test_commits_that_wait_together_are_sent_together() -> None:
    """The later offset of a partition wins, and each is told on its own."""
    coordinator, outcomes = Coordinator(), Outcomes()
    commits = [outcomes.of("2", {A: Offset(2)}), outcomes.of("3", {B: Offset(5)}), outcomes.of("4", {A: Offset(3)})]
    committer = committed_behind_another(coordinator, *commits)
    assert [outcomes.next() for _ in commits] == [("2", None), ("3", None), ("4", None)]
    assert coordinator.asked == [{A: Offset(1)}, {A: Offset(3), B: Offset(5)}]
    committer.stop()


def test_a_commit_is_made_under_the_ownership_of_the_moment_it_was_asked_for() -> None:
    """Not of the moment it is sent: the partition may have been another member's in between."""
    coordinator, outcomes = Coordinator(), Outcomes()
    committer = Committer(coordinator.commit, coordinator.ownership_of, "test-commits")
    committer.submit(outcomes.of("1", {A: Offset(1)}))
    assert coordinator.entered.acquire(timeout=30)
    committer.submit(outcomes.of("2", {A: Offset(2)}))
    coordinator.number += 1
    coordinator.allowed.release(2)
    assert outcomes.next() == ("1", None)
    assert outcomes.next() == ("2", None)
    assert coordinator.ownership == {A: 0}
    committer.stop()


def test_one_partition_that_is_not_owned_does_not_spoil_the_others() -> None:
    """They are tried one by one."""
    coordinator, outcomes = Coordinator(), Outcomes()
    coordinator.foreign = {B}
    commits = [outcomes.of("ours", {A: Offset(2)}), outcomes.of("theirs", {B: Offset(5)})]
    committer = committed_behind_another(coordinator, *commits)
    assert [outcomes.next() for _ in commits] == [("ours", None), ("theirs", NotOwnedError)]
    committer.stop()


def test_an_error_that_concerns_all_is_not_asked_for_again() -> None:
    """A coordinator that did not answer for a minute is not asked once more for each of them."""
    coordinator, outcomes = Coordinator(error=OffsetError("Given up.")), Outcomes()
    commits = [outcomes.of("2", {A: Offset(2)}), outcomes.of("3", {B: Offset(5)})]
    committer = committed_behind_another(coordinator, *commits)
    assert [outcomes.next() for _ in commits] == [("2", OffsetError), ("3", OffsetError)]
    assert len(coordinator.asked) == 2
    committer.stop()


def test_other_requests_keep_their_place() -> None:
    """A look at what was committed sees every commit before it and none behind it."""
    coordinator, outcomes = Coordinator(), Outcomes()
    seen: queue.SimpleQueue[int] = queue.SimpleQueue()
    committer = Committer(coordinator.commit, coordinator.ownership_of, "test-commits")
    committer.submit(outcomes.of("1", {A: Offset(1)}))
    assert coordinator.entered.acquire(timeout=30)
    committer.submit(outcomes.of("2", {A: Offset(2)}))
    committer.submit(lambda: seen.put(len(coordinator.asked)))
    committer.submit(outcomes.of("3", {A: Offset(3)}))
    coordinator.allowed.release(100)
    assert seen.get(timeout=30) == 2
    assert [outcomes.next()[0] for _ in range(3)] == ["1", "2", "3"]
    committer.stop()


def test_a_waiting_thread_gets_the_error_or_a_timeout() -> None:
    """The commit itself stays under way."""
    coordinator = Coordinator(error=OffsetError("Given up."))
    committer = Committer(coordinator.commit, coordinator.ownership_of, "test-commits")
    with pytest.raises(TimeoutError, match="not committed within"):
        committer.commit_and_wait({A: Offset(1)}, 0.01)
    coordinator.allowed.release(2)
    assert isinstance(committer.commit_and_wait({A: Offset(2)}, 30), OffsetError)
    committer.stop()


def test_a_bug_fails_its_commit_and_not_those_after_it() -> None:
    """The thread ended: every later commit took its whole timeout, and new partitions were never read."""
    bugs = [RuntimeError("no such thing")]

    def commit(_offsets: Offsets, _ownership: Ownership) -> None:
        if bugs:
            raise bugs.pop()

    committer = Committer(commit, lambda partitions: dict.fromkeys(partitions, 0), "commits")
    error = committer.commit_and_wait({A: Offset(1)}, 30.0)
    assert isinstance(error, OffsetError)
    assert "no such thing" in error.detail
    assert committer.commit_and_wait({A: Offset(2)}, 30.0) is None
    committer.stop()
