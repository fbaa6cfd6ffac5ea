"""Plays on the fake coordinator, under a clock of its own."""

from __future__ import annotations

from collections.abc import Iterable

from membership_client.core.events import Request, Response
from membership_client.partitions import NOTHING, Partitions
from membership_client.testing.described import DescribedMember, GroupDescription
from membership_client.testing.fake_coordinator import Client, CoordinatorSettings, FakeCoordinator
from membership_client.testing.fake_group import FakeGroup
from membership_client.testing.fake_reconciler import Enrolled, ReconcileProgress
from membership_client.testing.fake_topics import FakeTopic, FakeTopics
from membership_client.types import TopicPartition
from tests.conformance.script import Terms

CLIENT = Client("tester", "/127.0.0.1")
"""As the broker sees the other player."""
_STEP_S = 0.001


class GivenTopics(FakeTopics):
    """Topics with a broker's ids: who gets the odd partition depends on them."""

    def __init__(self, topics: Iterable[FakeTopic]) -> None:
        super().__init__()
        for topic in topics:
            self._change(topic)

    def learn(self, topic: FakeTopic) -> None:
        """It was created or has grown."""
        if topic.name not in self or self[topic.name].topic_id != topic.topic_id:
            self.created_version = self.version + 1
        self._change(topic)


class FakePlayer:
    """Background work, such as the evaluation of a pattern, is done before the next request; `stirred` tells of it."""

    def __init__(self, group_id: str, topics: Iterable[FakeTopic], settings: CoordinatorSettings) -> None:
        self._group_id = group_id
        self._topics = GivenTopics(topics)
        self._coordinator = FakeCoordinator(self._topics, settings)
        self._now = 0.0
        self.stirred = False

    def ask(self, request: Request) -> Response:
        answer = self._coordinator.handle(request, self._now, CLIENT)
        group = self._group
        self.stirred = group is not None and group.patterns.ready_at is not None
        self.pass_time(_STEP_S)
        return answer

    def pass_time(self, seconds: float) -> None:
        self._now += seconds
        self._coordinator.advance(self._now)

    def learn(self, name: str, topic: FakeTopic | None) -> None:
        """That is how the topic is from now on; None if there is none of that name."""
        if topic is not None:
            self._topics.learn(topic)
        elif name in self._topics:
            self._topics.delete(name)

    def picture(self) -> GroupDescription | None:
        group = self._group
        if group is None:
            return None
        members = tuple(self._member(group, group.members[member_id]) for member_id in sorted(group.members))
        return GroupDescription(_state(group), group.epoch, group.target_epoch, members)

    @property
    def _group(self) -> FakeGroup | None:
        return self._coordinator.group(self._group_id)

    def _member(self, group: FakeGroup, member: Enrolled) -> DescribedMember:
        return DescribedMember(
            member_id=member.member_id,
            instance_id=member.instance_id,
            client_id=member.client_id,
            host=member.host,
            epoch=member.epoch,
            current=self._named(member.known_to_hold),
            target=self._named(group.targets.get(member.member_id, NOTHING)),
        )

    def _named(self, partitions: Partitions) -> frozenset[TopicPartition]:
        """A broker does not tell of partitions whose topic is gone."""
        return frozenset(partitions.named({topic.topic_id: topic.name for topic in self._topics}))


def settings_of(terms: Terms, max_size: int | None = None) -> CoordinatorSettings:
    return CoordinatorSettings(
        heartbeat_interval_s=terms.heartbeat_interval_s,
        session_timeout_s=terms.session_timeout_s,
        assignment_interval_s=terms.assignment_interval_s,
        max_size=max_size,
    )


def _state(group: FakeGroup) -> str:
    if not group.members:
        return "Empty"
    if group.epoch > group.target_epoch:
        return "Assigning"
    arrived = (m.progress is ReconcileProgress.STABLE and m.epoch == group.target_epoch for m in group.members.values())
    return "Stable" if all(arrived) else "Reconciling"
