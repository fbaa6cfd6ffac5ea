"""Channel: a socket to one broker, the versions that it offers, and blocking requests, as setting a connection up needs them."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from membership_client.net.frames import Frames, NotKafka

if TYPE_CHECKING:
    from membership_client.net.codec import Offer
    from membership_client.types import Node

RECEIVE_BYTES = 65536
_CORRELATION_ID = struct.Struct(">i")
_CORRELATION_IDS = 2**31


class HungUp(ConnectionError):  # noqa: N818 - it is what the peer did
    """The peer closed the connection where it should have answered."""


@dataclass(slots=True)
class Channel:
    """A connection that is being set up. Belongs to one thread at a time."""

    address: Node
    socket: socket.socket
    client_id: str
    frames: Frames
    offer: Offer = field(default_factory=dict)
    _next_correlation_id: int = 1
    """Does not start with 0, which the bytes of other protocols have most often."""

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
