"""The way of one member to the keeper process: opened in the background, and again whenever it ends or the coordinator moves."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from membership_client.core.events import ClassicHeartbeat, Heartbeat
from membership_client.core.keeper import Watch
from membership_client.keeper.line import Order, Report
from membership_client.keeper.messages import Frame, order_bytes, read_report, stop_bytes
from membership_client.net.channel import OpenFailed
from membership_client.runtime.keeper_process import KEEPER, CannotStartError
from membership_client.security import Security
from membership_client.security.secret import Secret
from membership_client.types import Node
from membership_client.values import replace

_PAUSE_S = 5.0
"""Between two attempts to open a line."""
_REPORT_BYTES = 256


@dataclass(frozen=True, eq=False)
class _Open:
    """A line that is ready for orders, and what is known of its connection."""

    to: Node
    control: socket.socket
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
        self._closed = False
        self._framed: tuple[tuple[object, _Open], Frame | None] | None = None

    @property
    def is_opening(self) -> bool:
        return self._line is None and self._opening is not None and self._opening.is_alive()

    def order(self, number: int, watch: Watch, until: float) -> bool:
        line = self._line
        if line is not None and (line.to != watch.to or time.monotonic() >= line.ends_at):
            self.reset()
            line = None
        frame = None if line is None else self._frame_for(watch, line)
        if line is None or frame is None:
            self._open(watch.to)
            return False
        order = Order(number, watch.epoch, watch.at, watch.interval_s, until)
        return self._tell(order_bytes(order, frame))

    def _frame_for(self, watch: Watch, line: _Open) -> Frame | None:
        """The same until the member's epoch or its partitions change: writing it takes longer than all the rest."""
        if self._framed is None or self._framed[0] != (watch.request, line):
            self._framed = (watch.request, line), frame_of(watch, line.offer, self._client_id)
        return self._framed[1]

    def stop(self, number: int) -> None:
        self._tell(stop_bytes(number))

    def _tell(self, message: bytes) -> bool:
        if self._line is None:
            return False
        try:
            self._line.control.send(message)
        except OSError:  # It has ended, or has not read for so long that the buffer is full.
            self.reset()
            return False
        return True

    def reports(self) -> Sequence[Report] | None:
        found: list[Report] = []
        while self._line is not None:
            try:
                message = self._line.control.recv(_REPORT_BYTES)
            except BlockingIOError:
                return found
            except OSError:
                message = b""
            if not message:
                self.reset()
                break
            found.append(read_report(message))
        return found or None

    def reset(self) -> None:
        if self._line is not None:
            self._line.control.close()
        self._line = None

    def close(self) -> None:
        """The keeper forgets the member; in a forked child, only this process's copy of the socket is closed."""
        self._closed = True
        self.reset()

    def prepare(self) -> None:
        """Start the keeper process, if it does not run: it needs a tenth of a second. Blocks for some milliseconds."""
        try:
            KEEPER.start()
        except CannotStartError as error:
            self._missing(error)

    def _missing(self, error: CannotStartError) -> None:
        KEEPER.say_missing(str(error))
        self._not_before = float("inf")

    # --- opening -----------------------------------------------------------------------------------------------------

    def _open(self, to: Node) -> None:
        """On a thread of its own, one at a time."""
        now = time.monotonic()
        if self._closed or now < self._not_before or self.is_opening:
            return
        self._not_before = now + _PAUSE_S
        self._opening = threading.Thread(target=self._run, args=(to,), name="membership-keeper", daemon=True)
        with contextlib.suppress(RuntimeError):  # No thread to spare, or the interpreter ends.
            self._opening.start()

    def _run(self, to: Node) -> None:
        try:
            line = _opened_line(to, self._client_id, self._timeout_s, self._security())
        except CannotStartError as error:
            self._missing(error)
        except (OpenFailed, OSError):
            pass  # The member's own connection has the same trouble, and tells of it; later the next attempt follows.
        else:
            self._line = line
            if self._closed:
                self.reset()
            self._opened()


def _opened_line(to: Node, client_id: str, timeout_s: float, security: Security) -> _Open:
    """Blocks. Raises CannotStartError, OpenFailed or OSError."""
    from membership_client.net.opening import OLDEST, ask_versions, await_token, open_connection  # noqa: PLC0415 - takes long

    control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    spec = {"host": to.host, "idle": ask_versions(OLDEST, 0, client_id).hex(), **_tls_spec(security)}

    def through_keeper(broker: socket.socket) -> socket.socket:
        relay, their_relay = socket.socketpair()
        with broker, their_relay:
            handles = [theirs.fileno(), their_relay.fileno(), broker.fileno()]
            KEEPER.open_line(json.dumps(spec).encode(), handles)
        return relay

    try:
        with theirs:
            await_token(to, timeout_s=timeout_s, security=security)
            ready = open_connection(
                to,
                client_id=client_id,
                timeout_s=timeout_s,
                security=replace(security, tls=None),
                through=through_keeper,
            )
    except BaseException:
        control.close()
        raise
    control.setblocking(False)
    ready.close()  # Closes the relay: the connection is ready, and the keeper's.
    return _Open(to, control, ready.channel.offer, ready.renews_at)


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
    """The keeper's working directory is that of its start."""
    is_path = name.endswith("_location") and isinstance(value, str) and value != "probe"
    return os.path.abspath(str(value)) if is_path else value  # noqa: PTH100 - a Path is no JSON


def frame_of(watch: Watch, offer: Mapping[int, tuple[int, int]], client_id: str) -> Frame | None:
    """The heartbeat in Kafka's format; None if the broker has no version of it that the keeper understands."""
    from membership_client.net.codec import choose_version, encode  # noqa: PLC0415 - loads Kafka's message formats

    version = choose_version(watch.request, offer)
    if version is None or (version == 0 and isinstance(watch.request, ClassicHeartbeat)):
        return None
    # The epoch is where they differ: all bits of one are 0, and all of the other 1.
    zeros, ones = (encode(_under(epoch, watch.request), version, 0, client_id) for epoch in (0, -1))
    epoch_at = next(at for at, (zero, one) in enumerate(zip(zeros, ones, strict=True)) if zero != one)
    return Frame(zeros, epoch_at, tells_epoch=isinstance(watch.request, Heartbeat))


def _under(epoch: int, request: Heartbeat | ClassicHeartbeat) -> Heartbeat | ClassicHeartbeat:
    if isinstance(request, Heartbeat):
        return replace(request, epoch=epoch)
    return replace(request, generation=epoch)
