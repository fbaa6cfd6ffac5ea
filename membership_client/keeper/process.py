"""The keeper process: one loop for all members of its parent. Only `runtime/keeper_process.py` starts it.

Standard input is a socket to the parent. Each message there opens the link of one member: it brings a connected socket to a
broker, a relay over which the parent prepares that connection (ApiVersions, SASL), a socket for orders, and a pipe for
reports. This process does TLS on the connection, because an encrypted connection cannot be handed over. It receives no SASL
password. It ends when its parent has ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
import sys
import threading
import time
from collections import deque
from typing import Any

from membership_client.keeper import order_state
from membership_client.keeper.messages import (
    MOST_BYTES,
    Frame,
    UnreadableError,
    read_answer,
    read_order,
    report_bytes,
)

_SET_UP_S = 30.0
_SILENT_S = 30.0
"""If a request has no answer for this long, the link ends, and the parent opens another one."""
_IDLE_S = 60.0
"""If nothing was sent for this long, a request is sent, because brokers and firewalls close idle connections."""
_CHECK_PARENT_S = 5.0
_RECEIVE_BYTES = 65536
_MOST_ANSWER_BYTES = 2**21


class _EndedError(Exception):
    """The parent or the broker has closed its end."""


class _MemberLink:
    """What the keeper has of one member: sockets to the parent and the broker, and the state of the orders."""

    def __init__(self, control: socket.socket, reports: int, broker: socket.socket, idle_request: bytes) -> None:
        self.control, self.broker = control, broker
        self._reports = reports
        self._idle_request = idle_request
        self._state = order_state.OrderState()
        self._frame: Frame | None = None
        self._received = bytearray()
        self._outstanding: deque[bool] = deque()
        """For each request without an answer, whether it is a heartbeat."""
        self._unsent = bytearray()
        """The rest of the last request, for which the socket had no room."""
        self._sent_at = time.monotonic()
        control.setblocking(False)
        broker.setblocking(False)
        os.set_blocking(reports, False)

    @property
    def awaited(self) -> int:
        """The events of the broker's socket to wait for."""
        return select.POLLIN | (select.POLLOUT if self._unsent else 0)

    def due(self) -> float:
        at = order_state.due(self._state)
        idle_at = self._sent_at + (_SILENT_S if self._outstanding else _IDLE_S)
        return idle_at if at is None else min(at, idle_at)

    def read_orders(self) -> None:
        """Read all orders and stops that have come."""
        while (message := _message(self.control)) is not None:
            order = read_order(message)
            if isinstance(order, int):
                self._state = order_state.stopped(self._state, order)
                self._report()
            else:
                self._state, self._frame = order_state.ordered(self._state, order[0]), order[1]

    def act(self, parent: _Parent) -> None:
        """Send what is due. Orders are read again just before, because a newer one may have replaced the last."""
        self._flush()
        if self.due() > time.monotonic():
            return
        self.read_orders()
        now = time.monotonic()
        self._state, sends = order_state.decide(
            self._state, now, parent_runs=order_state.due(self._state) is None or parent.runs()
        )
        if sends:
            assert self._frame is not None
            self._send(self._frame.with_epoch(self._state.epoch), is_heartbeat=True)
        elif self._outstanding and now >= self._sent_at + _SILENT_S:
            raise _EndedError
        elif now >= self._sent_at + _IDLE_S:
            self._send(self._idle_request, is_heartbeat=False)

    def _send(self, request: bytes, *, is_heartbeat: bool) -> None:
        self._unsent += request
        self._outstanding.append(is_heartbeat)
        self._sent_at = time.monotonic()
        self._flush()

    def _flush(self) -> None:
        """Send as much as the socket takes: TLS takes 16 kB at a time, and a heartbeat with many partitions is longer."""
        with contextlib.suppress(BlockingIOError):
            while self._unsent:
                del self._unsent[: self.broker.send(self._unsent)]

    def read_answers(self) -> None:
        while True:
            try:
                received = self.broker.recv(_RECEIVE_BYTES)
            except BlockingIOError:
                return
            if not received:
                raise _EndedError
            self._received += received
            self._take_answers()

    def _take_answers(self) -> None:
        while len(self._received) >= 4:
            (size,) = struct.unpack_from(">i", self._received)
            if not 4 <= size <= _MOST_ANSWER_BYTES or not self._outstanding:
                raise _EndedError
            if len(self._received) < 4 + size:
                return
            payload = bytes(self._received[4 : 4 + size])
            del self._received[: 4 + size]
            if self._outstanding.popleft():
                assert self._frame is not None
                self._state = order_state.answered(
                    self._state, *read_answer(payload, tells_epoch=self._frame.tells_epoch)
                )
                self._report()

    def _report(self) -> None:
        """Write a report. The parent reads reports when its interpreter is free; a pipe has room for 3,000."""
        os.write(self._reports, report_bytes(self._state.report))

    def close(self) -> None:
        os.close(self._reports)
        self.control.close()
        self.broker.close()


