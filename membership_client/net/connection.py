"""One TCP connection to one broker, after its set-up."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from membership_client.core.events import Answered, Failed, FailureKind, Request
from membership_client.net.channel import RECEIVE_BYTES, Channel, NotKafka, correlation_id_of
from membership_client.net.codec import choose_version, decode, encode, unsupported
from membership_client.net.reader import Undecodable

if TYPE_CHECKING:
    from membership_client.types import Node

Completion = Answered | Failed


class _Outstanding(NamedTuple):
    correlation_id: int
    request_id: int
    request: Request
    version: int


class Connection:
    """Sends requests and completes them, without ever blocking. Not thread-safe: one thread owns it at a time.

    Every request that was sent is completed exactly once, in order, unless `close()` comes first. Each method returns what
    it completed; once the connection has ended, for whatever reason, `closed` is true and nothing is outstanding.
    """

    __slots__ = ("_answered", "_outstanding", "_renew_at", "_unsent", "channel", "closed")

    def __init__(self, channel: Channel, *, renew_at: float | None = None) -> None:
        channel.socket.setblocking(False)
        self.channel = channel
        self._renew_at = renew_at
        self._unsent = bytearray()
        self._outstanding: deque[_Outstanding] = deque()
        self._answered = False
        self.closed = False

    @property
    def address(self) -> Node:
        return self.channel.address

    def fileno(self) -> int:
        return self.channel.socket.fileno()

    @property
    def is_due(self) -> bool:
        """Must the SASL session be renewed? Then no request may be sent before."""
        return self._renew_at is not None and time.monotonic() >= self._renew_at

    @property
    def renews_at(self) -> float:
        """When its SASL session must be renewed, by the monotonic clock; infinity for never."""
        return float("inf") if self._renew_at is None else self._renew_at

    @property
    def idle(self) -> bool:
        return not self._outstanding

    @property
    def wants_to_write(self) -> bool:
        return bool(self._unsent)

    def send(self, request_id: int, request: Request) -> list[Completion]:
        """Send, or keep for `on_writable` what the socket does not take now."""
        channel = self.channel
        version = choose_version(request, channel.offer)
        if version is None:
            detail = f"{unsupported(request, channel.offer)} by the broker at {self.address}"
            return [Failed(request_id, FailureKind.UNSUPPORTED, detail)]
        correlation_id = channel.new_correlation_id()
        try:
            self._unsent += encode(request, version, correlation_id, channel.client_id)
        except Exception as error:  # noqa: BLE001 - kio raises what struct and str.encode raise; only this request ends
            detail = f"{type(request).__name__} cannot be written in Kafka's format: {error!r}"
            return [Failed(request_id, FailureKind.UNENCODABLE, detail)]
        self._outstanding.append(_Outstanding(correlation_id, request_id, request, version))
        return self.on_writable()

    def on_writable(self) -> list[Completion]:
        try:
            del self._unsent[: self.channel.socket.send(self._unsent)]
        except BlockingIOError:
            return []
        except OSError as error:
            return self._fail(FailureKind.DISCONNECTED, f"the connection to {self.address} broke: {error}")
        return []

    def on_readable(self) -> list[Completion]:
        try:
            received = self.channel.socket.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return []
        except OSError as error:
            return self._fail(FailureKind.DISCONNECTED, f"the connection to {self.address} broke: {error}")
        if not received:
            return self._fail(FailureKind.DISCONNECTED, f"{self.address} closed the connection{self._hint()}")
        self.channel.frames.feed(received)
        return self._take_answers()

    def close(self) -> None:
        """Drop the connection and forget what is outstanding.

        No shutdown: in a forked child this closes the child's copy, and the parent's goes on.
        """
        self.closed = True
        self._outstanding.clear()
        self.channel.socket.close()

    def _take_answers(self) -> list[Completion]:
        completed: list[Completion] = []
        try:
            completed.extend(map(self._answer, self.channel.frames))
        except (NotKafka, Undecodable) as error:
            detail = f"{self.address} did not answer like a Kafka broker ({error})"
            completed.extend(self._fail(FailureKind.NOT_KAFKA, detail))
        return completed

    def _answer(self, payload: bytes) -> Answered:
        if not self._outstanding or self._outstanding[0].correlation_id != correlation_id_of(payload):
            raise NotKafka("its correlation id is not that of the request")
        asked = self._outstanding[0]
        response, throttle_s = decode(asked.request, asked.version, payload)
        # Not before decoding: the request of an answer that cannot be read must be among those that fail.
        self._outstanding.popleft()
        self._answered = True
        return Answered(asked.request_id, response, throttle_s)

    def _hint(self) -> str:
        """Brokers close a connection without a word if the client should have used TLS or SASL."""
        return "" if self._answered else " before its first answer: if this lasts, is security.protocol right?"

    def _fail(self, kind: FailureKind, detail: str) -> list[Completion]:
        failed: list[Completion] = [Failed(asked.request_id, kind, detail) for asked in self._outstanding]
        self.close()
        return failed
