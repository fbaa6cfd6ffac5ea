"""The connection of one member to the keeper process: opened in the background, and again when it ends or the coordinator moves."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import io
import json
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from membership_client.core.events import ClassicHeartbeat, Heartbeat
from membership_client.core.keeper import Watch
from membership_client.errors import ConfigError
from membership_client.keeper.messages import REPORT_BYTES, Frame, order_bytes, read_report, stop_bytes
from membership_client.keeper.order_state import KeeperReport, Order
from membership_client.net.channel import OpenFailed
from membership_client.runtime.keeper_process import KEEPER, CannotStartError, message_pair
from membership_client.security import Security
from membership_client.security.secret import Secret
from membership_client.types import Node
from membership_client.values import replace

_PAUSE_S = 5.0
"""The pause between two attempts to open a line."""
_LONG_PAUSE_S = 60.0
"""The pause after the system could start no keeper process, which may pass."""
_MOST_FAILURES = 3
"""After this number of failed attempts in a row the log says so, because the member itself reaches the coordinator."""
_TAKES_IN_S = 0.5
"""How long the keeper may take to read a stop: some microseconds on an idle machine. The member's heartbeat is late already."""
_MOST_REPORTS = 1000
"""The number of reports that one read returns at most."""


@dataclass(frozen=True, eq=False)
class _Ends:
    """This process's ends of a line: a socket for orders, a pipe for reports, and the keeper's connection to the broker."""

    control: socket.socket
    reports: io.FileIO
    broker: socket.socket

    def end(self) -> None:
        """Shut the connection down, so that nothing more is sent on it, not even by a keeper that is paused just before it sends."""
        with contextlib.suppress(OSError):
            self.broker.shutdown(socket.SHUT_RDWR)
        self.close()

    def close(self) -> None:
        self.control.close()
        self.reports.close()
        self.broker.close()


@dataclass(frozen=True, eq=False)
class _Open:
    """A line that is ready for orders, and what is known of its connection."""

    to: Node
    ends: _Ends
    offer: Mapping[int, tuple[int, int]]
    ends_at: float
    """When its SASL session must be renewed: the line is opened anew then."""


