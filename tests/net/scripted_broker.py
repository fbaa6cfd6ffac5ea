"""A TCP server that does on every connection exactly what a test wrote down, in real Kafka frames."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from typing import TYPE_CHECKING, Any, Self

from membership_client.types import Node
from tests.net import answers
from tests.net.answers import Asked, framed, payload, read_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MODERN: Mapping[int, tuple[int, int]] = {
    3: (0, 13),
    10: (0, 6),
    13: (0, 5),
    18: (0, 4),
    32: (1, 4),
    68: (0, 1),
    69: (0, 1),
}


class Peer:
    """The broker's end of one connection."""

    def __init__(self, accepted: socket.socket, gone: threading.Event) -> None:
        self._socket = accepted
        self.gone = gone
        """Set when the client closed the connection, as seen by `wait_for_close`."""

    def request(self) -> Asked:
        """Wait for the next request. Raises EOFError when the client has gone."""
        (size,) = struct.unpack(">i", self._read(4))
        return read_request(self._read(size))

    def answer(self, asked: Asked, answer: Any, correlation_id: int | None = None) -> None:
        self.send(framed(payload(answer, asked.correlation_id if correlation_id is None else correlation_id)))

    def welcome(self, offer: Mapping[int, tuple[int, int]] = MODERN) -> None:
        """Do what every broker does first: answer ApiVersions."""
        asked = self.request()
        assert asked.api_key == answers.API_VERSIONS
        self.answer(asked, answers.api_versions(asked.version, offer))

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive_some(self) -> bytes:
        """Whatever the client says first."""
        return self._socket.recv(65536)

    def secure(self, context: ssl.SSLContext) -> ssl.SSLSocket:
        """Go on under TLS. The socket is the script's to close."""
        secured = context.wrap_socket(self._socket, server_side=True, do_handshake_on_connect=False)
        self._socket = secured
        try:
            secured.do_handshake()
        except BaseException:
            # Closed before the client's last words are read, the connection would be reset, and our alert lost.
            with socket.socket(fileno=secured.detach()) as plain, contextlib.suppress(OSError):
                while plain.recv(65536):
                    pass
            raise
        return secured

    def wait_for_close(self) -> None:
        """Read, and ignore, until the client closes the connection."""
        while self._socket.recv(65536):
            pass
        self.gone.set()

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            received = self._socket.recv(min(65536, size - len(data)))
            if not received:
                raise EOFError
            data += received
        return bytes(data)


def stay(peer: Peer) -> None:
    """A script: welcome the client, then say nothing more."""
    peer.welcome()
    peer.wait_for_close()


class ScriptedBroker:
    """Plays one script per connection, the last one again for every further connection, and hangs up at its end.

    A client that goes away ends a script; any other exception in a script fails the test at the end of the `with` block.
    """

    def __init__(self, *scripts: Callable[[Peer], None], receive_buffer: int | None = None) -> None:
        self._scripts = scripts
        self._listener = socket.create_server(("127.0.0.1", 0))
        if receive_buffer is not None:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._accepted: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._errors: list[BaseException] = []
        self.client_gone = threading.Event()

    @property
    def node(self) -> Node:
        host, port = self._listener.getsockname()
        return Node(host, port, 1)

    @property
    def connections(self) -> int:
        """How many clients have connected so far."""
        return len(self._accepted)

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        # Only now all connections are known: one that came late used to be waited for, a minute long.
        self._threads[0].join()
        for accepted in self._accepted:
            with contextlib.suppress(OSError):
                accepted.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for error in self._errors:
            raise error

    def _start(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                accepted, _ = self._listener.accept()
                script = self._scripts[min(len(self._accepted), len(self._scripts) - 1)]
                self._accepted.append(accepted)
                self._start(self._play, script, accepted)

    def _play(self, script: Callable[[Peer], None], accepted: socket.socket) -> None:
        with accepted:
            try:
                script(Peer(accepted, self.client_gone))
            except (EOFError, OSError):
                pass
            except BaseException as error:  # noqa: BLE001 - raised again on the test's own thread
                self._errors.append(error)


@contextlib.contextmanager
def black_hole() -> Iterator[Node]:
    """An address where connecting neither succeeds nor fails, as behind a firewall: a listener whose queue is full."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, contextlib.ExitStack() as fillers:
        address = listener.getsockname()
        for _ in range(3):
            filler = fillers.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(address)
        yield Node(*address)
