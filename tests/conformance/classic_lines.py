"""Ways to a coordinator of classic groups, a real one and the fake: requests may be held back, and all answers are kept."""

from __future__ import annotations

import contextlib
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from membership_client.core.events import GroupJoined, MemberIdGiven, Request, Response
from membership_client.subscriptions import MemberSubscription
from membership_client.testing.fake_coordinator import Client, CoordinatorSettings, FakeCoordinator
from membership_client.testing.fake_topics import FakeTopics
from tests.net.conversation import Conversation
from tests.net.patience import until

HELD = "is held back"
_STEP_S = 0.001


@dataclass(frozen=True, slots=True)
class Told:
    """What became of a request: its answer, or that it is held back."""

    who: str
    what: str
    answer: Response | str


class Line(ABC):
    """Each member has a connection of its own. Member ids are the coordinator's to choose: `account` has seats instead."""

    group_id: str

    def __init__(self) -> None:
        self.seats: dict[str, str] = {}
        """Who sits where, by member id."""
        self._told: list[Told] = []

    @abstractmethod
    def ask(self, who: str, request: Request) -> Future[Response]:
        """Returns when the coordinator has the request, or is likely to."""

    @abstractmethod
    def let_pass(self, seconds: float, over: Callable[[], bool]) -> None:
        """So long by the fake's clock; by a broker's, until what lasts so long is over."""

    def note(self, told: Told) -> None:
        self._told.append(told)

    def account(self) -> list[Told]:
        return [replace(told, answer=self._symbolic(told.answer)) for told in self._told]

    def _symbolic(self, answer: Response | str) -> Response | str:
        match answer:
            case MemberIdGiven():
                return MemberIdGiven(self.seats[answer.member_id])
            case GroupJoined():
                # A broker keeps its members in a hash table.
                members = sorted(map(self._seated, answer.members), key=lambda member: member.member_id)
                member, leader = self.seats[answer.member_id], self.seats[answer.leader_id]
                return replace(answer, member_id=member, leader_id=leader, members=tuple(members))
            case _:
                return answer

    def _seated(self, member: MemberSubscription) -> MemberSubscription:
        return replace(member, member_id=self.seats[member.member_id])


class RealLine(Line):
    def __init__(self, bootstrap_servers: str, stack: contextlib.ExitStack, pause_s: float) -> None:
        super().__init__()
        self.group_id = f"classic-{uuid.uuid4().hex[:8]}"
        self._bootstrap_servers = bootstrap_servers
        self._stack = stack
        self._pause_s = pause_s
        self._pool = stack.enter_context(ThreadPoolExecutor(8))
        self._open: dict[str, Conversation] = {}

    def ask(self, who: str, request: Request) -> Future[Response]:
        if who not in self._open:
            about = Conversation.about(self.group_id, self._bootstrap_servers)
            self._open[who] = self._stack.enter_context(about)
        asked = self._pool.submit(self._open[who].ask, request)
        # Nobody tells when a request that is held back has arrived.
        with contextlib.suppress(TimeoutError):
            asked.result(self._pause_s)
        return asked

    def let_pass(self, seconds: float, over: Callable[[], bool]) -> None:
        until(over)


class FakeLine(Line):
    def __init__(self, max_size: int | None = None) -> None:
        super().__init__()
        self.group_id = "g"
        self._coordinator = FakeCoordinator(FakeTopics({"orders": 1}), CoordinatorSettings(max_size=max_size))
        self._now = 0.0

    def ask(self, who: str, request: Request) -> Future[Response]:
        asked: Future[Response] = Future()
        self._coordinator.ask(request, self._now, Client(who), asked.set_result)
        self._now += _STEP_S
        return asked

    def let_pass(self, seconds: float, over: Callable[[], bool]) -> None:
        self._now += seconds
        self._coordinator.advance(self._now)
