"""A TCP proxy in front of one broker, which can make the faults of networks.

It understands as much of Kafka as it needs: frames, the API key of a request, and that answers come in order. Or nothing
at all, if they are `sealed` by TLS: then it carries bytes as they come, and has no way to tell one answer from another.
"""

from __future__ import annotations

import contextlib
import queue
import random
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

from membership_client.testing.wire import Address

HEARTBEAT = 68
LEAVE_GROUP = 13
JOIN_GROUP = 11
CLASSIC_HEARTBEAT = 12
SYNC_GROUP = 14
OFFSET_COMMIT = 8
API_VERSIONS = 18
ANYTHING = -1
"""The API key of what is sealed."""

Asked = queue.SimpleQueue[int]
"""The API keys of requests without an answer, in order."""
Carry = Callable[[socket.socket, socket.socket, Asked], None]
Spoil = Callable[[bytes], bytes]
"""What becomes of an answer."""

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_ANSWER_START = struct.Struct(">iih")
"""Size, correlation id, error code."""
_OFFER = struct.Struct(">hhhB")
"""Of ApiVersions from version 3 on: an API key, its oldest and its newest version, and no tagged fields."""


@dataclass(slots=True)
class Way:
    """One direction. What it is like may be changed at any time, and holds for the next frame."""

    latency_s: float = 0.0
    jitter_s: float = 0.0
    bytes_per_s: float = float("inf")
    flows: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.flows.set()

    def carry(self, frame: bytes, sink: socket.socket) -> None:
        self.flows.wait()
        time.sleep(self.latency_s + random.uniform(0, self.jitter_s) + len(frame) / self.bytes_per_s)
        sink.sendall(frame)


