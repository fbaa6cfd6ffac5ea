"""One KIP-848 group of a fake coordinator: its members, their targets, and the epochs of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from membership_client.partitions import NOTHING, Partitions
from membership_client.testing.fake_assignor import Subscriber, hash_of_text, hash_order, uniform
from membership_client.testing.fake_patterns import FakePatterns
from membership_client.testing.fake_range_assignor import assign_ranges
from membership_client.testing.fake_reconciler import Enrolled, ReconcileProgress, intersection
from membership_client.testing.fake_topics import FakeTopic, FakeTopics

TEMPORARY_LEAVE_EPOCH = -2


class FakeGroup:
    """The state of one group. `FakeCoordinator` decides which requests may change it."""

    def __init__(self, group_id: str, topics: FakeTopics) -> None:
        self.group_id = group_id
        self.epoch = 1
        self.target_epoch = 0
        self.assigned_at: float | None = None
        """When targets were last computed."""
        self.alike = True
        """Whether all members had the same subscription when a member was last stored."""
        self.members: dict[str, Enrolled] = {}
        self.targets: dict[str, Partitions] = {}
        self._computed: dict[str, Partitions] = {}
        self._computed_epoch: int | None = None
        """Targets that the assignor has computed in the background, and their epoch; None if there are none."""
        self.patterns = FakePatterns(topics)
        self.sessions: dict[str, float] = {}
        """When each member's session ends."""
        self.patience: dict[str, tuple[float, int]] = {}
        """For each member that must revoke: when it is removed, and the epoch that it must have left by then."""
        self.awaited: dict[str, float] = {}
        """For each classic member that must join or sync: when it is removed."""
        self.terms: dict[str, int] = {}
        """For each member the number of the join that began its membership."""
        self.topics = topics
        self._metadata: tuple[FakeTopic, ...] = ()
        self._metadata_version = -1
        self._terms = 0

    # --- members -----------------------------------------------------------------------------------------------------

    def holder(self, instance_id: str | None) -> Enrolled | None:
        """The member with this instance id; None if there is none."""
        if instance_id is None:
            return None
        return next((m for m in self.members.values() if m.instance_id == instance_id), None)

    def begin_term(self, member_id: str) -> None:
        self._terms += 1
        self.terms[member_id] = self._terms

    def rename(self, old: Enrolled, new: Enrolled) -> None:
        """A static member came back under another member id: it keeps its state, and the group epoch stays."""
        tables = [(table, table.get(old.member_id, NOTHING)) for table in (self.targets, self._computed)]
        self._forget(old.member_id)
        self.members[new.member_id] = new
        for table, target in tables:
            table[new.member_id] = target

    def suspend(self, member: Enrolled) -> None:
        """A static member left temporarily: its partitions are kept for it until its session ends."""
        self.members[member.member_id] = replace(member, epoch=TEMPORARY_LEAVE_EPOCH, pending=NOTHING)
        self.terms.pop(member.member_id, None)
        self.recount()

    def remove(self, member: Enrolled) -> None:
        self._forget(member.member_id)
        forgotten = frozenset[str]() if member.regex in self.pattern_counts() else self.patterns.forget(member.regex)
        self.recount(forgotten)
        self.bump()

    def _forget(self, member_id: str) -> None:
        kept = (self.members, self.targets, self._computed, self.sessions, self.patience, self.awaited, self.terms)
        for table in kept:
            table.pop(member_id, None)

    def held_by_others(self, member_id: str) -> Callable[[Partitions], Partitions]:
        """A function that returns those of some partitions that other members may use, or have not revoked yet."""

        def held(partitions: Partitions) -> Partitions:
            found = NOTHING
            for other in self.members.values() if partitions else ():
                if other.member_id != member_id:
                    found |= intersection(partitions, other.assigned | other.pending)
            return found

        return held

    # --- subscriptions and epochs ------------------------------------------------------------------------------------

    def pattern_counts(self) -> Counter[str]:
        return Counter(member.regex for member in self.members.values() if member.regex)

    def topic_names(self, member: Enrolled) -> frozenset[str]:
        return member.topics | self.patterns.topics_of(member.regex)

    def topic_ids(self, member: Enrolled) -> frozenset[UUID]:
        return frozenset(topic.topic_id for topic in self.topics.known(self.topic_names(member)))

    def bump(self) -> None:
        """Raise the group epoch after a change: new targets are needed."""
        self.epoch += 1
        self._metadata = self._seen_metadata()

    def recount(self, forgotten: frozenset[str] = frozenset()) -> None:
        """After a member was stored, look again whether all members have the same subscription."""
        self.alike = self.looks_alike(forgotten)

    def looks_alike(self, forgotten: frozenset[str] = frozenset()) -> bool:
        """Whether all members subscribe to the same names or pattern. Topics of a forgotten pattern still count here, as in Kafka."""
        stated = {(member.topics, member.regex) for member in self.members.values()}
        topics, regex = next(iter(stated), (forgotten, ""))
        if len(stated) > 1 or (topics and regex):
            return False
        return not forgotten & self.patterns.topics_of(regex) if regex else forgotten <= topics

    @property
    def overdue(self) -> bool:
        """Whether there are no targets yet for the group's epoch."""
        return self.target_epoch < self.epoch

    def notice_metadata(self) -> bool:
        """Raise the group epoch if topics of this group were created, grew or were deleted. True if they were."""
        outdated = self._metadata_version != self.topics.version
        if outdated and self._seen_metadata() != self._metadata:
            self.bump()
        self._metadata_version = self.topics.version
        return outdated

    def _seen_metadata(self) -> tuple[FakeTopic, ...]:
        return self.topics.known(frozenset[str]().union(*map(self.topic_names, self.members.values())))

    def patterns_ready(self) -> None:
        """End the evaluation of patterns."""
        changed = self.patterns.evaluate(frozenset(self.pattern_counts()))
        if changed or self._seen_metadata() != self._metadata:
            self.bump()

    def assign(self, now: float, *, alike: bool) -> None:
        """Compute all targets anew, by the simpler rule if all members have the same subscription."""
        self.compute(now, alike=alike)
        self.take_computed()

    def take_computed(self) -> None:
        """Use the targets that `compute` has computed."""
        if self._computed_epoch is not None:
            self.targets, self.target_epoch = self._computed, self._computed_epoch
            self._computed, self._computed_epoch = {}, None

    def compute(self, now: float, *, alike: bool) -> None:
        """Compute targets as `assign` does, and keep them until `take_computed`."""
        members = {
            member_id: Subscriber(self.topic_ids(member), self.targets.get(member_id, NOTHING), member.instance_id)
            for member_id, member in self.members.items()
        }
        counts = {topic.topic_id: topic.partitions for topic in self._seen_metadata()}
        assign = assign_ranges if self.assignor == "range" else uniform
        self._computed, self._computed_epoch = assign(members, counts, alike=alike), self.epoch
        self.assigned_at = now

    @property
    def assignor(self) -> str:
        """The assignor for the next targets: the one that most members ask for; uniform if none asks for one."""
        wishes = Counter(member.assignor for member in self.members.values() if member.assignor)
        return max(hash_order(wishes, hash_of_text), key=wishes.__getitem__, default="uniform")

    # --- clocks ------------------------------------------------------------------------------------------------------

    def reconciled(self, before: Enrolled, after: Enrolled, now: float) -> None:
        """Store the member after a heartbeat. A change starts or stops the timer of its revocation."""
        self.members[after.member_id] = after
        if after == before:
            return
        if after.progress is ReconcileProgress.UNREVOKED:
            self.patience[after.member_id] = (now + after.rebalance_timeout_s, after.epoch)
        else:
            self.patience.pop(after.member_id, None)

    def restart_timers(self, at: float, session_timeout_s: float) -> None:
        """Another broker has loaded the group: every session and revocation gets its full time again."""
        self.sessions = {
            member_id: at + (member.classic.session_timeout_s if member.classic else session_timeout_s)
            for member_id, member in self.members.items()
        }
        self.awaited = {member_id: at + self.members[member_id].rebalance_timeout_s for member_id in self.awaited}
        self.patience = {
            member_id: (at + member.rebalance_timeout_s, member.epoch)
            for member_id, member in self.members.items()
            if member.progress is ReconcileProgress.UNREVOKED
        }

    def next_timer(self) -> float:
        """When the next timer expires; infinity if there is none."""
        ready = () if self.patterns.ready_at is None else (self.patterns.ready_at,)
        patience = (at for at, _ in self.patience.values())
        return min((*self.sessions.values(), *patience, *self.awaited.values(), *ready), default=float("inf"))
