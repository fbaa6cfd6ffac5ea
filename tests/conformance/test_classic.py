"""The fake's classic groups against real ones: the same requests in the same order get the same answers.

Member ids are the coordinator's to choose, so what is compared of an answer is what does not depend on them.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

import pytest

from membership_client.core.error_codes import code_name
from membership_client.core.events import (
    ClassicHeartbeat,
    GroupJoined,
    GroupSynced,
    JoinGroup,
    LeaveGroup,
    MemberIdGiven,
    Refused,
    Request,
    Response,
    SyncGroup,
)
from membership_client.testing import KafkaCluster
from membership_client.testing.fake_coordinator import Client, FakeCoordinator
from membership_client.testing.fake_topics import FakeTopics
from membership_client.types import TopicPartition
from tests.net.conversation import Conversation

pytestmark = pytest.mark.kafka

PATIENCE_S = 30.0
SHARE = (TopicPartition("orders", 0),)


class Line(Protocol):
    """A way to a coordinator for each member; requests may be held back."""

    group_id: str

    def ask(self, who: str, request: Request) -> Future[Response]: ...


class RealLine:
    def __init__(self, bootstrap_servers: str, stack: contextlib.ExitStack) -> None:
        self.group_id = f"classic-{uuid.uuid4().hex[:8]}"
        self._bootstrap_servers = bootstrap_servers
        self._stack = stack
        self._pool = stack.enter_context(ThreadPoolExecutor(8))
        self._open: dict[str, Conversation] = {}

    def ask(self, who: str, request: Request) -> Future[Response]:
        if who not in self._open:
            about = Conversation.about(self.group_id, self._bootstrap_servers)
            self._open[who] = self._stack.enter_context(about)
        asked = self._pool.submit(self._open[who].ask, request)
        # Requests of different members must reach the broker in the order of the script.
        with contextlib.suppress(TimeoutError):
            asked.result(0.3)
        return asked


class FakeLine:
    group_id = "g"

    def __init__(self) -> None:
        self._coordinator = FakeCoordinator(FakeTopics({"orders": 1}))
        self._began_at = time.monotonic()

    def ask(self, who: str, request: Request) -> Future[Response]:
        asked: Future[Response] = Future()
        now = time.monotonic() - self._began_at
        self._coordinator.ask(request, now, Client(who), asked.set_result)
        return asked


@dataclass
class Seat:
    """A member that says what it is told to say, and knows the id and the generation that it was given."""

    line: Line
    name: str
    instance_id: str | None = None
    member_id: str = ""
    generation: int = -1
    told: list[str] = field(default_factory=list)

    def join(self, topics: str = "orders") -> Future[Response]:
        request = JoinGroup(
            group_id=self.line.group_id,
            member_id=self.member_id,
            instance_id=self.instance_id,
            session_timeout_s=20.0,
            rebalance_timeout_s=20.0,
            strategies=("range",),
            topics=frozenset({topics}),
        )
        return self.line.ask(self.name, request)

    def joined(self, asked: Future[Response]) -> None:
        response = self.hear("join", asked)
        if isinstance(response, MemberIdGiven | GroupJoined):
            self.member_id = response.member_id
        if isinstance(response, GroupJoined):
            self.generation = response.generation

    def sync(self, *members: Seat) -> Future[Response]:
        request = SyncGroup(
            group_id=self.line.group_id,
            member_id=self.member_id,
            instance_id=self.instance_id,
            generation=self.generation,
            strategy="range",
            plan={member.member_id: SHARE for member in members},
        )
        return self.line.ask(self.name, request)

    def beat(self, generation: int | None = None) -> None:
        request = ClassicHeartbeat(
            group_id=self.line.group_id,
            member_id=self.member_id,
            instance_id=self.instance_id,
            generation=self.generation if generation is None else generation,
        )
        self.hear("heartbeat", self.line.ask(self.name, request))

    def leave(self) -> None:
        request = LeaveGroup(
            group_id=self.line.group_id, member_id=self.member_id, instance_id=self.instance_id, reason="why"
        )
        self.hear("leave", self.line.ask(self.name, request))

    def hear(self, what: str, asked: Future[Response]) -> Response:
        response = asked.result(PATIENCE_S)
        self.told.append(f"{self.name} {what}: {gist(response)}")
        return response

    def enter(self, *others: Seat) -> Seat:
        """Join, as often as it takes, and sync with a plan for itself and these others."""
        self.joined(self.join())
        if self.generation < 0:
            self.joined(self.join())
        self.hear("sync", self.sync(self, *others))
        return self


def gist(response: Response) -> str:
    match response:
        case GroupJoined():
            role = f"leads {len(response.members)}" if response.leads else "follows"
            return f"generation {response.generation}, {role}{', plan stands' if response.skip_assignment else ''}"
        case GroupSynced():
            return f"{len(response.share)} partitions"
        case Refused():
            return code_name(response.code)
        case _:
            return type(response).__name__


# --- what is played --------------------------------------------------------------------------------------------------


def alone(line: Line) -> list[Seat]:
    """A member comes, stays, is told when it errs, and goes."""
    a = Seat(line, "a").enter()
    a.beat()
    a.beat(generation=7)
    a.hear("sync again", a.sync())
    stranger = Seat(line, "s", member_id="nobody", generation=1)
    stranger.beat()
    stranger.joined(stranger.join())
    stranger.leave()
    a.leave()
    a.beat()
    return [a, stranger]


def two(line: Line) -> list[Seat]:
    """The second is held back until the first has joined again; then both get their share by the leader's plan."""
    a, b = Seat(line, "a").enter(), Seat(line, "b")
    b.joined(b.join())
    held = b.join()
    a.beat()
    assert not held.done()
    a.joined(a.join())
    b.joined(held)
    waits = b.sync()
    assert not waits.done()
    a.hear("sync", a.sync(a, b))
    b.hear("sync", waits)
    b.beat()
    b.leave()
    a.beat()
    return [a, b]