def _message(control: socket.socket) -> bytes | None:
    """The next message of the parent; None if there is none yet. Raises _EndedError if the parent has closed the socket."""
    try:
        message = control.recv(MOST_BYTES)
    except BlockingIOError:
        return None
    if not message:
        raise _EndedError
    return message


class _Parent:
    """The state of the parent process: running, stopped or ended."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ended: int | None = None
        with contextlib.suppress(OSError, AttributeError):  # Linux before 5.3, or a sandbox that forbids it.
            self._ended = os.pidfd_open(pid)

    def fileno(self) -> int | None:
        """A descriptor that becomes readable when the parent ends; None if the system has no pidfd."""
        return self._ended

    def close(self) -> None:
        if self._ended is not None:
            os.close(self._ended)

    def lives(self) -> bool:
        return os.getppid() == self._pid

    def runs(self) -> bool:
        """False if the parent has ended, or is stopped by a signal or a debugger. Its members must then lose their session."""
        try:
            with open(f"/proc/{self._pid}/stat", "rb") as file:  # noqa: PTH123 - pathlib takes longer to load
                state = file.read().rpartition(b")")[2].split()[0]
        except (OSError, IndexError):
            return False
        return state not in {b"T", b"t", b"Z", b"X"} and self.lives()


class Keeper:
    """The links of all members, on one thread. Each connection is prepared on another thread."""

    def __init__(self, parent: socket.socket, pid: int) -> None:
        self._parent_socket, self._parent = parent, _Parent(pid)
        self._links: list[_MemberLink] = []
        self._of_fileno: dict[int, _MemberLink] = {}
        self._prepared: deque[_MemberLink] = deque()
        self._woken, self._wake = socket.socketpair()
        self._woken.setblocking(False)
        parent.setblocking(False)
        self._poll = select.poll()
        for fileno in (parent.fileno(), self._woken.fileno(), self._parent.fileno()):
            if fileno is not None:
                self._poll.register(fileno, select.POLLIN)

    def run(self) -> None:
        """Run until the parent ends, or closes its end of the socket."""
        try:
            while self._parent.lives():
                ready = self._wait()
                self._take_links()
                now = time.monotonic()
                for link in tuple(self._links):
                    if link in ready or link.due() <= now:
                        self._serve(link)
        except _EndedError:
            self._close()

    def _close(self) -> None:
        for link in self._links:
            link.close()
        self._parent.close()
        self._woken.close()
        self._wake.close()

    def _wait(self) -> set[_MemberLink]:
        """Wait until something comes or is due; returns the links on which something has come."""
        now = time.monotonic()
        at = min((link.due() for link in self._links), default=now + _IDLE_S)
        most_s = _IDLE_S if self._parent.fileno() is not None else _CHECK_PARENT_S
        # Rounded up, because the parent relies on it that nothing is sent before its time.
        ready = self._poll.poll(int(min(max(at - now, 0.0), most_s) * 1000) + 1)
        return {self._of_fileno[fileno] for fileno, _ in ready if fileno in self._of_fileno}

    def _take_links(self) -> None:
        while (opened := _receive_link(self._parent_socket)) is not None:
            try:
                threading.Thread(target=self._prepare, args=opened, daemon=True).start()
            except RuntimeError:  # The system has no thread now. The parent sees that the link ends, and goes on.
                _close(*opened[1:])
        with contextlib.suppress(BlockingIOError):
            self._woken.recv(4096)
        while self._prepared:
            link = self._prepared.popleft()
            self._links.append(link)
            for fileno in (link.control.fileno(), link.broker.fileno()):
                self._of_fileno[fileno] = link
                self._poll.register(fileno, select.POLLIN)
            self._serve(link)  # TLS may have decrypted some bytes already: then the socket does not become readable.

    def _prepare(
        self, spec: dict[str, Any], relay: socket.socket, reports: int, control: socket.socket, broker: socket.socket
    ) -> None:
        """On a thread of its own: do TLS, then relay the parent's requests until the parent closes the relay."""
        try:
            with relay:
                broker = _encrypted(broker, spec)
                _relay(relay, broker)
            self._prepared.append(_MemberLink(control, reports, broker, bytes.fromhex(spec["idle"])))
        except Exception:  # noqa: BLE001 - the parent sees that the link ends, and goes on
            _close(relay, reports, control, broker)
        self._wake.send(b"\0")

    def _serve(self, link: _MemberLink) -> None:
        try:
            link.read_orders()
            link.read_answers()
            link.act(self._parent)
            self._poll.modify(link.broker.fileno(), link.awaited)
        except (_EndedError, OSError, UnreadableError, AssertionError):
            self._links.remove(link)
            for fileno in (link.control.fileno(), link.broker.fileno()):
                self._poll.unregister(fileno)
                del self._of_fileno[fileno]
            link.close()