class KeeperLink:
    """One thread calls its methods. `opened` is called on another one when a line has become ready."""

    def __init__(
        self, client_id: str, timeout_s: float, security: Callable[[], Security], opened: Callable[[], None]
    ) -> None:
        self._client_id = client_id
        self._timeout_s = timeout_s
        self._security = security
        self._opened = opened
        self._line: _Open | None = None
        self._opening: threading.Thread | None = None
        self._not_before = float("-inf")
        self._failures = 0
        self._closed = False
        self._unread: list[KeeperReport] = []
        """Reports that were read while a stop was awaited."""
        self._framed: tuple[tuple[object, _Open], Frame | None] | None = None

    @property
    def is_opening(self) -> bool:
        return self._line is None and self._opening is not None and self._opening.is_alive()

    def order(self, number: int, watch: Watch, until: float) -> bool:
        line = self._line
        if line is not None and (line.to != watch.to or time.monotonic() >= line.ends_at):
            self.reset()
            line = None
        if line is None:
            self._open(watch.to)
            return False
        frame = self._frame_for(watch, line)
        if frame is None:
            KEEPER.warn_missing("the brokers are too old for it")
            return False
        order = Order(number, watch.epoch, watch.at, watch.interval_s, until)
        return self._tell(order_bytes(order, frame))

    def _frame_for(self, watch: Watch, line: _Open) -> Frame | None:
        """Kept until the member's epoch or its partitions change, because writing a heartbeat takes longer than all the rest."""
        if self._framed is None or self._framed[0] != (watch.request, line):
            self._framed = (watch.request, line), frame_of(watch, line.offer, self._client_id)
        return self._framed[1]

    def stop(self, number: int) -> None:
        self._tell(stop_bytes(number))

    def _tell(self, message: bytes) -> bool:
        if self._line is None:
            return False
        try:
            self._line.ends.control.send(message)
        except OSError as error:  # The keeper has ended, or has not read for so long that the buffer is full.
            if error.errno == errno.EMSGSIZE:
                KEEPER.warn_missing(
                    f"a heartbeat with {len(message)} bytes is too long for it: raise net.core.wmem_max"
                )
            else:
                self.reset()
            return False
        return True

    def await_stop(self, number: int) -> None:
        end = time.monotonic() + _TAKES_IN_S
        while (line := self._line) is not None and self._read(line):
            if self._unread and self._unread[-1].number == number:
                return
            left_s = end - time.monotonic()
            if left_s <= 0.0:
                self.reset()
                return
            awaited = select.poll()
            awaited.register(line.ends.reports, select.POLLIN)
            awaited.poll(1000.0 * left_s)

    def reports(self) -> Sequence[KeeperReport] | None:
        if self._line is not None:
            self._read(self._line)
        found, self._unread = self._unread, []
        return found if found or self._line is not None else None

    def _read(self, line: _Open) -> bool:
        """Read all reports that have come. False if the keeper has ended."""
        while content := line.ends.reports.read(_MOST_REPORTS * REPORT_BYTES):
            self._unread += [
                read_report(content[at : at + REPORT_BYTES]) for at in range(0, len(content), REPORT_BYTES)
            ]
        if content is not None:
            self.reset()
        return content is None

    def reset(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.ends.end()

    def close(self) -> None:
        """End the line for good; the keeper drops the member's order."""
        self._closed = True
        self.reset()

    def abandon(self) -> None:
        """In a forked child: close its copies, and leave the line to the parent."""
        self._closed = True
        line, self._line = self._line, None
        if line is not None:
            line.ends.close()

    def prepare(self) -> None:
        """Start the keeper process if it does not run. Blocks for some milliseconds; it is ready after a tenth of a second."""
        try:
            KEEPER.start()
        except CannotStartError as error:
            self._missing(error)

    def _missing(self, error: CannotStartError) -> None:
        KEEPER.warn_missing(str(error))
        self._not_before = time.monotonic() + _LONG_PAUSE_S

    # --- opening -----------------------------------------------------------------------------------------------------

    def _open(self, to: Node) -> None:
        """Open a line in the background, on a thread of its own; one at a time."""
        now = time.monotonic()
        if self._closed or now < self._not_before or self.is_opening:
            return
        self._not_before = now + _PAUSE_S
        self._opening = threading.Thread(target=self._run, args=(to,), name="membership-keeper", daemon=True)
        with contextlib.suppress(RuntimeError):  # The system can start no thread, or the interpreter ends.
            self._opening.start()

    def _run(self, to: Node) -> None:
        try:
            line = _opened_line(to, self._client_id, self._timeout_s, self._security())
        except CannotStartError as error:
            self._missing(error)
        except (OpenFailed, ConfigError, OSError) as error:
            self._failures += 1
            if self._failures == _MOST_FAILURES:
                KEEPER.warn_missing(f"it gets no connection to the coordinator ({error})")
        else:
            self._failures = 0
            KEEPER.note_line_opened()
            self._line = line
            if self._closed:
                self.reset()
            self._opened()


def _opened_line(to: Node, client_id: str, timeout_s: float, security: Security) -> _Open:
    """Open a connection to the broker and hand it to the keeper. Blocks.

    Raises CannotStartError, OpenFailed, ConfigError or OSError.
    """
    from membership_client.net.opening import OLDEST, ask_versions, await_token, open_connection  # noqa: PLC0415 - takes long

    spec = {"host": to.host, "idle": ask_versions(OLDEST, 0, client_id).hex(), **_tls_spec(security)}
    ends: list[_Ends] = []

    def through_keeper(broker: socket.socket) -> socket.socket:
        while ends:  # The ends of another address of the host, at which no broker was.
            ends.pop().end()
        relay, their_relay = socket.socketpair()
        with broker, their_relay:
            ends.append(_hand_over(json.dumps(spec).encode(), their_relay, broker))
        return relay

    try:
        await_token(to, timeout_s=timeout_s, security=security)
        ready = open_connection(
            to,
            client_id=client_id,
            timeout_s=timeout_s,
            security=replace(security, tls=None),
            through=through_keeper,
        )
    except BaseException:
        while ends:
            ends.pop().end()
        raise
    ready.close()  # Closes the relay. The connection is ready, and belongs to the keeper.
    return _Open(to, ends.pop(), ready.channel.offer, ready.renews_at)


def _hand_over(spec: bytes, relay: socket.socket, broker: socket.socket) -> _Ends:
    control, their_control = message_pair()
    reports, their_reports = _pipe()
    ends = _Ends(control, reports, broker.dup())
    with their_control, their_reports:
        try:
            KEEPER.open_line(spec, [end.fileno() for end in (relay, their_reports, their_control, broker)])
        except BaseException:
            ends.end()
            raise
    control.setblocking(False)
    os.set_blocking(reports.fileno(), False)
    return ends


def _pipe() -> tuple[io.FileIO, io.FileIO]:
    read_end, write_end = os.pipe()
    return io.FileIO(read_end, "rb"), io.FileIO(write_end, "wb")


def _tls_spec(security: Security) -> dict[str, object]:
    """The settings of TLS as JSON. It goes to the keeper over a socket that no other process has."""
    if security.tls is None:
        return {"tls": None}
    from membership_client.security.tls_context import unpacked  # noqa: PLC0415 - loads ssl

    tls = unpacked(security.tls) if security.tls.store_location is not None else security.tls
    values = {field.name: getattr(tls, field.name) for field in dataclasses.fields(tls)}
    secrets = {name: value.reveal() for name, value in values.items() if isinstance(value, Secret)}
    plain = {name: _absolute(name, value) for name, value in values.items() if not isinstance(value, Secret)}
    return {"tls": plain, "secrets": secrets}


def _absolute(name: str, value: object) -> object:
    """Make the path of a file absolute, because the keeper keeps the working directory of its start."""
    is_path = name.endswith("_location") and isinstance(value, str) and value != "probe"
    return os.path.abspath(str(value)) if is_path else value  # noqa: PTH100 - a Path is no JSON


def frame_of(watch: Watch, offer: Mapping[int, tuple[int, int]], client_id: str) -> Frame | None:
    """The heartbeat in Kafka's format; None if the broker has no version of it that the keeper understands."""
    from membership_client.net.codec import choose_version, encode  # noqa: PLC0415 - loads Kafka's message formats

    version = choose_version(watch.request, offer)
    if version is None or (version == 0 and isinstance(watch.request, ClassicHeartbeat)):
        return None
    # The epoch is where the two frames differ: all of its bits are 0 in one, and 1 in the other.
    zeros, ones = (encode(_under(epoch, watch.request), version, 0, client_id) for epoch in (0, -1))
    epoch_at = next(at for at, (zero, one) in enumerate(zip(zeros, ones, strict=True)) if zero != one)
    return Frame(zeros, epoch_at, tells_epoch=isinstance(watch.request, Heartbeat))


def _under(epoch: int, request: Heartbeat | ClassicHeartbeat) -> Heartbeat | ClassicHeartbeat:
    if isinstance(request, Heartbeat):
        return replace(request, epoch=epoch)
    return replace(request, generation=epoch)
