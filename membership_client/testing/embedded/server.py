"""The sockets of embedded brokers, on one thread."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from membership_client.net.channel import Frames, NotKafka
from membership_client.testing.embedded.broker import Brokers, NoAnswer
from membership_client.testing.embedded.timers import NEVER

_READ_BYTES = 1 << 18
_MOST_FRAME_BYTES = 100 * 2**20
"""The largest request, as Kafka's `socket.request.max.bytes`."""


@dataclass(slots=True, eq=False)
class _ClientConnection:
    """The connection of one client. As on a broker, the next request is handled after the last one was answered."""

    sock: socket.socket
    node_id: int
    frames: Frames = field(default_factory=lambda: Frames(_MOST_FRAME_BYTES))
    waiting: deque[bytes] = field(default_factory=deque)
    """Received bytes of requests that are not handled yet."""
    outgoing: bytearray = field(default_factory=bytearray)
    is_busy: bool = False
    """Whether a request is being handled, or its answer is delayed."""
    watched: int = 0
    """The events for which the selector waits."""
    is_closed: bool = False


class Server:
    """Reads requests, passes them to the brokers, and writes their answers, on a thread of its own.

    Code that uses the brokers must hold `changed`, which is notified after each round. Any thread may call `wake()`.
    """

    def __init__(self, listeners: dict[int, socket.socket], brokers: Brokers, clock: Callable[[], float]) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.is_paused = False
        """Whether nothing is read from connections or written to them, although they stay open. Set it with `changed` held, and notify."""
        self.rounds = 0
        """The number of rounds. In each of them the brokers may have done something."""
        self._brokers = brokers
        self._clock = clock
        self._listeners = listeners
        self._connections: set[_ClientConnection] = set()
        self._selector = selectors.DefaultSelector()
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="embedded-kafka", daemon=True)

    def start(self) -> None:
        self._wake_reader.setblocking(False)
        self._wake_writer.setblocking(False)
        self._selector.register(self._wake_reader, selectors.EVENT_READ)
        for node_id, listener in self._listeners.items():
            listener.setblocking(False)
            self._selector.register(listener, selectors.EVENT_READ, node_id)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and close all sockets; return when that is done."""
        with self.changed:
            self._is_stopping = True
            self.changed.notify_all()
        self.wake()
        self._thread.join()

    def wake(self) -> None:
        """Make the thread look at deadlines and answers again."""
        with contextlib.suppress(OSError):  # The socket is full of wake-ups already, or the thread has ended.
            self._wake_writer.send(b"\0")

    def await_round(self, seen: int, timeout_s: float) -> None:
        """Wait until there were more than `seen` rounds, or the time is over."""
        with self.changed:
            self.changed.wait_for(lambda: self.rounds != seen, timeout_s)

    def disconnect_all(self) -> None:
        """Close the connections of all clients, which may connect again at once. The caller holds `changed`."""
        for connection in tuple(self._connections):
            self._close(connection)

    def abandon(self) -> None:
        """In a forked child: close its copies of the sockets. Clients do not notice."""
        for connection in self._connections:
            connection.sock.close()
        self._close_own_sockets()

    # --- on the server's thread --------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._is_stopping:
                events = self._selector.select(self._timeout())
                with self.changed:
                    self.changed.wait_for(lambda: self._is_stopping or not self.is_paused)
                    self._round(events)
                    self.rounds += 1
                    self.changed.notify_all()
        finally:
            with self.changed:
                self._close_all()
                self.changed.notify_all()

    def _timeout(self) -> float | None:
        with self.changed:
            deadline = self._brokers.deadline()
        return None if deadline == NEVER else max(0.0, deadline - self._clock())

    def _round(self, events: list[tuple[selectors.SelectorKey, int]]) -> None:
        for key, mask in events:
            if key.fileobj is self._wake_reader:
                with contextlib.suppress(BlockingIOError):
                    self._wake_reader.recv(4096)
            elif isinstance(key.data, _ClientConnection):
                if mask & selectors.EVENT_READ and not key.data.is_closed:
                    self._read(key.data)
            elif isinstance(key.fileobj, socket.socket):
                self._accept(key.fileobj, key.data)
        self._brokers.advance(self._clock())
        while ready := [
            connection for connection in self._connections if connection.waiting and not connection.is_busy
        ]:
            for connection in ready:
                self._handle(connection)
        # Done last, because a request of one connection may complete the answer to another one.
        for connection in tuple(self._connections):
            self._write(connection)

    def _accept(self, listener: socket.socket, node_id: int) -> None:
        try:
            sock, _ = listener.accept()
        except OSError:
            return  # The client has gone already.
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = _ClientConnection(sock, node_id)
        self._connections.add(connection)
        self._watch(connection)

    def _read(self, connection: _ClientConnection) -> None:
        try:
            received = connection.sock.recv(_READ_BYTES)
            connection.frames.feed(received)
            connection.waiting.extend(connection.frames)
        except BlockingIOError:
            return
        except (OSError, NotKafka):
            received = b""
        if not received:
            self._close(connection)

    def _handle(self, connection: _ClientConnection) -> None:
        """Handle the received requests, up to one whose answer has to wait."""
        while connection.waiting and not connection.is_busy and not connection.is_closed:
            connection.is_busy = True
            payload = connection.waiting.popleft()
            self._brokers.receive(
                connection.node_id, payload, self._clock(), lambda answer: self._answer(connection, answer)
            )

    def _answer(self, connection: _ClientConnection, answer: bytes | NoAnswer) -> None:
        """Send an answer. Called within `receive` or later, with `changed` held."""
        connection.is_busy = False
        if answer is NoAnswer.DISCONNECT:
            self._close(connection)
        elif not isinstance(answer, NoAnswer) and not connection.is_closed:
            connection.outgoing += answer

    def _write(self, connection: _ClientConnection) -> None:
        if connection.is_closed:
            return
        try:
            while connection.outgoing:
                sent = connection.sock.send(memoryview(connection.outgoing)[:_READ_BYTES])
                del connection.outgoing[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self._close(connection)
            return
        self._watch(connection)

    def _watch(self, connection: _ClientConnection) -> None:
        """Read on only if the received requests were handled, so that a client that sends without reading fills only its own buffers."""
        events = 0 if connection.waiting else selectors.EVENT_READ
        events |= selectors.EVENT_WRITE if connection.outgoing else 0
        if events == connection.watched:
            return
        if connection.watched:
            self._selector.unregister(connection.sock)
        if events:
            self._selector.register(connection.sock, events, connection)
        connection.watched = events

    def _close(self, connection: _ClientConnection) -> None:
        if connection.is_closed:
            return
        connection.is_closed = True
        self._connections.discard(connection)
        if connection.watched:
            self._selector.unregister(connection.sock)
        connection.sock.close()

    def _close_all(self) -> None:
        self.disconnect_all()
        self._close_own_sockets()

    def _close_own_sockets(self) -> None:
        for sock in (*self._listeners.values(), self._wake_reader, self._wake_writer):
            sock.close()
        self._selector.close()
