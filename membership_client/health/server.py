"""The port for HTTP probes: one thread serves few connections, each for a short time."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import selectors
import socket
import threading
import time
import weakref
from collections.abc import Callable

from membership_client.arguments import checked_text, checked_whole, optional, shown
from membership_client.errors import ConfigError
from membership_client.health.answers import MOST_BYTES, answer_to
from membership_client.health.report import HealthReporter, Report, chosen

logger = logging.getLogger("membership_client")

_MOST_CONNECTIONS = 32
"""Most connections. One more closes the oldest, so that a client that holds connections open cannot keep probes out."""

_CONNECTION_S = 2.0
"""How long a connection may take. By default Kubernetes waits for a second."""

_LOOK_S = 1.0
"""How often members are judged, also without a probe: this notes when each was last ready."""

_AWAY_S = 3.0
"""If this thread, which runs every second, did not run for this long, the whole process was stopped."""

_STOP_S = 2.0
"""How long close() waits for the thread."""


class HealthServer(contextlib.AbstractContextManager["HealthServer"]):
    """Serves `/livez`, `/readyz` and `/startupz` until `close()`. For any thread."""

    def __init__(self, listening: socket.socket, look: Callable[[], Report], note_resumed: Callable[[], None]) -> None:
        self._listening = listening
        self.port: int = listening.getsockname()[1]
        """The port on which it listens. If 0 was asked for, the system chose it."""
        self._look = look
        self._note_resumed = note_resumed
        self._connections: dict[socket.socket, _ProbeConnection] = {}
        self._selector = selectors.DefaultSelector()
        self._wakeup, self._waker = socket.socketpair()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="membership-health", daemon=True)
        for own in (listening, self._wakeup):
            own.setblocking(False)
            self._selector.register(own, selectors.EVENT_READ)
        self._thread.start()
        _servers.add(self)

    def close(self) -> None:
        """Stop listening. A second call does nothing."""
        self._stopped = True
        with contextlib.suppress(OSError):
            self._waker.send(b"\0")
        if threading.current_thread() is not self._thread:
            self._thread.join(_STOP_S)

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- on its thread -----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        looked_at = time.monotonic()
        try:
            while not self._stopped:
                ready = self._selector.select(_LOOK_S / 2)
                now = time.monotonic()
                if now - looked_at > _AWAY_S:
                    self._note_resumed()
                if now - looked_at >= _LOOK_S:
                    self._look()
                    looked_at = now
                self._turn([key.fileobj for key, _ in ready], now)
        except Exception:
            logger.exception("The thread that answers probes ended because of a bug; please report it.")
        finally:
            self._abandon()

    def _turn(self, ready: list[object], now: float) -> None:
        for found in ready:
            if found is self._listening:
                self._accept(now)
            elif (connection := self._connections.get(found)) is not None:  # type: ignore[call-overload]
                self._serve(connection)
        for connection in tuple(self._connections.values()):
            if now - connection.since > _CONNECTION_S:
                self._drop(connection)

    def _accept(self, now: float) -> None:
        try:
            accepted, _ = self._listening.accept()
        except OSError:  # The peer has gone already, or this process has no descriptor left.
            time.sleep(0.01)
            return
        accepted.setblocking(False)
        if len(self._connections) >= _MOST_CONNECTIONS:
            self._drop(min(self._connections.values(), key=lambda one: one.since))
        self._connections[accepted] = _ProbeConnection(accepted, now)
        self._selector.register(accepted, selectors.EVENT_READ)

    def _serve(self, connection: _ProbeConnection) -> None:
        try:
            if connection.turn(self._look):
                self._selector.modify(
                    connection.socket, selectors.EVENT_WRITE if connection.unsent else selectors.EVENT_READ
                )
            else:
                self._drop(connection)
        except BlockingIOError:
            pass
        except OSError:  # The peer has closed it.
            self._drop(connection)

    def _drop(self, connection: _ProbeConnection) -> None:
        self._connections.pop(connection.socket, None)
        self._selector.unregister(connection.socket)
        connection.socket.close()

    def _abandon(self) -> None:
        """Close all sockets. In a forked child these are copies, which would occupy the port after the end of the parent."""
        self._selector.close()
        for own in (*self._connections, self._listening, self._wakeup, self._waker):
            own.close()


class _ProbeConnection:
    def __init__(self, accepted: socket.socket, since: float) -> None:
        self.socket = accepted
        self.since = since
        self.unsent = b""
        self._received = b""
        self._answered = False

    def turn(self, look: Callable[[], Report]) -> bool:
        """Read or write as much as is possible without waiting; False when the connection is done."""
        if self._answered:
            self.unsent = self.unsent[self.socket.send(self.unsent) :] if self.unsent else b""
            if not self.unsent:
                self.socket.shutdown(socket.SHUT_WR)
            return bool(self.unsent)
        if not (more := self.socket.recv(MOST_BYTES)):
            return False
        self._received += more
        answer = answer_to(self._received, look)
        self._answered, self.unsent = answer is not None, answer or b""
        return True


_servers: weakref.WeakSet[HealthServer] = weakref.WeakSet()


def _in_forked_child() -> None:
    for server in tuple(_servers):
        server._abandon()  # noqa: SLF001 - of this module
    _servers.clear()


os.register_at_fork(after_in_child=_in_forked_child)


def serve(*members: object, port: int, host: str | None = None) -> HealthServer:
    """Answer `/livez`, `/readyz` and `/startupz` on this port, on a thread of its own; with `?verbose` as JSON.

        with Consumer({"bootstrap.servers": "localhost:9092", "group.id": "tills"}) as consumer:
            with serve(consumer, port=0) as probes:
                print(f"http://localhost:{probes.port}/livez")



    The answers are about these GroupMembers and Consumers, also of asyncio; without arguments about all in this process, also
    those made later. Port 0 takes a free port: `.port` of the returned object has its number. Its `close()` stops serving.
    Without a host it listens on all addresses. ConfigError if it cannot listen.
    """
    checked_whole("port", port, least=0, most=65535)
    optional(checked_text, "host", host)
    find, reporter = chosen(members), HealthReporter()
    try:
        listening = _listen(host, port)
    except (OSError, UnicodeError) as error:
        where = f"port {port}" if host is None else f"{shown(host)}, port {port}"
        reason = error.strerror if isinstance(error, OSError) else "it is not a host name"
        raise ConfigError(f"Probes cannot be served on {where}: {reason}.") from error
    return HealthServer(listening, lambda: reporter.report(find()), reporter.note_resumed)


def _listen(host: str | None, port: int) -> socket.socket:
    if host is None and socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
        except OSError as error:
            if error.errno not in {errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL}:  # Then this container has no IPv6.
                raise
    family = socket.AF_INET6 if ":" in (host or "") else socket.AF_INET
    return socket.create_server((host or "", port), family=family)
