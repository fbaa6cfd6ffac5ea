"""The coordinator's view of the group of a run, for members of both protocols."""

from __future__ import annotations

from membership_client.core.error_codes import Code
from membership_client.testing.fake_classic import ClassicMember, FakeClassicGroup, JoinPhase
from membership_client.testing.fake_cluster import FakeCluster
from membership_client.testing.fake_reconciler import Enrolled, ReconcileProgress
from membership_client.types import TopicPartition

GROUP = "group"


class CoordinatorView:
    """Reads the state of the coordinator, and changes nothing."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster

    def member_ids(self) -> set[str]:
        """The ids of the members whose session has not ended."""
        group = self._cluster.groups.group(GROUP)
        return {*(group.members if group else ()), *(self._classic.members if self._classic else ())}

    def enrolled(self, member_id: str) -> Enrolled | None:
        """The KIP-848 member as the coordinator knows it; None if there is none, or it is not active."""
        return self._cluster.groups.member(GROUP, member_id)

    def target_epoch(self) -> int:
        """The epoch that all KIP-848 members will reach."""
        group = self._cluster.groups.group(GROUP)
        return -1 if group is None else group.target_epoch

    def share(self, member_id: str) -> frozenset[TopicPartition] | None:
        """The member's target; None if the member has not reached it, or is not known."""
        classic = self._classic_member(member_id)
        if classic is not None:
            assert self._classic is not None
            is_stable = self._classic.phase is JoinPhase.STABLE and classic.generation == self._classic.generation
            return classic.share if is_stable and classic.has_synced else None
        enrolled = self.enrolled(member_id)
        if (
            enrolled is None
            or enrolled.progress is not ReconcileProgress.STABLE
            or enrolled.epoch != self.target_epoch()
        ):
            return None
        names = {topic.topic_id: topic.name for topic in self._cluster.topics}
        return frozenset(enrolled.assigned.named(names))

    def commit_code(self, member_id: str, epoch: int) -> int:
        """Kafka's error code for a commit of this member, 0 for none. Kafka does not look at which partitions it owns."""
        if self._cluster.coordinator is None:
            return Code.NOT_COORDINATOR
        if self._classic_member(member_id) is not None:
            assert self._classic is not None
            if epoch != self._classic.generation:
                return Code.ILLEGAL_GENERATION
            return Code.REBALANCE_IN_PROGRESS if self._classic.phase is JoinPhase.COMPLETING else 0
        enrolled = self.enrolled(member_id)
        if enrolled is None:
            return Code.UNKNOWN_MEMBER_ID
        return 0 if enrolled.epoch == epoch else Code.STALE_MEMBER_EPOCH

    @property
    def _classic(self) -> FakeClassicGroup | None:
        return self._cluster.groups.classic_group(GROUP)

    def _classic_member(self, member_id: str) -> ClassicMember | None:
        return self._classic.members.get(member_id) if self._classic else None
