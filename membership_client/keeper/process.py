"""The keeper process: one loop for all members of its parent. Started by `runtime/keeper_process.py`; not for others.

Standard input is a socket to the parent. Each message there opens a line: it brings a connected socket to a broker, a
relay over which the parent prepares that connection (ApiVersions, SASL), and the line itself: a socket on which orders
come, and a pipe for reports. This process does TLS on the connection, because encryption cannot be handed over; it never sees a password
of SASL. It ends when its parent has ended.
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

from membership_client.keeper import line as lines
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
"""A connection on which a request has no answer for so long leads nowhere: the parent opens another one."""
_IDLE_S = 60.0
"""A connection that nothing was sent on for so long gets a request: brokers and firewalls close idle ones."""
_CHECK_PARENT_S = 5.0
_RECEIVE_BYTES = 65536
_MOST_ANSWER_BYTES = 2**21


class _EndedError(Exception):
    """The other side of a line, or its broker, is gone."""


class _Line:
    """A member: its line to the parent, its connection to the broker, and its state."""

    def __init__(self, control: socket.socket, reports: int, broker: socket.socket, idle_request: bytes) -> None:
        self.control, self.broker = control, broker
        self._reports = reports
        self._idle_request = idle_request
        self._state = lines.Line()
        self._frame: Frame | None = None
        self._received = bytearray()
        self._outstanding: deque[bool] = deque()
        """Of each request without an answer: is it a heartbeat?"""
        self._unsent = bytearray()
        """Of the last request: what the socket had no room for."""
        self._sent_at = time.monotonic()
        control.setblocking(False)
        broker.setblocking(False)
        os.set_blocking(reports, False)

    @property
    def awaited(self) -> int:
        """What to await of the broker, for `poll`."""
        return select.POLLIN | (select.POLLOUT if self._unsent else 0)

    def due(self) -> float:
        at = lines.due(self._state)
        idle_at = self._sent_at + (_SILENT_S if self._outstanding else _IDLE_S)
        return idle_at if at is None else min(at, idle_at)

    def read_orders(self) -> None:
        """All that have come."""
        while (message := _message(self.control)) is not None:
            order = read_order(message)
            if isinstance(order, int):
                self._state = lines.stopped(self._state, order)
                self._report()
            else:
                self._state, self._frame = lines.ordered(self._state, order[0]), order[1]

    def act(self, parent: _Parent) -> None:
        """Send what is due, after another look for orders: a newer one may say that nothing is."""
        self._flush()
        if self.due() > time.monotonic():
            return
        self.read_orders()
        now = time.monotonic()
        self._state, sends = lines.decided(
            self._state, now, parent_runs=lines.due(self._state) is None or parent.runs()
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
        """As much as the socket takes: TLS takes 16 kB at a time, and a heartbeat with many partitions is longer."""
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
                self._state = lines.answered(self._state, *read_answer(payload, tells_epoch=self._frame.tells_epoch))
                self._report()

    def _report(self) -> None:
        """The parent reads them when the interpreter is free. By default a pipe has room for 3,000."""
        os.write(self._reports, report_bytes(self._state.report))

    def close(self) -> None:
        os.close(self._reports)
        self.control.close()
        self.broker.close()


def _message(control: socket.socket) -> bytes | None:
    """The next message of the parent; None if there is none yet. Raises _EndedError at the end."""
    try:
        message = control.recv(MOST_BYTES)
    except BlockingIOError:
        return None
    if not message:
        raise _EndedError
    return message


class _Parent:
    """Does it run, is it stopped, has it ended?"""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ended: int | None = None
        with contextlib.suppress(OSError, AttributeError):  # Since Linux 5.3, where no sandbox forbids it.
            self._ended = os.pidfd_open(pid)

    def fileno(self) -> int | None:
        """Becomes readable when it has ended; None if the system cannot tell."""
        return self._ended

    def close(self) -> None:
        if self._ended is not None:
            os.close(self._ended)

    def lives(self) -> bool:
        return os.getppid() == self._pid

    def runs(self) -> bool:
        """False if it is stopped by a signal or a debugger, or has ended: the group shall see that as without a keeper."""
        try:
            with open(f"/proc/{self._pid}/stat", "rb") as file:  # noqa: PTH123 - pathlib takes longer to load
                state = file.read().rpartition(b")")[2].split()[0]
        except (OSError, IndexError):
            return False
        return state not in {b"T", b"t", b"Z", b"X"} and self.lives()


class Keeper:
    """Owns all lines; all on one thread, except for connections that are being prepared."""

    def __init__(self, parent: socket.socket, pid: int) -> None:
        self._parent_socket, self._parent = parent, _Parent(pid)
        self._lines: list[_Line] = []
        self._of_fileno: dict[int, _Line] = {}
        self._prepared: deque[_Line] = deque()
        self._woken, self._wake = socket.socketpair()
        self._woken.setblocking(False)
        parent.setblocking(False)
        self._poll = select.poll()
        for fileno in (parent.fileno(), self._woken.fileno(), self._parent.fileno()):
            if fileno is not None:
                self._poll.register(fileno, select.POLLIN)

    def run(self) -> None:
        """Until the parent has ended, or has closed its end."""
        try:
            while self._parent.lives():
                ready = self._wait()
                self._take_lines()
                now = time.monotonic()
                for line in tuple(self._lines):
                    if line in ready or line.due() <= now:
                        self._serve(line)
        except _EndedError:
            self._close()

    def _close(self) -> None:
        for line in self._lines:
            line.close()
        self._parent.close()
        self._woken.close()
        self._wake.close()

    def _wait(self) -> set[_Line]:
        """The lines on which something has come."""
        now = time.monotonic()
        at = min((line.due() for line in self._lines), default=now + _IDLE_S)
        most_s = _IDLE_S if self._parent.fileno() is not None else _CHECK_PARENT_S
        # Rounded up: the parent relies on nothing being sent before its time.
        ready = self._poll.poll(int(min(max(at - now, 0.0), most_s) * 1000) + 1)
        return {self._of_fileno[fileno] for fileno, _ in ready if fileno in self._of_fileno}

    def _take_lines(self) -> None:
        while (opened := _receive_line(self._parent_socket)) is not None:
            try:
                threading.Thread(target=self._prepare, args=opened, daemon=True).start()
            except (
                RuntimeError
            ):  # The system has no thread to spare: the parent sees its line end, and goes on without.
                _close(*opened[1:])
        with contextlib.suppress(BlockingIOError):
            self._woken.recv(4096)
        while self._prepared:
            line = self._prepared.popleft()
            self._lines.append(line)
            for fileno in (line.control.fileno(), line.broker.fileno()):
                self._of_fileno[fileno] = line
                self._poll.register(fileno, select.POLLIN)
            self._serve(line)  # What has come already may be decrypted, and then no socket tells of it.

    def _prepare(
        self, spec: dict[str, Any], relay: socket.socket, reports: int, control: socket.socket, broker: socket.socket
    ) -> None:
        """On a thread of its own: TLS, then what the parent says over the relay, until it closes that."""
        try:
            with relay:
                broker = _encrypted(broker, spec)
                _relay(relay, broker)
            self._prepared.append(_Line(control, reports, broker, bytes.fromhex(spec["idle"])))
        except Exception:  # noqa: BLE001 - the parent sees its line end, and goes on without
            _close(relay, reports, control, broker)
        self._wake.send(b"\0")

    def _serve(self, line: _Line) -> None:
        try:
            line.read_orders()
            line.read_answers()
            line.act(self._parent)
            self._poll.modify(line.broker.fileno(), line.awaited)
        except (_EndedError, OSError, UnreadableError, AssertionError):
            self._lines.remove(line)
            for fileno in (line.control.fileno(), line.broker.fileno()):
                self._poll.unregister(fileno)
                del self._of_fileno[fileno]
            line.close()


_Opened = tuple[dict[str, Any], socket.socket, int, socket.socket, socket.socket]
"""What is said of the connection; the relay, the pipe for reports, the socket for orders, the socket to the broker."""


def _receive_line(parent: socket.socket) -> _Opened | None:
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
    """Bytes both ways until the parent closes its end."""
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
    """None if there are none yet, empty at the end."""
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
    """The parent's process id is the only argument."""
    # They are meant for the parent, and this process ends with it.
    for meant_for_parent in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(meant_for_parent, signal.SIG_IGN)
    Keeper(socket.socket(fileno=0), int(sys.argv[1])).run()
