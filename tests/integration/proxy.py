"""A TCP proxy in front of one broker, which does to connections what networks do.

It understands as much of Kafka as it needs: frames, the API key of a request, and that answers come in order.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import struct
import threading
from collections.abc import Callable
from typing import Self

from membership_client.testing.wire import Address

HEARTBEAT = 68
LEAVE_GROUP = 13

Asked = queue.SimpleQueue[int]
"""The API keys of requests without an answer, in order."""
Carry = Callable[[socket.socket, socket.socket, Asked], None]


class Proxy:
    """Listens on a port of its own. `target` is where it forwards to, and may be set after the start."""

    def __init__(self, target: Address | None = None) -> None:
        self.target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._flows = threading.Event()
        self._flows.set()
        self._cut = False
        self._swallows: dict[int, int] = {}
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self.resume()
        # Closing alone would not wake the thread that accepts.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    # --- what networks do --------------------------------------------------------------------------------------------

    def swallow_answers(self, api_key: int, count: int = 1) -> None:
        """The broker gets the next requests of that kind, but instead of an answer the connection is cut."""
        with self._lock:
            self._swallows[api_key] = count

    def stall(self) -> None:
        """Connections stay open, and nothing gets through."""
        self._flows.clear()

    def resume(self) -> None:
        """Everything that was held back gets through."""
        self._flows.set()

    def cut(self) -> None:
        """Every connection ends, and new ones end at once, until `mend`."""
        self._cut = True
        with self._lock:
            for connection in self._sockets:
                _shut(connection)

    def mend(self) -> None:
        self._cut = False

    # --- forwarding --------------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._serve(client)

    def _serve(self, client: socket.socket) -> None:
        try:
            assert self.target is not None
            broker = socket.create_connection(self.target)
        except OSError:
            client.close()
            return
        with self._lock:
            self._sockets |= {client, broker}
        if self._cut:
            _shut(client)
        asked: Asked = queue.SimpleQueue()
        self._start(self._carry_requests, client, broker, asked)
        self._start(self._carry_answers, broker, client, asked)

    def _start(self, carry: Carry, source: socket.socket, sink: socket.socket, asked: Asked) -> None:
        thread = threading.Thread(target=self._until_cut, args=(carry, source, sink, asked))
        self._threads.append(thread)
        thread.start()

    def _until_cut(self, carry: Carry, source: socket.socket, sink: socket.socket, asked: Asked) -> None:
        """One direction. Its end is the end of both."""
        with contextlib.suppress(OSError):
            carry(source, sink, asked)
        _shut(source)
        _shut(sink)
        with self._lock:
            self._sockets.discard(source)
        source.close()

    def _carry_requests(self, client: socket.socket, broker: socket.socket, asked: Asked) -> None:
        while frame := _read_frame(client):
            self._flows.wait()
            asked.put(struct.unpack_from(">h", frame, 4)[0])
            broker.sendall(frame)

    def _carry_answers(self, broker: socket.socket, client: socket.socket, asked: Asked) -> None:
        while frame := _read_frame(broker):
            self._flows.wait()
            if self._is_swallowed(asked.get()):
                return
            client.sendall(frame)

    def _is_swallowed(self, api_key: int) -> bool:
        with self._lock:
            left = self._swallows.get(api_key, 0)
            self._swallows[api_key] = max(0, left - 1)
        return left > 0


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _read_frame(connection: socket.socket) -> bytes:
    """The next frame with its size, or nothing at the end."""
    start = _read_exactly(connection, 4)
    return start + _read_exactly(connection, struct.unpack(">i", start)[0]) if start else b""


def _read_exactly(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        more = connection.recv(size - len(received))
        if not more:
            return b""
        received += more
    return received
