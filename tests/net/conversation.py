"""One request after the other to a real group coordinator."""

from __future__ import annotations

import contextlib
import itertools
import time
from typing import TYPE_CHECKING, Self

from membership_client.core import events
from membership_client.net import BrokerTransport
from membership_client.partitions import NOTHING
from membership_client.types import Node
from tests.net.patience import LIMIT_S, outcomes

if TYPE_CHECKING:
    from collections.abc import Iterator

# Load in progress, not available, not coordinator: what a broker says that has just started.
_NOT_YET = {14, 15, 16}


class Conversation:
    """Asks, waits, and returns the answer. A coordinator that is not ready yet is asked again."""

    def __init__(self, transport: BrokerTransport, group_id: str) -> None:
        self._transport = transport
        self._ids = itertools.count()
        self._coordinator: Node | None = None
        self.group_id = group_id
        found = self.ask(events.FindCoordinator(group_id=group_id))
        assert isinstance(found, events.CoordinatorFound), found
        self._coordinator = found.node

    @classmethod
    @contextlib.contextmanager
    def about(cls, group_id: str, bootstrap_servers: str) -> Iterator[Self]:
        host, _, port = bootstrap_servers.partition(",")[0].rpartition(":")
        transport = BrokerTransport([Node(host, int(port))], client_id="tester", connect_timeout_s=LIMIT_S)
        with contextlib.closing(transport):
            yield cls(transport, group_id)

    def ask(self, request: events.Request) -> events.Response:
        """The coordinator's answer."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            outcome = self.outcome(request)
            assert isinstance(outcome, events.Answered), outcome
            response = outcome.response
            if not (isinstance(response, events.Refused) and response.code in _NOT_YET):
                return response
            assert time.monotonic() < deadline, response
            time.sleep(0.1)

    def outcome(self, request: events.Request) -> events.Answered | events.Failed:
        """The outcome of one request to the coordinator, answered or not."""
        request_id = next(self._ids)
        self._transport.send(events.Send(request_id, self._coordinator, request))
        (outcome,) = outcomes(self._transport)
        assert outcome.request_id == request_id
        return outcome

    def join(
        self,
        member_id: str = "m",
        *,
        topics: tuple[str, ...] | None = None,
        regex: str | None = None,
        instance_id: str | None = None,
    ) -> events.HeartbeatAccepted:
        """Send the heartbeat that joins the group, and insist on its success."""
        return self._accepted(
            events.Heartbeat(
                group_id=self.group_id,
                member_id=member_id,
                epoch=0,
                instance_id=instance_id,
                rebalance_timeout_s=60,
                topics=topics,
                regex=regex,
                owned=NOTHING,
            )
        )

    def beat(self, epoch: int, member_id: str = "m", *, instance_id: str | None = None) -> events.HeartbeatAccepted:
        """Send a heartbeat that changes nothing but the epoch, and insist on its success."""
        request = events.Heartbeat(group_id=self.group_id, member_id=member_id, epoch=epoch, instance_id=instance_id)
        return self._accepted(request)

    def _accepted(self, request: events.Heartbeat) -> events.HeartbeatAccepted:
        response = self.ask(request)
        assert isinstance(response, events.HeartbeatAccepted), response
        return response
