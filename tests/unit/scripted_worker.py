"""A worker whose coordinator gives the answers that a test has listed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from membership_client.core.events import CommitOffsets, Event, FetchOffsets
from membership_client.core.member import Member
from membership_client.errors import MembershipError
from membership_client.runtime.coordinator_requests import CoordinatorRequest, Outcome
from membership_client.runtime.worker import Worker
from membership_client.testing.fake_cluster import FakeCluster
from membership_client.testing.virtual import VirtualBrokers
from tests.core.play import Play


class ScriptedWorker(Worker):
    """Gives out the answers that a test wrote down, one per request, then none; the member's epoch has grown by the next one."""

    def __init__(self, *answers: Outcome, member: Member | None = None) -> None:
        super().__init__(member or Play.new().stable(0).member, VirtualBrokers(FakeCluster({})))
        self.asked: list[CommitOffsets | FetchOffsets] = []
        self.posted: list[Event] = []
        self.between: Callable[[], None] = lambda: None
        """Called after each attempt."""
        self._answers = list(answers)

    def run_request(self, wanted: CoordinatorRequest) -> None:
        try:
            request = wanted.make(self.member)
        except MembershipError as error:
            wanted.reply.put(error)
            return
        assert isinstance(request, CommitOffsets | FetchOffsets)
        self.asked.append(request)
        self.member = replace(self.member, epoch=self.member.epoch + 1)
        if self._answers:
            wanted.reply.put(self._answers.pop(0))
        self.between()

    def post(self, event: Event) -> None:
        self.posted.append(event)
