"""The groups of the cluster: the fake coordinator, with settings and types of groups, and what a broker tells of them."""

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
from membership_client.testing.fake_reconciler import Enrolled, Progress
from membership_client.types import TopicPartition

_MOST_LOG_LINES = 10_000


class GroupType(enum.Enum):
    CLASSIC = "classic"
    CONSUMER = "consumer"


class Groups:
    """Not thread-safe."""

    def __init__(self, topics: Topics, offsets: Offsets, settings: BrokerSettings) -> None:
        self.settings: dict[str, dict[str, str]] = {}
        """What is set for one group, by Kafka's names."""
        self.fenced: dict[tuple[str, str], int] = {}
        """The error code that a removed member's next request gets, by group and member id."""
        self._topics = topics
        self._offsets = offsets
        self._broker_settings = settings
        self._coordinator = FakeCoordinator(topics.known)
        # Ids that are given again in another group, or after a restart, would be taken for those of other members.
        self._coordinator.blobs = OpaqueBlobs()
        self._coordinator.id_suffix = lambda _: str(uuid.uuid4())
        self._log: deque[str] = deque(maxlen=_MOST_LOG_LINES)
        self._clock: float | None = None
        """When something happens next without a request; None if that must be looked up."""

    # --- requests ----------------------------------------------------------------------------------------------------

    def ask(self, group_id: str, request: Request, now: float, client: Client, reply: Reply) -> None:
        """Hand a request to the coordinator, which calls `reply` now or later."""
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
        """The error code for a member that a test has fenced, once; 0 for all others."""
        return self.fenced.pop((group_id, member_id), 0)

    def become(self, group_id: str, wanted: GroupType) -> bool:
        """An empty group takes the protocol that its first member speaks; False if the group speaks the other one only."""
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
            self._clock = self._coordinator.next_clock()
        return self._clock

    def advance(self, now: float) -> None:
        if self.deadline() <= now:
            self._clock = None
            self._coordinator.advance(now)

    def restart(self, at: float) -> None:
        """Another broker has loaded the groups: sessions start anew, and joins that wait are refused."""
        self._clock = None
        self._coordinator.settings = coordinator_settings(self._broker_settings)
        self._coordinator.restart_clocks(at)

    # --- removing ----------------------------------------------------------------------------------------------------

    def expel(self, group_id: str, member_id: str, now: float, why: str) -> bool:
        """Remove a member as if its session had ended. False if the group has no such member."""
        self._touch(group_id)
        return self._coordinator.expel(group_id, member_id, now, why)

    def delete(self, group_id: str) -> int:
        """The group and its offsets. Returns an error code, 0 for none."""
        if group_id not in self.ids():
            return Code.GROUP_ID_NOT_FOUND
        if self.has_members(group_id):
            return BrokerCode.NON_EMPTY_GROUP
        self._coordinator.forget(group_id)
        self._offsets.forget_group(group_id)
        self._clock = None
        return 0

    # --- looking -----------------------------------------------------------------------------------------------------

    def ids(self) -> frozenset[str]:
        """Of all groups, those that consist of nothing but committed offsets included."""
        return self._coordinator.group_ids() | frozenset(self._offsets.groups())

    def consumer(self, group_id: str) -> FakeGroup | None:
        return self._coordinator.group(group_id)

    def classic(self, group_id: str) -> FakeClassicGroup | None:
        return self._coordinator.classic_group(group_id)

    def type_of(self, group_id: str) -> GroupType | None:
        """None if there is no such group."""
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
        """In Kafka's words."""
        consumer, classic = self.consumer(group_id), self.classic(group_id)
        if consumer is not None:
            return consumer_state(consumer)
        return classic.phase.value if classic is not None else "Empty"

    def log(self) -> list[str]:
        """What a broker would write to its log, the newest last; reasons of leaves included."""
        self._keep_log()
        return list(self._log)

    def _keep_log(self) -> None:
        self._log.extend(text for _, text in self._coordinator.log)
        self._coordinator.log.clear()

    def describe(self, group_id: str) -> GroupDescription:
        """Raises LookupError if there is no such group."""
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
    """Of a group of the consumer protocol, in Kafka's words."""
    if not group.members:
        return "Empty"
    if group.overdue:
        return "Assigning"
    arrived = (m.epoch == group.target_epoch and m.progress is Progress.STABLE for m in group.members.values())
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
