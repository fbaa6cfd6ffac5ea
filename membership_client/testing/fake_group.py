"""One group in a fake coordinator's memory: its members, their targets, and the epochs that tie them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from membership_client.partitions import NOTHING, Partitions
from membership_client.testing.fake_assignor import Subscriber, hash_of_text, hash_order, uniform
from membership_client.testing.fake_patterns import FakePatterns
from membership_client.testing.fake_range_assignor import assign_ranges
from membership_client.testing.fake_reconciler import Enrolled, Progress, intersection
from membership_client.testing.fake_topics import FakeTopic, FakeTopics

TEMPORARY_LEAVE_EPOCH = -2


class FakeGroup:
    """Bookkeeping only: what a request may do is decided by the coordinator."""

    def __init__(self, group_id: str, topics: FakeTopics) -> None:
        self.group_id = group_id
        self.epoch = 1
        self.target_epoch = 0
        self.assigned_at: float | None = None
        """When targets were last computed."""
        self.alike = True
        """Whether all members subscribed to the same when one of them was last written down."""
        self.members: dict[str, Enrolled] = {}
        self.targets: dict[str, Partitions] = {}
        self._computed: dict[str, Partitions] = {}
        self._computed_epoch: int | None = None
        """Targets that the assignor has computed beside the requests, and for which epoch; None if there are none."""
        self.patterns = FakePatterns(topics)
        self.sessions: dict[str, float] = {}
        """When each member's session ends."""
        self.patience: dict[str, tuple[float, int]] = {}
        """When each member that owes a revocation is removed, and the epoch it must have left by then."""
        self.awaited: dict[str, float] = {}
        """When each member of the classic protocol is removed that was told to join, or to ask for its share."""
        self.terms: dict[str, int] = {}
        """The number of the join that began each membership. A member that was removed, or left, has none."""
        self.topics = topics
        self._metadata: tuple[FakeTopic, ...] = ()
        self._metadata_version = -1
        self._terms = 0

    # --- members -----------------------------------------------------------------------------------------------------

    def holder(self, instance_id: str | None) -> Enrolled | None:
        """The member with that instance id."""
        if instance_id is None:
            return None
        return next((m for m in self.members.values() if m.instance_id == instance_id), None)

    def begin_term(self, member_id: str) -> None:
        self._terms += 1
        self.terms[member_id] = self._terms

    def rename(self, old: Enrolled, new: Enrolled) -> None:
        """A static member is back under another member id: everything passes on, at no epoch's expense."""
        tables = [(table, table.get(old.member_id, NOTHING)) for table in (self.targets, self._computed)]
        self._forget(old.member_id)
        self.members[new.member_id] = new
        for table, target in tables:
            table[new.member_id] = target

    def suspend(self, member: Enrolled) -> None:
        """A static member left for a while: its partitions stay reserved until its session ends."""
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
        """A function that tells which of some partitions other members may use, or have not given up yet."""

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
        """Raise the group epoch: a change calls for new targets."""
        self.epoch += 1
        self._metadata = self._seen_metadata()

    def recount(self, forgotten: frozenset[str] = frozenset()) -> None:
        """A member was stored: look again whether all members subscribe alike."""
        self.alike = self.looks_alike(forgotten)

    def looks_alike(self, forgotten: frozenset[str] = frozenset()) -> bool:
        """Do all subscribe to the same, be it names or a pattern? Topics of a forgotten pattern are counted once more."""
        stated = {(member.topics, member.regex) for member in self.members.values()}
        topics, regex = next(iter(stated), (forgotten, ""))
        if len(stated) > 1 or (topics and regex):
            return False
        return not forgotten & self.patterns.topics_of(regex) if regex else forgotten <= topics

    @property
    def overdue(self) -> bool:
        """Are there no targets yet for the group's epoch?"""
        return self.target_epoch < self.epoch

    def notice_metadata(self) -> bool:
        """Topics of this group came, grew or went: that calls for new targets too. Was there anything to look at?"""
        outdated = self._metadata_version != self.topics.version
        if outdated and self._seen_metadata() != self._metadata:
            self.bump()
        self._metadata_version = self.topics.version
        return outdated

    def _seen_metadata(self) -> tuple[FakeTopic, ...]:
        return self.topics.known(frozenset[str]().union(*map(self.topic_names, self.members.values())))

    def patterns_ready(self) -> None:
        """The evaluation of patterns has ended."""
        changed = self.patterns.evaluate(frozenset(self.pattern_counts()))
        if changed or self._seen_metadata() != self._metadata:
            self.bump()

    def assign(self, now: float, *, alike: bool) -> None:
        """Compute all targets anew, by the simpler rule if all members subscribe alike."""
        self.compute(now, alike=alike)
        self.take_computed()

    def take_computed(self) -> None:
        """The computed targets count from now on."""
        if self._computed_epoch is not None:
            self.targets, self.target_epoch = self._computed, self._computed_epoch
            self._computed, self._computed_epoch = {}, None

    def compute(self, now: float, *, alike: bool) -> None:
        """As `assign`, for `take_computed`."""
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
        """The one that most members ask for. A change of it counts from the next targets on; without a wish it is uniform."""
        wishes = Counter(member.assignor for member in self.members.values() if member.assignor)
        return max(hash_order(wishes, hash_of_text), key=wishes.__getitem__, default="uniform")

    # --- clocks ------------------------------------------------------------------------------------------------------

    def reconciled(self, before: Enrolled, after: Enrolled, now: float) -> None:
        """Keep what a heartbeat made of a member; a change starts or stops the clock of a revocation."""
        self.members[after.member_id] = after
        if after == before:
            return
        if after.progress is Progress.UNREVOKED:
            self.patience[after.member_id] = (now + after.rebalance_timeout_s, after.epoch)
        else:
            self.patience.pop(after.member_id, None)

    def restart_clocks(self, at: float, session_timeout_s: float) -> None:
        """Another broker took the group over: every session and every revocation gets its full time again."""
        self.sessions = {
            member_id: at + (member.classic.session_timeout_s if member.classic else session_timeout_s)
            for member_id, member in self.members.items()
        }
        self.awaited = {member_id: at + self.members[member_id].rebalance_timeout_s for member_id in self.awaited}
        self.patience = {
            member_id: (at + member.rebalance_timeout_s, member.epoch)
            for member_id, member in self.members.items()
            if member.progress is Progress.UNREVOKED
        }

    def next_clock(self) -> float:
        """When something will happen without a request; infinity if nothing will."""
        ready = () if self.patterns.ready_at is None else (self.patterns.ready_at,)
        patience = (at for at, _ in self.patience.values())
        return min((*self.sessions.values(), *patience, *self.awaited.values(), *ready), default=float("inf"))
