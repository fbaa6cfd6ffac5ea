"""Open a connection: resolve, connect, then one set-up step after the other, until it is ready for requests.

All of it blocks, so it runs on a thread of its own and reads from top to bottom.
"""

from __future__ import annotations

import socket
import struct
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from membership_client.core.events import FailureKind
from membership_client.net import api_versions
from membership_client.net.connection import Connection
from membership_client.net.frames import MAX_FRAME_BYTES, Frames, NotKafka
from membership_client.net.reader import Undecodable

if TYPE_CHECKING:
    from collections.abc import Callable

    from membership_client.net.codec import Offer
    from membership_client.types import Node

_RECEIVE_BYTES = 65536
_CORRELATION_ID = struct.Struct(">i")


class OpenFailed(Exception):  # noqa: N818 - it is an outcome
    """No connection, and why: UNREACHABLE or NOT_KAFKA."""

    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail


class _HungUp(ConnectionError):  # noqa: N818 - it is what the peer did
    """The peer closed the connection where it should have answered."""


@dataclass(slots=True)
class Opening:
    """A connection that is being set up. Every step may exchange frames on it, replace its socket, or add what it learned."""

    address: Node
    socket: socket.socket
    client_id: str
    deadline: float
    frames: Frames
    api_versions: int
    offer: Offer = field(default_factory=dict)
    correlation_id: int = 0

    def exchange(self, encode: Callable[[int], bytes]) -> bytes:
        """Send the request that `encode` makes for a correlation id, and wait for its answer."""
        self.correlation_id += 1
        self.socket.settimeout(_time_left(self.deadline))
        self.socket.sendall(encode(self.correlation_id))
        payload = self._receive()
        if _CORRELATION_ID.unpack_from(payload) != (self.correlation_id,):
            raise NotKafka("it answers what was not asked")
        return payload

    def _receive(self) -> bytes:
        while True:
            for payload in self.frames:
                return payload
            self.socket.settimeout(_time_left(self.deadline))
            received = self.socket.recv(_RECEIVE_BYTES)
            if not received:
                raise _HungUp("it closed the connection during set-up: is it a TLS port, or a proxy without a broker?")
            self.frames.feed(received)


def _learn_versions(opening: Opening) -> None:
    offer = _ask_versions(opening, opening.api_versions)
    if offer is None:
        offer = _ask_versions(opening, api_versions.OLDEST)
    opening.offer = offer or {}


def _ask_versions(opening: Opening, version: int) -> Offer | None:
    payload = opening.exchange(lambda correlation_id: api_versions.ask(version, correlation_id, opening.client_id))
    return api_versions.understand(version, payload)


SETUP: tuple[Callable[[Opening], None], ...] = (_learn_versions,)
"""What happens between connect and first use, in order. TLS belongs before the versions, authentication after them."""


def open_connection(
    address: Node, *, client_id: str, timeout_s: float, max_frame_bytes: int = MAX_FRAME_BYTES
) -> Connection:
    """Connect to a broker and prepare the connection for requests. Blocks for `timeout_s` at most, plus name resolution.

    Raises:
        OpenFailed: for every reason that lies outside this process.
    """
    deadline = time.monotonic() + timeout_s
    try:
        try:
            return _open(address, client_id, deadline, Frames(max_frame_bytes), api_versions.NEWEST)
        except _HungUp:
            # Some brokers hang up on a version of ApiVersions that is too new for them, instead of saying so.
            return _open(address, client_id, deadline, Frames(max_frame_bytes), api_versions.OLDEST)
    except (NotKafka, Undecodable) as error:
        raise OpenFailed(FailureKind.NOT_KAFKA, f"{address} did not answer like a Kafka broker ({error})") from error
    except api_versions.Refusal as error:
        raise OpenFailed(FailureKind.UNREACHABLE, f"{address} cannot be used: {error}") from error
    except TimeoutError as error:
        detail = f"{address} did not answer within {timeout_s:g} s"
        raise OpenFailed(FailureKind.UNREACHABLE, detail) from error
    # A host name that cannot be one is a ValueError, a port that cannot be one an OverflowError.
    except (OSError, ValueError, OverflowError) as error:
        raise OpenFailed(FailureKind.UNREACHABLE, f"cannot connect to {address}: {error}") from error


def _open(address: Node, client_id: str, deadline: float, frames: Frames, version: int) -> Connection:
    opening = Opening(address, _connect(address, deadline), client_id, deadline, frames, version)
    try:
        for step in SETUP:
            step(opening)
        return Connection(opening.socket, address, client_id=client_id, offer=opening.offer, frames=opening.frames)
    except BaseException:
        opening.socket.close()
        raise


def _connect(address: Node, deadline: float) -> socket.socket:
    """Try every address of the host in turn; none may use up the time of the ones after it."""
    targets = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    reasons: list[str] = []
    for untried, (family, _, _, _, target) in zip(range(len(targets), 0, -1), targets, strict=True):
        try:
            return _connect_to(family, target, _time_left(deadline) / untried)
        except OSError as error:
            reasons.append(f"{target[0]}: {error}")
    raise OSError("; ".join(reasons))


def _connect_to(family: int, target: Any, timeout_s: float) -> socket.socket:
    connected = socket.socket(family, socket.SOCK_STREAM)
    try:
        connected.settimeout(timeout_s)
        connected.connect(target)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    except BaseException:
        connected.close()
        raise
    return connected


def _time_left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left
