"""The transport of a real `GroupMember` in a run: requests go to the brokers of the run, and waits are in virtual time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

from membership_client.core.error_codes import Code
from membership_client.core.events import (
    Answered,
    CommitOffsets,
    Failed,
    FailureKind,
    FetchOffsets,
    Heartbeat,
    OffsetsCommitted,
    OffsetsFetched,
    Refused,
    Response,
    Send,
)
from membership_client.partitions import NOTHING
from membership_client.testing.fake_coordinator import Client
from membership_client.testing.fake_reconciler import ReconcileProgress
from membership_client.testing.kit.history import What
from membership_client.testing.kit.membership import LATENCY_S
from membership_client.types import Node, TopicPartition

if TYPE_CHECKING:
    from membership_client.testing.kit.world import World


class VirtualTransport:
    """A `runtime.worker.Transport` of one member. Used by the threads of its instance, which take turns."""

    def __init__(self, world: World, label: str) -> None:
        self.known_as = ""
        """The member id; empty before the first heartbeat."""
        self.alive = True
        self.answers_to_lose = 0
        self._world = world
        self._scheduler = world.scheduler
        self._label = label
        self._acknowledged = NOTHING
        """The partitions that its last heartbeat named as owned: those whose callbacks have returned."""
        self._fence: int | None = None
        self._outcomes: list[Answered | Failed] = []
        self._woken = False

    # --- for the member ----------------------------------------------------------------------------------------------

    def send(self, send: Send) -> None:
        if isinstance(send.request, CommitOffsets):
            for partition, offset in send.request.offsets.items():
                self._world.add(What.COMMIT_SENT, self._label, partitions=(partition,), offset=offset.offset)
        elif isinstance(send.request, Heartbeat):
            self.known_as = send.request.member_id
            self._acknowledged = self._acknowledged if send.request.owned is None else send.request.owned
        self._scheduler.at(self._scheduler.now + LATENCY_S, partial(self._arrive, send))

    def wait(self, timeout_s: float | None) -> Sequence[Answered | Failed]:
        self._scheduler.wait(lambda: self._woken or bool(self._outcomes), timeout_s)
        outcomes, self._outcomes, self._woken = self._outcomes, [], False
        return outcomes

    def wakeup(self) -> None:
        self._woken = True

    def disconnect(self, to: Node | None) -> None:
        """Does nothing, because there are no connections."""

    def close(self) -> None:
        self.alive = False

    abandon = close

    # --- for the story -----------------------------------------------------------------------------------------------

    def owned(self) -> Collection[TopicPartition]:
        """The partitions that the member owns by the coordinator's view."""
        enrolled = self._world.group.enrolled(self.known_as)
        names = {topic.topic_id: topic.name for topic in self._world.cluster.topics}
        return () if enrolled is None else frozenset(enrolled.assigned.named(names))

    def is_stable(self) -> bool:
        """Whether the member has reached its target and acknowledged it."""
        enrolled = self._world.group.enrolled(self.known_as)
        if enrolled is None or enrolled.epoch != self._world.group.target_epoch():
            return False
        return enrolled.progress is ReconcileProgress.STABLE and enrolled.assigned == self._acknowledged

    def fence(self) -> None:
        """Answer the next heartbeat with FENCED_MEMBER_EPOCH."""
        self._fence = Code.FENCED_MEMBER_EPOCH

    def stall(self, until: float) -> None:
        """Does nothing: the transport has no thread, and the threads of the instance stand still."""

    def kill(self) -> None:
        self.alive = False

    # --- the network -------------------------------------------------------------------------------------------------

    def _arrive(self, send: Send) -> None:
        request = send.request
        if isinstance(request, Heartbeat) and self._fence is not None and request.epoch > 0:
            code, self._fence = self._fence, None
            self._answer(send, Refused(code))
        elif isinstance(request, CommitOffsets):
            self._answer(send, self._commit(send.to, request))
        elif isinstance(request, FetchOffsets):
            self._answer(send, OffsetsFetched({p: self._world.offsets.get(p) for p in sorted(request.partitions)}, {}))
        else:
            client = Client(client_id=self._label, host="/127.0.0.1")
            self._world.cluster.ask(send.to, request, self._scheduler.now, client, partial(self._answer, send))
            timer_at = self._world.cluster.groups.next_timer()
            if timer_at < float("inf"):
                self._scheduler.at(timer_at, lambda: None)

    def _commit(self, to: Node | None, request: CommitOffsets) -> Response:
        moved = to != self._world.cluster.coordinator
        code = Code.NOT_COORDINATOR if moved else self._world.group.commit_code(request.member_id, request.epoch)
        for partition, offset in request.offsets.items():
            what, text = (What.COMMIT_REFUSED, Code(code).name) if code else (What.COMMITTED, "")
            self._world.add(what, self._label, partitions=(partition,), offset=offset.offset, text=text)
            if not code:
                self._world.offsets[partition] = offset
        return OffsetsCommitted(dict.fromkeys(request.offsets, int(code)))

    def _answer(self, send: Send, response: Response) -> None:
        outcome: Answered | Failed = Answered(send.request_id, response)
        if self.answers_to_lose:
            self.answers_to_lose -= 1
            outcome = Failed(send.request_id, FailureKind.DISCONNECTED, "the answer was lost")
        self._scheduler.at(self._scheduler.now + LATENCY_S, lambda: self._outcomes.append(outcome))
