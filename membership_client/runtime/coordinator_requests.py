"""Requests beside the membership on the member's connection to its coordinator, such as commits.

They change nothing in the member, so the core knows nothing of them. They share its connection because the coordinator
is the only broker that can answer them, and its thread because that thread owns the connection.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from dataclasses import field

from membership_client.core.events import Answered, Failed, FailureKind, Request, Response, Send
from membership_client.core.member import Member
from membership_client.errors import MembershipError
from membership_client.types import Node
from membership_client.values import dataclass

Outcome = Response | Failed | MembershipError


@dataclass(frozen=True, slots=True, eq=False)
class CoordinatorRequest:
    """One request for the coordinator, made from the newest member at the moment it is sent.

    `make` runs on the membership thread and may refuse with a MembershipError. Exactly one outcome is put into `reply`.
    """

    make: Callable[[Member], Request]
    # The class is looked up for each request, because the test kit replaces it for members in virtual time.
    reply: queue.SimpleQueue[Outcome] = field(default_factory=lambda: queue.SimpleQueue())  # noqa: PLW0108


class CoordinatorRequests:
    """The requests under way. Belongs to the membership thread."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[CoordinatorRequest, Node]] = {}
        self._last_id = 0

    def start(self, wanted: CoordinatorRequest, member: Member) -> Send | None:
        """What to send for the request; None if it has ended already, with an error in its `reply`."""
        try:
            request = wanted.make(member)
        except MembershipError as error:
            wanted.reply.put(error)
            return None
        if member.coordinator is None:
            wanted.reply.put(Failed(0, FailureKind.UNREACHABLE, "The group has no known coordinator at the moment."))
            return None
        # Negative, so that they can never be taken for the member's own requests.
        self._last_id -= 1
        self._open[self._last_id] = (wanted, member.coordinator)
        return Send(self._last_id, member.coordinator, request)

    def finish(self, answer: Answered | Failed) -> bool:
        """Hand an answer to the thread that waits for it; False if it is not ours."""
        if answer.request_id >= 0:
            return False
        wanted, _ = self._open.pop(answer.request_id, (None, None))
        if wanted is not None:
            wanted.reply.put(answer.response if isinstance(answer, Answered) else answer)
        return True

    def drop(self, to: Node | None, why: str) -> None:
        """The connection to that broker was dropped: nothing on it will be answered."""
        for request_id in [i for i, (_, node) in self._open.items() if node == to]:
            self.finish(Failed(request_id, FailureKind.DISCONNECTED, why))

    def drop_all(self, why: str) -> None:
        for request_id in tuple(self._open):
            self.finish(Failed(request_id, FailureKind.DISCONNECTED, why))