class Proxy:
    """Listens on a port of its own, or where it is told. `target` is where it forwards to, and may be set after the start."""

    def __init__(
        self, target: Address | None = None, *, sealed: bool = False, listen: Address = ("127.0.0.1", 0)
    ) -> None:
        self.target = target
        self._sealed = sealed
        self._read = _read_some if sealed else _read_frame
        self.requests = Way()
        self.answers = Way()
        self._listener = socket.create_server(listen)
        self.host: str = listen[0]
        self.port: int = self._listener.getsockname()[1]
        self._cut = False
        self._spoils: dict[int, list[Spoil]] = {}
        self._caps: dict[int, int] = {}
        self._spoken: Counter[tuple[int, int]] = Counter()
        self._held: dict[int, bytes] = {}
        self._nothing_held = threading.Event()
        self._nothing_held.set()
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._deaf: set[socket.socket] = set()
        self._reset: set[socket.socket] = set()
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
        return f"{self.host}:{self.port}"

    # --- faults of networks ------------------------------------------------------------------------------------------

    def swallow_answers(self, api_key: int, count: int = 1) -> None:
        """The broker gets the next requests of that kind, but instead of an answer the connection is cut."""
        self._spoil(api_key, count, lambda _: b"")

    def truncate_answers(self, api_key: int, count: int = 1) -> None:
        """Half of the next answers of that kind comes, and then the connection is cut."""
        self._spoil(api_key, count, lambda frame: frame[: len(frame) // 2])

    def garble_answers(self, api_key: int, count: int = 1) -> None:
        """Instead of the next answers of that kind comes what a broken middlebox may send: as long, and senseless."""
        self._spoil(api_key, count, lambda frame: random.randbytes(len(frame)))

    def hold_requests(self, api_key: int, about: bytes) -> None:
        """Requests of that kind in which these words are do not get through until `resume`, nor does what is behind them."""
        with self._lock:
            self._held[api_key] = about
            self._nothing_held.clear()

    def age(self, newest: Mapping[int, int]) -> None:
        """From the next connection on the broker seems to know nothing newer of these APIs; what was spoken is forgotten."""
        with self._lock:
            self._caps = dict(newest)
            self._spoken.clear()

    def spoken(self, api_key: int) -> set[int]:
        """In which versions was that asked since the broker was aged?"""
        with self._lock:
            return {version for api, version in self._spoken if api == api_key}

    def stall(self, *, requests: bool = True, answers: bool = True) -> None:
        """Connections stay open, and nothing gets through: both ways, or one of them."""
        for way, stalls in ((self.requests, requests), (self.answers, answers)):
            if stalls:
                way.flows.clear()

    def resume(self) -> None:
        """Everything that was held back gets through."""
        with self._lock:
            self._held.clear()
            self._nothing_held.set()
        self.requests.flows.set()
        self.answers.flows.set()

    def cut(self) -> None:
        """Every connection ends, and new ones end at once, until `mend`."""
        self._cut = True
        self._end_all()

    def reset(self) -> None:
        """Every connection ends with a reset. New ones are fine."""
        with self._lock:
            self._reset |= self._sockets
        self._end_all()

    def forget(self) -> None:
        """Connections stay open for ever, and nothing of what they carry arrives, as behind a router that lost its memory.

        New ones are fine.
        """
        with self._lock:
            self._deaf |= self._sockets

    def slow_down(self, *, latency_s: float = 0.0, jitter_s: float = 0.0, bytes_per_s: float = float("inf")) -> None:
        """Both ways; without arguments, as fast as it can."""
        for way in (self.requests, self.answers):
            way.latency_s, way.jitter_s, way.bytes_per_s = latency_s, jitter_s, bytes_per_s

    def mend(self) -> None:
        """Everything is as it should be, and what was held back gets through."""
        self._cut = False
        with self._lock:
            self._spoils.clear()
            self._caps.clear()
        self.slow_down()
        self.resume()

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
        for end in (client, broker):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._sockets |= {client, broker}
        if self._cut:
            self._shut(client)
        asked: Asked = queue.SimpleQueue()
        self._threads = [thread for thread in self._threads if thread.is_alive()]
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
        self._shut(source)
        self._shut(sink)
        with self._lock:
            for known in (self._sockets, self._deaf, self._reset):
                known.discard(source)
        source.close()

    def _carry_requests(self, client: socket.socket, broker: socket.socket, asked: Asked) -> None:
        while frame := self._read(client):
            if client not in self._deaf:
                if not self._sealed:
                    asked.put(self._note(frame))
                if self._is_held(frame):
                    self._nothing_held.wait()
                self.requests.carry(frame, broker)

    def _is_held(self, frame: bytes) -> bool:
        if not self._held or self._sealed:
            return False
        with self._lock:
            about = self._held.get(struct.unpack_from(">h", frame, 4)[0])
            return about is not None and about in frame

    def _note(self, frame: bytes) -> int:
        """The API key of a request."""
        api_key, version = struct.unpack_from(">hh", frame, 4)
        with self._lock:
            self._spoken[api_key, version] += 1
        return int(api_key)

    def _carry_answers(self, broker: socket.socket, client: socket.socket, asked: Asked) -> None:
        while frame := self._read(broker):
            carried = self._spoilt(frame, ANYTHING if self._sealed else asked.get())
            if broker not in self._deaf:
                self.answers.carry(carried, client)
            if len(carried) < len(frame):
                return

    def _spoil(self, api_key: int, count: int, spoil: Spoil) -> None:
        with self._lock:
            self._spoils[api_key] = [spoil] * count

    def _spoilt(self, frame: bytes, api_key: int) -> bytes:
        with self._lock:
            if api_key == API_VERSIONS and self._caps:
                return _aged(frame, self._caps)
            spoils = self._spoils.get(api_key)
            return spoils.pop()(frame) if spoils else frame

    def _end_all(self) -> None:
        with self._lock:
            sockets = tuple(self._sockets)
        for connection in sockets:
            self._shut(connection)

    def _shut(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if connection in self._reset:
                # Nothing is said now: the close that follows sends the reset.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
                connection.shutdown(socket.SHUT_RD)
            else:
                connection.shutdown(socket.SHUT_RDWR)


def _aged(frame: bytes, newest: Mapping[int, int]) -> bytes:
    """An answer to ApiVersions in which these APIs are no newer than that. Fewer than 127 offers have a count of one byte."""
    answer, start = bytearray(frame), _ANSWER_START.size
    for at in range(start + 1, start + 1 + (answer[start] - 1) * _OFFER.size, _OFFER.size):
        api_key, first, last, tags = _OFFER.unpack_from(answer, at)
        assert not tags, "offers with tagged fields"
        _OFFER.pack_into(answer, at, api_key, first, min(last, newest.get(api_key, last)), 0)
    return bytes(answer)


def _read_some(connection: socket.socket) -> bytes:
    return connection.recv(1 << 16)


def _read_frame(connection: socket.socket) -> bytes:
    """The next frame with its size, or nothing at the end."""
    start = _read_exactly(connection, 4)
    rest = _read_exactly(connection, struct.unpack(">i", start)[0]) if start else b""
    return start + rest if rest else b""


def _read_exactly(connection: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        more = connection.recv(min(size - len(received), 1 << 20))
        if not more:
            return b""
        received += more
    return bytes(received)