_Opened = tuple[dict[str, Any], socket.socket, int, socket.socket, socket.socket]
"""The description of the connection, the relay, the pipe for reports, the socket for orders, and the socket to the broker."""


def _receive_link(parent: socket.socket) -> _Opened | None:
    try:
        message, handles, _, _ = socket.recv_fds(parent, MOST_BYTES, 4)
    except BlockingIOError:
        return None
    if not message:
        raise _EndedError
    relay, reports, control, broker = handles
    connected = (socket.socket(fileno=handle) for handle in (control, broker))
    return json.loads(message), socket.socket(fileno=relay), reports, *connected


def _close(relay: socket.socket, reports: int, control: socket.socket, broker: socket.socket) -> None:
    os.close(reports)
    for connected in (relay, control, broker):
        connected.close()


def _encrypted(broker: socket.socket, spec: dict[str, Any]) -> socket.socket:
    if spec["tls"] is None:
        return broker
    from membership_client.net.tls import handshake  # noqa: PLC0415 - takes 10 MB, and only TLS needs it
    from membership_client.security.secret import Secret  # noqa: PLC0415
    from membership_client.security.settings import Tls  # noqa: PLC0415

    secrets: dict[str, Any] = {name: Secret(text) for name, text in spec["secrets"].items()}
    return handshake(broker, spec["host"], Tls(**spec["tls"], **secrets), time.monotonic() + _SET_UP_S)


def _relay(relay: socket.socket, broker: socket.socket) -> None:
    """Copy bytes both ways until the parent closes its end."""
    relay.setblocking(False)
    broker.setblocking(False)
    poll, ends_at = select.poll(), time.monotonic() + _SET_UP_S
    poll.register(relay, select.POLLIN)
    poll.register(broker, select.POLLIN)
    while time.monotonic() < ends_at:
        poll.poll(1000)
        if (asked := _bytes_from(relay)) == b"":
            return
        _write(broker, asked)
        if (told := _bytes_from(broker)) == b"":
            raise _EndedError
        _write(relay, told)
    raise _EndedError


def _bytes_from(connected: socket.socket) -> bytes | None:
    """The bytes that have come; None if there are none yet; empty if the other side has closed."""
    try:
        return connected.recv(_RECEIVE_BYTES)
    except BlockingIOError:
        return None


def _write(connected: socket.socket, content: bytes | None) -> None:
    if content:
        connected.settimeout(_SET_UP_S)
        connected.sendall(content)
        connected.setblocking(False)


def main() -> None:
    """Run the keeper. The parent's process id is the only argument."""
    # A terminal sends these signals to the keeper, too. The keeper must live until the parent has ended.
    for meant_for_parent in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(meant_for_parent, signal.SIG_IGN)
    Keeper(socket.socket(fileno=0), int(sys.argv[1])).run()
