"""A member of a classic group that says what it is told to say."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass

from membership_client.core.error_codes import Code
from membership_client.core.events import (
    ClassicHeartbeat,
    GroupJoined,
    JoinGroup,
    LeaveGroup,
    MemberIdGiven,
    Refused,
    Response,
    SyncGroup,
)
from membership_client.types import TopicPartition
from tests.conformance.classic_lines import HELD, Line, Told
from tests.net.patience import LIMIT_S


@dataclass
class Seat:
    """It knows the id and the generation that it was given; what it is told is kept by its line."""

    line: Line
    name: str
    instance_id: str | None = None
    member_id: str = ""
    generation: int = -1
    session_s: float = 20.0
    rebalance_s: float = 20.0
    strategies: tuple[str, ...] = ("range",)

    def join(self, topics: str = "orders") -> Future[Response]:
        request = JoinGroup(
            group_id=self.line.group_id,
            member_id=self.member_id,
            instance_id=self.instance_id,
            session_timeout_s=self.session_s,
            rebalance_timeout_s=self.rebalance_s,
            strategies=self.strategies,
            topics=frozenset({topics}),
        )
        return self.line.ask(self.name, request)

    def joined(self, asked: Future[Response]) -> None:
        response = self.hear("join", asked)
        if isinstance(response, MemberIdGiven | GroupJoined):
            self.member_id = response.member_id
            self.line.seats[self.member_id] = self.name
        if isinstance(response, GroupJoined):
            self.generation = response.generation

    def sync(self, *members: Seat) -> Future[Response]:
        """With a plan that gives one partition to each of these."""
        request = SyncGroup(
            group_id=self.line.group_id,
            member_id=self.member_id,
            instance_id=self.instance_id,
            generation=self.generation,
            strategy=self.strategies[0],
            plan={member.member_id: (TopicPartition("orders", at),) for at, member in enumerate(members)},
        )
        return self.line.ask(self.name, request)

    def beat(self, generation: int | None = None) -> None:
        self.hear("heartbeat", self._beat(self.generation if generation is None else generation))

    def is_called_back(self) -> bool:
        """Is everybody to join again?"""
        return self._beat(self.generation).result(LIMIT_S) == Refused(Code.REBALANCE_IN_PROGRESS)

    def _beat(self, generation: int) -> Future[Response]:
        request = ClassicHeartbeat(
            group_id=self.line.group_id,
            member_id=self.member_id,
            instance_id=self.instance_id,
            generation=generation,
        )
        return self.line.ask(self.name, request)

    def leave(self) -> None:
        request = LeaveGroup(
            group_id=self.line.group_id, member_id=self.member_id, instance_id=self.instance_id, reason="why"
        )
        self.hear("leave", self.line.ask(self.name, request))

    def hear(self, what: str, asked: Future[Response]) -> Response:
        """Waits for the answer."""
        response = asked.result(LIMIT_S)
        self.line.note(Told(self.name, what, response))
        return response

    def waits(self, what: str, asked: Future[Response]) -> None:
        """It should: an answer that is there already is noted instead."""
        self.line.note(Told(self.name, what, asked.result() if asked.done() else HELD))

    def enter(self, *others: Seat) -> Seat:
        """Join, as often as it takes, and sync with a plan for itself and these others."""
        self.joined(self.join())
        if self.generation < 0:
            self.joined(self.join())
        self.hear("sync", self.sync(self, *others))
        return self


def settle(a: Seat, b: Seat) -> tuple[Seat, Seat]:
    """Both are in the group, the first one leads it, and each has its share."""
    a.enter()
    if b.instance_id is None:
        b.joined(b.join())
    held = b.join()
    a.joined(a.join())
    b.joined(held)
    waits = b.sync()
    a.hear("sync", a.sync(a, b))
    b.hear("sync", waits)
    return a, b