def follower_rejoins(line: Line) -> list[Seat]:
    """A follower that says nothing new is told what it knows; one that wants other topics has all join again."""
    a, b = two_settled(line)
    b.joined(b.join())
    b.hear("sync", b.sync())
    held = b.join("bills")
    a.beat()
    assert not held.done()
    a.joined(a.join())
    b.joined(held)
    return [a, b]


def leader_rejoins(line: Line) -> list[Seat]:
    """A leader that joins again always has all others join."""
    a, b = two_settled(line)
    held = a.join()
    b.beat()
    b.hear("sync", b.sync())
    assert not held.done()
    b.joined(b.join())
    a.joined(held)
    return [a, b]


def static_follower_returns(line: Line) -> list[Seat]:
    """It takes the place of its former self, which is fenced; nobody joins again."""
    a, b = two_settled(line, "i-a", "i-b")
    again = Seat(line, "b2", "i-b")
    again.joined(again.join())
    again.hear("sync", again.sync())
    b.beat()
    b.joined(b.join())
    a.beat()
    return [a, b, again]


def static_leader_returns(line: Line) -> list[Seat]:
    """It is told that its plan stands."""
    a, b = two_settled(line, "i-a", "i-b")
    again = Seat(line, "a2", "i-a")
    again.joined(again.join())
    again.hear("sync", again.sync())
    again.beat()
    a.beat()
    b.beat()
    return [a, b, again]


def static_removed(line: Line) -> list[Seat]:
    """From outside, by its instance id."""
    a = Seat(line, "a", "i-a").enter()
    Seat(line, "operator", "i-a").leave()
    a.beat()
    return [a]


def two_settled(line: Line, first: str | None = None, second: str | None = None) -> tuple[Seat, Seat]:
    a, b = Seat(line, "a", first).enter(), Seat(line, "b", second)
    if second is None:
        b.joined(b.join())
    held = b.join()
    a.joined(a.join())
    b.joined(held)
    waits = b.sync()
    a.hear("sync", a.sync(a, b))
    b.hear("sync", waits)
    return a, b


PLAYS = (alone, two, follower_rejoins, leader_rejoins, static_follower_returns, static_leader_returns, static_removed)


@pytest.fixture
def real_line(kafka: KafkaCluster) -> Iterator[RealLine]:
    with contextlib.ExitStack() as stack:
        yield RealLine(kafka.bootstrap_servers, stack)


@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.__name__)
def test_the_fake_answers_as_a_broker_does(real_line: RealLine, play: Callable[[Line], list[Seat]]) -> None:
    """To every member, from its first request to its last."""
    real, fake = play(real_line), play(FakeLine())
    assert [seat.told for seat in fake] == [seat.told for seat in real]
