"""The groups of the cluster: the fake coordinator with settings and types of groups, and descriptions of groups."""

from __future__ import annotations

import enum
import uuid
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from membership_client.core.error_codes import Code
from membership_client.core.events import JoinGroup, Request
from membership_client.testing.described import DescribedMember, GroupDescription
from membership_client.testing.embedded.codes import BrokerCode
from membership_client.testing.embedded.offsets import Offsets
from membership_client.testing.embedded.opaque_blobs import OpaqueBlobs, readable_share
from membership_client.testing.embedded.settings import BrokerSettings, coordinator_settings, of_group
from membership_client.testing.embedded.topics import Topics
from membership_client.testing.fake_classic import ClassicMember, FakeClassicGroup, OpaqueJoin, Reply
from membership_client.testing.fake_coordinator import Client, FakeCoordinator
from membership_client.testing.fake_group import FakeGroup
from membership_client.testing.fake_reconciler import Enrolled, ReconcileProgress
from membership_client.types import TopicPartition

_MOST_LOG_LINES = 10_000


class GroupType(enum.Enum):
    CLASSIC = "classic"
    CONSUMER = "consumer"


class Groups:
    """All groups of the cluster. Not thread-safe."""

    def __init__(self, topics: Topics, offsets: Offsets, settings: BrokerSettings) -> None:
        self.settings: dict[str, dict[str, str]] = {}
        """Settings of single groups, by Kafka's names."""
        self.fenced: dict[tuple[str, str], int] = {}
        """By group and member id, the error code for the next request of a member that a test has removed."""
        self._topics = topics
        self._offsets = offsets
        self._broker_settings = settings
        self._coordinator = FakeCoordinator(topics.known)
        # Random ids: an id that was given before, in another group or before a restart, could be mistaken for another member's.
        self._coordinator.blobs = OpaqueBlobs()
        self._coordinator.id_suffix = lambda _: str(uuid.uuid4())
        self._log: deque[str] = deque(maxlen=_MOST_LOG_LINES)
        self._clock: float | None = None
        """When the next timer of the coordinator expires; None if that must be computed again."""

    # --- requests ----------------------------------------------------------------------------------------------------

    def ask(self, group_id: str, request: Request, now: float, client: Client, reply: Reply) -> None:
        """Pass a request to the coordinator, which calls `reply` now or later."""
        self._touch(group_id)
        if isinstance(request, JoinGroup):
            settings = replace(self._coordinator.settings, max_size=self._broker_settings.group_max_size)
            self._coordinator.settings = settings
        self._coordinator.ask(request, now, client, reply)

    def _touch(self, group_id: str) -> None:
        self._clock = None
        self._keep_log()
        self._coordinator.settings = coordinator_settings(self.settings_of(group_id))

    def settings_of(self, group_id: str) -> BrokerSettings:
        return of_group(self._broker_settings, self.settings.get(group_id, {}))

    def take_fence(self, group_id: str, member_id: str) -> int:
        """The error code for the next request of a member that a test has fenced; 0 for other requests."""
        return self.fenced.pop((group_id, member_id), 0)

    def become(self, group_id: str, wanted: GroupType) -> bool:
        """Let an empty group take the protocol of its first member. False if the group cannot take that protocol."""
        if self.type_of(group_id) in {None, wanted}:
            return True
        if self.has_members(group_id):
            return self._may_migrate(group_id, wanted)
        self._coordinator.forget(group_id)
        return True

    def _may_migrate(self, group_id: str, wanted: GroupType) -> bool:
        settings, classic = coordinator_settings(self._broker_settings), self.classic(group_id)
        if classic is None or wanted is GroupType.CLASSIC:
            return settings.upgrades or settings.downgrades
        speaks = {
            member.said.protocol_type for member in classic.members.values() if isinstance(member.said, OpaqueJoin)
        }
        limit = self._broker_settings.group_consumer_max_size
        return settings.upgrades and speaks == {"consumer"} and len(classic.members) <= limit

    # --- time --------------------------------------------------------------------------------------------------------

    def deadline(self) -> float:
        if self._clock is None:
            self._clock = self._coordinator.next_timer()
        return self._clock

    def advance(self, now: float) -> None:
        if self.deadline() <= now:
            self._clock = None
            self._coordinator.advance(now)

    def restart(self, at: float) -> None:
        """Another broker has loaded the groups: sessions start again, and waiting joins are refused."""
        self._clock = None
        self._coordinator.settings = coordinator_settings(self._broker_settings)
        self._coordinator.restart_timers(at)

    # --- removing ----------------------------------------------------------------------------------------------------

    def expel(self, group_id: str, member_id: str, now: float, why: str) -> bool:
        """Remove a member as if its session had ended. False if the group has no such member."""
        self._touch(group_id)
        return self._coordinator.expel(group_id, member_id, now, why)

    def delete(self, group_id: str) -> int:
        """Delete the group and its offsets. Returns an error code, 0 for none."""
        if group_id not in self.ids():
            return Code.GROUP_ID_NOT_FOUND
        if self.has_members(group_id):
            return BrokerCode.NON_EMPTY_GROUP
        self._coordinator.forget(group_id)
        self._offsets.forget_group(group_id)
        self._clock = None
        return 0

    # --- describing --------------------------------------------------------------------------------------------------

    def ids(self) -> frozenset[str]:
        """The ids of all groups, also of those that have only committed offsets."""
        return self._coordinator.group_ids() | frozenset(self._offsets.groups())

    def consumer(self, group_id: str) -> FakeGroup | None:
        return self._coordinator.group(group_id)

    def classic(self, group_id: str) -> FakeClassicGroup | None:
        return self._coordinator.classic_group(group_id)

    def type_of(self, group_id: str) -> GroupType | None:
        """The type of the group; None if there is no such group."""
        if self.consumer(group_id) is not None:
            return GroupType.CONSUMER
        is_known = self.classic(group_id) is not None or group_id in self._offsets
        return GroupType.CLASSIC if is_known else None

    def has_members(self, group_id: str) -> bool:
        return bool(self.member_ids(group_id))

    def member_ids(self, group_id: str) -> tuple[str, ...]:
        group = self.consumer(group_id) or self.classic(group_id)
        return tuple(group.members) if group else ()

    def state_of(self, group_id: str) -> str:
        """The state of the group, by Kafka's name."""
        consumer, classic = self.consumer(group_id), self.classic(group_id)
        if consumer is not None:
            return consumer_state(consumer)
        return classic.phase.value if classic is not None else "Empty"

    def log(self) -> list[str]:
        """What a broker would write to its log, with reasons of leaves. The newest line is the last."""
        self._keep_log()
        return list(self._log)

    def _keep_log(self) -> None:
        self._log.extend(text for _, text in self._coordinator.log)
        self._coordinator.log.clear()

    def describe(self, group_id: str) -> GroupDescription:
        """The description of the group. Raises LookupError if there is no such group."""
        consumer, classic = self.consumer(group_id), self.classic(group_id)
        if consumer is not None:
            members = tuple(self._described(consumer, member) for member in consumer.members.values())
            return GroupDescription(consumer_state(consumer), consumer.epoch, consumer.target_epoch, members)
        if self.type_of(group_id) is None:
            raise LookupError(f"There is no group {group_id!r}.")
        if classic is None:
            return GroupDescription("Empty", -1, -1, ())
        members = tuple(_described_classic(member) for member in classic.members.values())
        return GroupDescription(classic.phase.value, classic.generation, classic.generation, members)

    def _described(self, group: FakeGroup, member: Enrolled) -> DescribedMember:
        target = group.targets.get(member.member_id)
        return DescribedMember(
            member_id=member.member_id,
            instance_id=member.instance_id,
            client_id=member.client_id,
            host=member.host,
            epoch=member.epoch,
            current=frozenset(self._named(member.known_to_hold)),
            target=frozenset(self._named(target or ())),
        )

    def _named(self, partitions: Iterable[tuple[Any, int]]) -> Iterable[TopicPartition]:
        names = {topic.topic_id: topic.name for topic in self._topics.known}
        return (TopicPartition(names[topic], number) for topic, number in partitions if topic in names)


def consumer_state(group: FakeGroup) -> str:
    """The state of a KIP-848 group, by Kafka's name."""
    if not group.members:
        return "Empty"
    if group.overdue:
        return "Assigning"
    arrived = (m.epoch == group.target_epoch and m.progress is ReconcileProgress.STABLE for m in group.members.values())
    return "Stable" if all(arrived) else "Reconciling"


def _described_classic(member: ClassicMember) -> DescribedMember:
    share = readable_share(member.opaque_share)
    return DescribedMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        host="",
        epoch=member.generation,
        current=share,
        target=share,
    )
