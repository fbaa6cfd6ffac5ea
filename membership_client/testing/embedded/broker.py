"""The brokers of a cluster without sockets: they take the bytes of a request, and answer with bytes, now or later."""

from __future__ import annotations

import enum
import logging
from collections import Counter
from collections.abc import Callable

from membership_client.core.error_codes import Code
from membership_client.net.reader import Undecodable
from membership_client.testing.embedded.apis import API_VERSIONS, APIS, UNSUPPORTED_VERSION, Api, told_versions
from membership_client.testing.embedded.call import BrokerCall
from membership_client.testing.embedded.cluster import Cluster
from membership_client.testing.embedded.faults import Faults
from membership_client.testing.embedded.refusal import refusal
from membership_client.testing.embedded.wire import Fields, Header, read_header, read_request, write_answer
from membership_client.testing.fake_coordinator import Client

_LOG = logging.getLogger("membership_client.testing")
_HOST = "/127.0.0.1"


class NoAnswer(enum.Enum):
    """Results of a request that are not an answer."""

    NONE_WANTED = "none wanted"
    DISCONNECT = "disconnect"


Answer = Callable[[bytes | NoAnswer], None]


class Brokers:
    """All brokers of a cluster. Pure: no socket, thread or clock. Times must not go back. Not thread-safe."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.faults = Faults()
        self.handled: Counter[str] = Counter()
        """The number of requests of each kind."""

    def deadline(self) -> float:
        """When `advance` must be called if no request comes before."""
        return self.cluster.deadline()

    def advance(self, now: float) -> None:
        """Send delayed answers that are due, and end sessions and transactions that are due."""
        self.cluster.advance(now)

    def receive(self, node_id: int, payload: bytes, now: float, answer: Answer) -> None:
        """Handle a request to that broker: a frame without its size. `answer` is called once, now or later."""
        self.advance(now)
        try:
            header = read_header(payload)
            api = APIS.get(header.api_key)
            if api is None or not api.first <= header.version <= api.last:
                answer(_unsupported(header))
                return
            request = read_request(header, payload)
        except Undecodable:
            answer(NoAnswer.DISCONNECT)
            return
        self.handled[api.name] += 1
        client = Client(header.client_id, _HOST)
        reply = self._reply(api, header, now, answer)
        call = BrokerCall(node_id=node_id, version=header.version, request=request, client=client, now=now, reply=reply)
        self._handle(api, call)

    def _handle(self, api: Api, call: BrokerCall) -> None:
        code = self.faults.take_code(api.name)
        if not code and api.needs_coordinator:
            code = self.cluster.coordinator_error(call.node_id, call.now)
        if code:
            call.reply(refusal(call.request, call.version, code))
            return
        try:
            api.handle(self.cluster, call)
        except Exception:  # noqa: BLE001 - a bug here must not end the thread of all connections
            _LOG.exception(
                "The embedded broker failed to handle %s version %d; please report it", api.name, call.version
            )
            call.reply(refusal(call.request, call.version, Code.UNKNOWN_SERVER_ERROR))

    def _reply(self, api: Api, header: Header, now: float, answer: Answer) -> Callable[[Fields | None], None]:
        delay_s = self.faults.delays_s.get(api.name, 0.0)
        is_lost = self.faults.take_loss(api.name)

        def reply(fields: Fields | None) -> None:
            if is_lost:
                octets: bytes | NoAnswer = NoAnswer.DISCONNECT
            else:
                octets = NoAnswer.NONE_WANTED if fields is None else write_answer(header, header.version, fields)
            if delay_s:
                self.cluster.timers.at(now + delay_s, lambda _: answer(octets))
            else:
                answer(octets)

        return reply


def _unsupported(header: Header) -> bytes | NoAnswer:
    """The result of a request in an unsupported version: an answer to ApiVersions, and a disconnect for other requests."""
    if header.api_key != API_VERSIONS:
        return NoAnswer.DISCONNECT
    return write_answer(header, 0, told_versions(UNSUPPORTED_VERSION))
