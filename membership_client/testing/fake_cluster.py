"""A fake cluster: one broker has the fake coordinator, and the others answer that they do not have it."""

from __future__ import annotations

from collections.abc import Mapping

from membership_client.core.error_codes import Code
from membership_client.core.events import (
    CoordinatorFound,
    FindCoordinator,
    Refused,
    Request,
    Response,
)
from membership_client.testing.fake_classic import Reply
from membership_client.testing.fake_coordinator import GROUP_REQUESTS, Client, CoordinatorSettings, FakeCoordinator
from membership_client.testing.fake_topics import FakeTopics
from membership_client.types import Node


class FakeCluster:
    """Brokers b1, b2, … on port 9092; b1 coordinates first. Groups survive every move, as they do in Kafka's log."""

    def __init__(
        self, topics: Mapping[str, int], settings: CoordinatorSettings | None = None, *, brokers: int = 2
    ) -> None:
        self.nodes = tuple(Node(f"b{number}", 9092, number) for number in range(1, brokers + 1))
        self.topics = FakeTopics(dict(topics))
        self.groups = FakeCoordinator(self.topics, settings)
        self.coordinator: Node | None = self.nodes[0]
        """The broker that coordinates; None after its end, until another one is chosen."""
        self.loading_until = float("-inf")
        self.lacks: frozenset[type[Request]] = frozenset()
        """Requests that these brokers do not know. A client finds that out before it sends them."""

    def move(self, to: Node, now: float, *, loading_s: float = 0.0) -> None:
        """Make another broker the coordinator. For `loading_s` it loads the groups from the log."""
        self.coordinator = to
        self.loading_until = now + loading_s
        self.groups.restart_timers(self.loading_until)

    def advance(self, now: float) -> None:
        """Let time pass for the coordinator. Without a coordinator, or while it loads, timers do not run."""
        if self.coordinator is not None and now >= self.loading_until:
            self.groups.advance(now)

    def ask(self, node: Node | None, request: Request, now: float, client: Client, reply: Reply) -> None:
        """As `handle`, also for requests that a coordinator may hold back: `reply` is called with the answer, now or later."""
        refusal = self._refusal(node, request, now)
        if refusal is not None:
            reply(refusal)
        elif isinstance(request, FindCoordinator):
            reply(self.handle(node, request, now, client))
        else:
            self.groups.ask(request, now, client, reply)

    def handle(self, node: Node | None, request: Request, now: float, client: Client | None = None) -> Response:
        """The answer of that broker; of any broker if `node` is None."""
        if isinstance(request, FindCoordinator):
            if self.coordinator is None:
                return Refused(Code.COORDINATOR_NOT_AVAILABLE)
            return CoordinatorFound(self.coordinator)
        return self._refusal(node, request, now) or self.groups.handle(request, now, client)

    def _refusal(self, node: Node | None, request: Request, now: float) -> Refused | None:
        if not isinstance(request, GROUP_REQUESTS):
            return None
        if node != self.coordinator:
            return Refused(Code.NOT_COORDINATOR)
        return Refused(Code.COORDINATOR_LOAD_IN_PROGRESS) if now < self.loading_until else None
