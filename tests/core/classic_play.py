"""Play a member of a classic group by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self
from uuid import UUID

from membership_client.core.classic.protocol import partitions_of
from membership_client.core.events import (
    ClassicHeartbeat,
    DescribeTopics,
    GroupJoined,
    GroupSynced,
    HeartbeatConfirmed,
    JoinGroup,
    MemberIdGiven,
    Polled,
    Refused,
    Response,
    SyncGroup,
    TopicsDescribed,
    Unsubscribe,
)
from membership_client.core.member import Member
from membership_client.partitions import Partitions
from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import MemberState, TopicPartition
from tests.core.play import Play, config

BEAT_S = 3.0
REBALANCE_IN_PROGRESS = 27


def share(*numbers: int, topic: str = "orders") -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(topic, number) for number in numbers)


def owned(*numbers: int, topic: str = "orders") -> Partitions:
    return partitions_of(share(*numbers, topic=topic))


def admitted(
    generation: int = 1, *, leads: bool = False, strategy: str = "range", member_id: str = "given", skip: bool = False
) -> GroupJoined:
    """The answer to a join: this member alone, as the leader, or with another leader."""
    members = (MemberSubscription(member_id=member_id, topics=frozenset({"orders"})),) if leads else ()
    leader_id = member_id if leads else "another"
    return GroupJoined(
        generation=generation,
        member_id=member_id,
        leader_id=leader_id,
        strategy=strategy,
        members=members,
        skip_assignment=skip,
    )


CLASSIC_RESPONSES: list[Response] = [
    MemberIdGiven("given"),
    admitted(),
    admitted(3, leads=True),
    admitted(3, leads=True, skip=True),
    admitted(-1),
    admitted(2, strategy="unheard-of"),
    GroupSynced(share(0, 7)),
    GroupSynced(share(0, topic="unasked-for")),
    GroupSynced(frozenset()),
    HeartbeatConfirmed(),
    TopicsDescribed({}),
    TopicsDescribed({"orders": TopicLayout(6)}),
]


class ClassicPlay(Play):
    """A member that was told `group.protocol=classic`."""

    @classmethod
    def new(cls, **overrides: object) -> Self:
        strategy = {"partition_assignment_strategy": "range", "group_protocol": "classic"}
        return cls(Member(config=config(**(strategy | overrides)), member_id="me"))

    @classmethod
    def cooperative(cls, **overrides: object) -> Self:
        return cls.new(partition_assignment_strategy="cooperative-sticky", **overrides)

    @property
    def strategy(self) -> str:
        return self.member.config.partition_assignment_strategy[0]

    def join_request(self) -> JoinGroup:
        request = self.open(JoinGroup).request
        assert isinstance(request, JoinGroup)
        return request

    def sync_request(self) -> SyncGroup:
        request = self.open(SyncGroup).request
        assert isinstance(request, SyncGroup)
        return request

    def plans(self) -> list[dict[str, tuple[TopicPartition, ...]]]:
        """The plan of each sync that it sent."""
        return [dict(send.request.plan) for send in self.sends() if isinstance(send.request, SyncGroup)]

    def let_in(self, *numbers: int, generation: int = 1, topic_id: UUID | None = None) -> ClassicPlay:
        """The join that is under way ends with this share of another's plan; callbacks are not yet done."""
        if not self.member.classic.given_id and self.member.config.group_instance_id is None:
            self.answer(JoinGroup, MemberIdGiven("given"))
        self.answer(JoinGroup, admitted(generation, strategy=self.strategy))
        self.answer(SyncGroup, GroupSynced(share(*numbers)))
        if self.member.survey is not None:
            self.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(6, topic_id=topic_id)}))
        return self

    def stable(self, *numbers: int, epoch: int = 1, topic_id: UUID | None = None) -> ClassicPlay:
        self.joining()
        self.let_in(*numbers, generation=epoch, topic_id=topic_id)
        self.let_callbacks_return()
        assert self.member.state is MemberState.STABLE
        self.effects.clear()
        return self

    def leading(self, layouts: dict[str, TopicLayout]) -> ClassicPlay:
        """A member that is alone in its group, and has made the plan."""
        self.joining()
        self.answer(JoinGroup, MemberIdGiven("given"))
        self.answer(JoinGroup, admitted(leads=True, strategy=self.strategy))
        self.answer(DescribeTopics, TopicsDescribed(layouts))
        planned = self.sync_request().plan["given"]
        self.answer(SyncGroup, GroupSynced(frozenset(planned)))
        self.let_callbacks_return()
        assert self.member.state is MemberState.STABLE
        self.effects.clear()
        return self

    def stays(self, seconds: float) -> ClassicPlay:
        """Time passes, and every heartbeat is confirmed."""
        end = self.now + seconds
        while self.now < end:
            self.advance(min(BEAT_S, end - self.now))
            if self.member.dialogue is not None:
                self.answer(ClassicHeartbeat, HeartbeatConfirmed())
        return self

    def waits(self, seconds: float) -> ClassicPlay:
        """Time passes before the others have joined, and the coordinator says so whenever it is asked."""
        end = self.now + seconds
        while self.now < end:
            self.advance(min(BEAT_S, end - self.now))
            if self.member.join_keepalive is not None:
                self.answer(ClassicHeartbeat, Refused(REBALANCE_IN_PROGRESS))
        return self

    def rebalanced(self) -> ClassicPlay:
        """The next heartbeat tells that the group rebalances."""
        self.advance(BEAT_S)
        self.answer(ClassicHeartbeat, Refused(REBALANCE_IN_PROGRESS))
        return self


def in_classic_state(state: MemberState, **overrides: object) -> Play:
    """A member in that state, on the shortest way there. ACK has a duration in cooperative groups only."""
    cooperates = {"partition_assignment_strategy": "cooperative-sticky"} if state is MemberState.ACK else {}
    play = _WAYS[state](ClassicPlay.new(**(overrides | cooperates)))
    assert play.member.state is state
    return play


def _reconciling(play: ClassicPlay) -> Play:
    play.joining()
    return play.let_in(0, 1)


def _ack(play: ClassicPlay) -> Play:
    play.stable(0, 1).rebalanced()
    play.let_in(0, generation=2)
    play.returns()
    return play


def _fenced(play: ClassicPlay) -> Play:
    play.stable(0).advance(BEAT_S)
    play.answer(ClassicHeartbeat, Refused(25))
    return play


def _leaving(play: ClassicPlay) -> Play:
    play.stable(0).do(Unsubscribe())
    return play


def _stale(play: ClassicPlay) -> Play:
    play.stable(0).do(Polled(play.now + 1.0 - play.member.poll_interval_s))
    play.advance(1.0)
    return play


def _fatal(play: ClassicPlay) -> Play:
    play.joining().answer(JoinGroup, Refused(30))
    return play


_WAYS: dict[MemberState, Callable[[ClassicPlay], Play]] = {
    MemberState.UNSUBSCRIBED: lambda play: play,
    MemberState.JOINING: lambda play: play.joining(),
    MemberState.RECONCILING: _reconciling,
    MemberState.ACK: _ack,
    MemberState.STABLE: lambda play: play.stable(0),
    MemberState.FENCED: _fenced,
    MemberState.LEAVING: _leaving,
    MemberState.STALE: _stale,
    MemberState.FATAL: _fatal,
}
