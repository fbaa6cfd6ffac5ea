"""Channel: a socket to one broker, the frames of its bytes, and blocking requests on it; and why it could not be opened."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from membership_client.core.events import FailureKind

if TYPE_CHECKING:
    from membership_client.net.codec import Offer
    from membership_client.types import Node


RECEIVE_BYTES = 65536
_CORRELATION_ID = struct.Struct(">i")
_CORRELATION_IDS = 2**31


class HungUp(ConnectionError):  # noqa: N818 - it is what the peer did
    """The peer closed the connection where it should have answered."""


@dataclass(slots=True, repr=False, eq=False)
class Channel:
    """A connection that is being set up. Belongs to one thread at a time."""

    address: Node
    socket: socket.socket
    client_id: str
    frames: Frames
    offer: Offer = field(default_factory=dict)
    _next_correlation_id: int = 1
    """Starts with 1, because the bytes of other protocols, read as a correlation id, are most often 0."""

    def new_correlation_id(self) -> int:
        taken = self._next_correlation_id
        self._next_correlation_id = (taken + 1) % _CORRELATION_IDS
        return taken

    def exchange(self, encode: Callable[[int], bytes], deadline: float) -> bytes:
        """Send the request that `encode` makes for a correlation id, and wait for its answer.

        Raises:
            OSError: TimeoutError at the deadline, HungUp if the peer closed the connection, or another one.
            NotKafka: the bytes are no answer to this request.
        """
        correlation_id = self.new_correlation_id()
        self.socket.settimeout(time_left(deadline))
        self.socket.sendall(encode(correlation_id))
        payload = self._receive(deadline)
        if correlation_id_of(payload) != correlation_id:
            raise NotKafka("its correlation id is not that of the request")
        return payload

    def _receive(self, deadline: float) -> bytes:
        while True:
            for payload in self.frames:
                return payload
            self.socket.settimeout(time_left(deadline))
            received = self.socket.recv(RECEIVE_BYTES)
            if not received:
                raise HungUp("it closed the connection during set-up")
            self.frames.feed(received)


def correlation_id_of(payload: bytes) -> int:
    (correlation_id,) = _CORRELATION_ID.unpack_from(payload)
    return int(correlation_id)


def time_left(deadline: float) -> float:
    """Seconds until the deadline. Raises TimeoutError if there are none."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


# --- frames ----------------------------------------------------------------------------------------------------------


MAX_FRAME_BYTES = 32 * 1024 * 1024
"""An assignment of a million partitions takes an eighth of it. The first bytes of other protocols, read as a length, are more."""

_SIZE = struct.Struct(">i")
_CORRELATION_ID_BYTES = 4


class NotKafka(Exception):  # noqa: N818 - it says what the peer is
    """The peer cannot be a Kafka broker. The text is a guess at what it is."""


class Frames:
    """Bytes in, payloads out: a payload is a frame without its size prefix, and begins with its correlation id.

    Holds at most one frame's worth of bytes beyond the payloads not yet taken, and almost nothing when idle.
    """

    __slots__ = ("_buffer", "_max_frame_bytes")

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()

    def feed(self, received: bytes) -> None:
        self._buffer += received

    def __iter__(self) -> Iterator[bytes]:
        """Take the complete payloads, in order.

        Raises:
            NotKafka: a length is negative, too short or too long.
        """
        while len(self._buffer) >= _SIZE.size:
            end = _SIZE.size + self._next_length()
            if len(self._buffer) < end:
                return
            payload = bytes(memoryview(self._buffer)[_SIZE.size : end])
            del self._buffer[:end]
            yield payload

    def _next_length(self) -> int:
        length: int = _SIZE.unpack_from(self._buffer)[0]
        if not _CORRELATION_ID_BYTES <= length <= self._max_frame_bytes:
            raise NotKafka(_guess(bytes(self._buffer[:4]), length))
        return length


def _guess(start: bytes, length: int) -> str:
    if start == b"HTTP":
        return "it answers like an HTTP server"
    # A TLS record of type alert (21), version 3.x.
    if start.startswith(b"\x15\x03"):
        return "it answers with a TLS alert: this is a TLS port, and the connection is plain text; is security.protocol right?"
    return f"it announces {length} bytes: is it another service, or a TLS port?"


# --- failures --------------------------------------------------------------------------------------------------------


_SERIOUSNESS = (
    FailureKind.UNREACHABLE,
    FailureKind.NOT_KAFKA,
    FailureKind.UNTRUSTED,
    FailureKind.AUTHENTICATION,
)
_REFUSALS = frozenset({FailureKind.UNTRUSTED, FailureKind.AUTHENTICATION})


class OpenFailed(Exception):  # noqa: N818 - it is an outcome
    """A connection could not be opened; `detail` says why."""

    def __init__(self, kind: FailureKind, detail: str, *, ours: bool = False) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.ours = ours
        """True if the cause is on this side: no token, or a file that cannot be read."""


def failure_of_host(failures: Sequence[OpenFailed]) -> OpenFailed:
    """One error for all addresses of a host name: the texts of all, and the most serious kind.

    A name often has an address at which no service listens; the error of an address that answered counts more.
    """
    return _combined(failures, failures)


def failure_of_servers(failures: Sequence[OpenFailed]) -> OpenFailed:
    """One error for all entries of bootstrap.servers: the texts of all, and the most serious kind.

    It is a refusal, which ends the member, only if all entries refused: an address that refuses may belong to another
    cluster by now, while this cluster's brokers are away for a moment.
    """
    passing = [failure for failure in failures if failure.kind not in _REFUSALS]
    return _combined(failures, passing or failures)


def _combined(failures: Sequence[OpenFailed], decisive: Sequence[OpenFailed]) -> OpenFailed:
    kind = max((failure.kind for failure in decisive), key=_SERIOUSNESS.index)
    return OpenFailed(
        kind, "; ".join(failure.detail for failure in failures), ours=all(failure.ours for failure in failures)
    )
