"""The slot's end of the connection: claims the slot, receives the order to end, and sends reports."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from dataclasses import dataclass
from typing import Any, BinaryIO

from membership_client_spark.incarnation import Incarnation
from membership_client_spark.leases.ledger import Ending
from membership_client_spark.leases.wire import (
    LONGEST_GREETING,
    LONGEST_LINE,
    Opener,
    Sealer,
    challenge,
    challenge_in,
    check_proof,
    line,
    parsed,
    proof,
    session_key,
)

_log = logging.getLogger("membership_client_spark")

_CONNECT_S = 3.0
_AGAIN_S = 1.0


@dataclass(frozen=True, slots=True)
class DriverAddress:
    """Where the arbiter of a run listens, and the run's secret."""

    host: str
    port: int
    secret: bytes

    def __repr__(self) -> str:
        return f"DriverAddress({self})"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Notice:
    """The slot must end, this way and for this reason."""

    ending: Ending
    reason: str


@dataclass(frozen=True, slots=True)
class _Connected:
    """A connection on which both sides have proved themselves."""

    connection: socket.socket
    sealer: Sealer

    def say(self, message: dict[str, Any]) -> bool:
        """Whether the whole message was sent. If not, the connection cannot be used any more: the message's number is used up."""
        text = self.sealer.seal(message)
        try:
            return self.connection.send(text, socket.MSG_DONTWAIT) == len(text)
        except OSError:
            return False


class Line:
    """The connection of one incarnation to its driver, on a thread of its own; it connects again until closed.

    While the driver cannot be reached there are no leases, and slots rely on the group's fencing alone.
    """

    def __init__(self, driver: DriverAddress, slot: int, who: Incarnation, about: dict[str, Any]) -> None:
        self._driver = driver
        self._claim = {"slot": slot, "epoch": who.driver_epoch, "attempt": who.attempt, **about}
        self._decided = threading.Event()
        self._tried = threading.Event()
        self._ended = threading.Event()
        self._notice: Notice | None = None
        self._connected: _Connected | None = None
        self._thread = threading.Thread(target=self._keep, name=f"slot-{slot}-line", daemon=True)
        self._thread.start()

    def wait_for_turn(self, timeout_s: float) -> None:
        """Returns when the slot is granted, when this incarnation must end, or when the driver cannot be reached."""
        self._tried.wait(timeout_s)
        if self._connected is not None:
            self._decided.wait(timeout_s)

    @property
    def notice(self) -> Notice | None:
        """Set once the driver wants this incarnation to end."""
        return self._notice

    def say(self, message: dict[str, Any]) -> None:
        """Sends to the driver if it is connected; never waits and never raises. On the slot's thread only."""
        if (connected := self._connected) is not None and not connected.say(message):
            self._hang_up()  # All later messages would be refused; the next connection starts with a new claim.

    def close(self) -> None:
        """Closes the connection, by which the driver knows that this incarnation has closed."""
        self._ended.set()
        self._hang_up()
        self._thread.join(_CONNECT_S)

    def _keep(self) -> None:
        while not self._ended.is_set():
            try:
                self._talk()
            except (OSError, ValueError, KeyError) as error:
                _log.info("no connection to the driver at %s: %s", self._driver, error)
            self._hang_up()
            self._tried.set()
            self._ended.wait(_AGAIN_S)

    def _talk(self) -> None:
        address = (self._driver.host, self._driver.port)
        with socket.create_connection(address, _CONNECT_S) as connection, connection.makefile("rb") as reader:
            sealer, opener = self._shake_hands(connection, reader)
            connection.settimeout(None)
            connection.sendall(sealer.seal(self._claim))
            self._connected = _Connected(connection, sealer)
            self._tried.set()
            # close() may have been called before there was a connection to close.
            while not self._ended.is_set() and (received := reader.readline(LONGEST_LINE)):
                self._hear(opener.open(received))

    def _shake_hands(self, connection: socket.socket, reader: BinaryIO) -> tuple[Sealer, Opener]:
        secret, theirs, ours = self._driver.secret, challenge_in(_greeting(reader)), challenge()
        connection.sendall(line({"challenge": ours, "proof": proof(secret, "slot", theirs, ours)}))
        check_proof(_greeting(reader).get("proof"), proof(secret, "driver", theirs, ours))
        sealer = Sealer(session_key(secret, "slot", theirs, ours))
        return sealer, Opener(session_key(secret, "driver", theirs, ours))

    def _hear(self, message: dict[str, Any]) -> None:
        if "stop" in message:
            self._notice = Notice(Ending(message["stop"]), str(message.get("reason", "")))
        self._decided.set()

    def _hang_up(self) -> None:
        connected, self._connected = self._connected, None
        if connected is not None:
            with contextlib.suppress(OSError):
                connected.connection.shutdown(socket.SHUT_RDWR)


def _greeting(reader: BinaryIO) -> dict[str, Any]:
    return parsed(reader.readline(LONGEST_GREETING))
