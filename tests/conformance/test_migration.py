"""Groups in which both protocols are spoken: an embedded broker answers as Kafka 4.3.1 does.

The ids that each broker draws decide which member gets which partitions, so shares are compared by their size.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from membership_client.core.error_codes import Code
from membership_client.core.events import (
    ClassicHeartbeat,
    GroupJoined,
    GroupSynced,
    Heartbeat,
    HeartbeatAccepted,
    JoinGroup,
    LeaveGroup,
    MemberIdGiven,
    Refused,
    Request,
    Response,
    SyncGroup,
)
from membership_client.partitions import NOTHING, Partitions
from membership_client.testing import ClusterAdmin, EmbeddedKafka, KafkaCluster
from membership_client.types import TopicPartition
from tests.net.conversation import Conversation
from tests.net.patience import until

pytestmark = pytest.mark.kafka

PARTITIONS = 6
"""Two or three members get equal shares. With four, ids decided which of three members had two, and a story went another way."""


@dataclass
class Story:
    """Requests to one broker, one after the other, and what is the same of their answers on every broker."""

    conversation: Conversation
    topic: str
    told: list[str] = field(default_factory=list)

    def ask(self, request: Request) -> Response:
        answer = self.conversation.ask(request)
        self.told.append(f"{type(request).__name__}: {_said(answer)}")
        return answer


def _said(answer: Response) -> str:
    match answer:
        case Refused(code=code):
            return Code(code).name
        case HeartbeatAccepted(epoch=epoch, assignment=assignment):
            return f"epoch {epoch}, {'no news' if assignment is None else f'{len(list(assignment))} partitions'}"
        case GroupJoined(generation=generation, strategy=strategy):
            return f"generation {generation} of {strategy}, {'leads' if answer.leads else 'follows'}"
        case GroupSynced(share=share):
            return f"{len(share)} partitions"
        case _:
            return type(answer).__name__


@dataclass
class Classic:
    """A member of the classic protocol."""

    story: Story
    instance_id: str | None = None
    member_id: str = ""
    generation: int = -1
    owned: frozenset[TopicPartition] = frozenset()

    def join(self, *strategies: str) -> GroupJoined | None:
        answer = self._join(strategies or ("cooperative-sticky",))
        if isinstance(answer, MemberIdGiven):
            self.member_id = answer.member_id
            answer = self._join(strategies or ("cooperative-sticky",))
        if not isinstance(answer, GroupJoined):
            return None
        self.member_id, self.generation = answer.member_id, answer.generation
        return answer

    def _join(self, strategies: tuple[str, ...]) -> Response:
        return self.story.ask(
            JoinGroup(
                group_id=self.story.conversation.group_id,
                member_id=self.member_id,
                instance_id=self.instance_id,
                session_timeout_s=30,
                rebalance_timeout_s=30,
                strategies=strategies,
                topics=frozenset({self.story.topic}),
                owned=self.owned,
                generation=self.generation,
            )
        )

    def sync(self, plan: dict[str, tuple[TopicPartition, ...]] | None = None) -> None:
        answer = self.story.ask(
            SyncGroup(
                group_id=self.story.conversation.group_id,
                member_id=self.member_id,
                instance_id=self.instance_id,
                generation=self.generation,
                strategy="cooperative-sticky",
                plan=plan or {},
            )
        )
        if isinstance(answer, GroupSynced):
            self.owned = answer.share

    def enter(self) -> Classic:
        """Alone, so it leads and takes everything."""
        self.join()
        self.sync({self.member_id: tuple(TopicPartition(self.story.topic, n) for n in range(PARTITIONS))})
        return self

    def beat(self) -> None:
        group_id = self.story.conversation.group_id
        self.story.ask(
            ClassicHeartbeat(
                group_id=group_id, member_id=self.member_id, instance_id=self.instance_id, generation=self.generation
            )
        )

    def leave(self) -> None:
        group_id = self.story.conversation.group_id
        self.story.ask(
            LeaveGroup(group_id=group_id, member_id=self.member_id, instance_id=self.instance_id, reason="enough")
        )


@dataclass
class New:
    """A member of the consumer protocol."""

    story: Story
    name: str = "new"
    instance_id: str | None = None
    epoch: int = 0
    owned: Partitions = NOTHING

    def beat(self, epoch: int | None = None) -> None:
        joins = self.epoch == 0 and epoch is None
        answer = self.story.ask(
            Heartbeat(
                group_id=self.story.conversation.group_id,
                member_id=self.name,
                instance_id=self.instance_id,
                epoch=self.epoch if epoch is None else epoch,
                rebalance_timeout_s=30 if joins else None,
                topics=(self.story.topic,) if joins else None,
                owned=self.owned if epoch is None else None,
            )
        )
        if isinstance(answer, HeartbeatAccepted):
            self.epoch = max(0, answer.epoch)
            self.owned = self.owned if answer.assignment is None else answer.assignment


def upgrade_and_downgrade(story: Story) -> None:
    """The newcomer gets its half when the other has joined again without it; then it leaves, and the group is classic again."""
    old, new = Classic(story).enter(), New(story)
    old.beat()
    new.beat()
    old.beat()
    old.join()
    old.sync()
    old.beat()
    old.join()
    old.sync()
    new.beat()
    old.beat()
    new.beat()
    new.beat(-1)
    old.beat()
    old.join()
    old.beat()


def last_classic_member_leaves(story: Story) -> None:
    """What is left is a group of the consumer protocol, which a classic member may join again."""
    old, new = Classic(story).enter(), New(story)
    new.beat()
    old.leave()
    new.beat()
    again = Classic(story)
    again.join()
    again.sync()
    again.beat()
    new.beat()
    again.beat()


def old_generations(story: Story) -> None:
    """A member that has not caught up is sent to join, and one with another generation is told so."""
    old, new = Classic(story).enter(), New(story)
    new.beat()
    old.sync()
    old.generation -= 1
    old.beat()
    old.sync()
    Classic(story, member_id="nobody", generation=1).beat()


def strategies_that_nobody_shares(story: Story) -> None:
    """A classic member must be able to lead the others once the group is classic again."""
    Classic(story).enter()
    New(story).beat()
    Classic(story).join("range")


def an_instance_changes_its_protocol(story: Story) -> None:
    """To the consumer protocol and back, without a wait for the end of its session."""
    old = Classic(story, instance_id="slot").enter()
    other = New(story, "other")
    other.beat()
    new = New(story, "new", instance_id="slot")
    new.beat()
    old.beat()
    new.beat()
    back = Classic(story, instance_id="slot")
    back.join()
    back.sync()
    new.beat()


def consumer_member_first(story: Story) -> None:
    """A classic member joins its group."""
    new, old = New(story), Classic(story)
    new.beat()
    old.join()
    old.sync()
    new.beat()
    new.beat()
    old.beat()
    new.beat(-1)
    old.beat()
    old.join()


def one_of_two_classic_members_leaves(story: Story) -> None:
    """The other hears of it once a member of the consumer protocol has had the targets computed."""
    new, old, other = New(story), Classic(story), Classic(story)
    new.beat()
    for one in (old, other, old, other):
        one.join()
        one.sync()
        new.beat()
    other.leave()
    old.beat()
    new.beat()
    old.beat()
    old.join()
    old.sync()


STORIES = [
    consumer_member_first,
    one_of_two_classic_members_leaves,
    upgrade_and_downgrade,
    last_classic_member_leaves,
    old_generations,
    strategies_that_nobody_shares,
    an_instance_changes_its_protocol,
]


def await_coordinator(kafka: KafkaCluster, topic: str) -> None:
    """It hears of topics some time after they were made."""
    with Conversation.about(f"{topic}-known", kafka.bootstrap_servers) as group:
        until(lambda: group.join(topics=(topic,)).assignment != NOTHING)
        group.beat(-1)


@contextlib.contextmanager
def told_on(servers: str, group_id: str, topic: str) -> Iterator[Story]:
    with Conversation.about(group_id, servers) as conversation:
        yield Story(conversation, topic)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_a_mixed_group_is_answered_alike(kafka: KafkaCluster, story: Callable[[Story], None]) -> None:
    """Request by request, with the same epochs, and with as many partitions."""
    compare(kafka, story, "bidirectional")


def an_empty_group(story: Story) -> None:
    """It takes either protocol."""
    new = New(story)
    new.beat()
    new.beat(-1)
    Classic(story).enter().leave()
    New(story).beat()


@pytest.mark.parametrize("policy", ["disabled", "upgrade", "downgrade"])
def test_a_policy_is_kept_alike(policy: str) -> None:
    """What the operator does not allow is refused, with the same code."""
    settings = settings_of(policy)
    with KafkaCluster(settings=settings) as kafka:
        for story in (upgrade_and_downgrade, last_classic_member_leaves, consumer_member_first, an_empty_group):
            compare(kafka, story, policy)


def settings_of(policy: str) -> dict[str, str | int]:
    return {"group.consumer.migration.policy": policy, "group.consumer.assignment.interval.ms": 0}


def compare(kafka: KafkaCluster, story: Callable[[Story], None], policy: str) -> None:
    group_id = topic = f"migration-{uuid.uuid4().hex[:8]}"
    ClusterAdmin(kafka.bootstrap_servers).create_topic(topic, PARTITIONS)
    ClusterAdmin(kafka.bootstrap_servers).set_group_config(group_id, consumer_assignment_interval_ms=0)
    await_coordinator(kafka, topic)
    with (
        EmbeddedKafka(topics={topic: PARTITIONS}, settings=settings_of(policy)) as embedded,
        told_on(embedded.bootstrap_servers, group_id, topic) as ours,
        told_on(kafka.bootstrap_servers, group_id, topic) as theirs,
    ):
        story(ours)
        story(theirs)
    assert ours.told == theirs.told
