"""The driver's end of the connections: grants each slot to one incarnation at a time, and receives their reports."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from membership_client_spark.errors import SparkSettingsError
from membership_client_spark.incarnation import Incarnation
from membership_client_spark.leases.accepting import Acceptor, Proven
from membership_client_spark.leases.ledger import Ending, Ledger, MayJoin, Order
from membership_client_spark.leases.wire import LONGEST_LINE, Opener, Sealer, new_secret

T = TypeVar("T")

_log = logging.getLogger("membership_client_spark")

_TICK_S = 0.2

Hears = Callable[[int, Incarnation, dict[str, Any]], None]
"""Called on the arbiter's thread with each claim and report of a slot."""


class _SlotConnection:
    """The connection of one slot, for writing."""

    def __init__(self, writer: asyncio.StreamWriter, sealer: Sealer) -> None:
        self._writer = writer
        self._sealer = sealer

    def say(self, message: dict[str, Any]) -> None:
        self._writer.write(self._sealer.seal(message))


class Arbiter:
    """Listens on the driver's address until closed, on a thread of its own. Its methods may be called on any thread.

    Each peer must prove that it knows the secret of this run, and each message has a MAC; see `sealing`.
    SparkSettingsError, and no thread or socket is left, if `host` is no address of this machine.
    """

    def __init__(self, host: str, *, grace_s: float, hears: Hears) -> None:
        self.secret = new_secret()
        self._ledger = Ledger(grace_s)
        self._hears = hears
        self._lines: dict[tuple[int, Incarnation], _SlotConnection] = {}
        self._listening = listening_socket(host)
        self.port: int = self._listening.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="slot-arbiter", daemon=True)
        self._thread.start()
        for task in (Acceptor(self._listening, self.secret, self._attend).run(), self._tick()):
            asyncio.run_coroutine_threadsafe(task, self._loop)

    def end(self, slot: int, ending: Ending, reason: str) -> None:
        """Tells the holder of the slot, and every later claimant, to end."""
        self._soon(lambda: self._carry_out(self._ledger.end(slot, ending, reason)))

    def reopen(self, slot: int) -> None:
        """The slot may be claimed again after it had ended."""
        self._soon(lambda: self._ledger.reopen(slot))

    def has_line(self, slot: int) -> bool:
        """Whether any incarnation of the slot is still connected."""
        return any(slot == one for one, _ in tuple(self._lines))

    def close(self) -> None:
        """Stops listening and closes all connections. Slots that still run go on with the group's fencing alone."""
        if self._loop.is_closed():
            return
        self._run(self._hang_up())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _soon(self, action: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # The loop is closed, and with it all connections.
            self._loop.call_soon_threadsafe(action)

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _hang_up(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        self._listening.close()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            self._carry_out(self._ledger.tick(time.monotonic()))

    async def _attend(self, proven: Proven) -> None:
        reader, writer = await asyncio.open_connection(sock=proven.connection, limit=LONGEST_LINE)
        try:
            await self._listen_to(reader, _SlotConnection(writer, proven.sealer), proven.opener)
        except (OSError, ValueError, KeyError, TypeError) as error:
            _log.info("the connection of a slot to the driver failed: %s", error)
        finally:
            writer.close()

    async def _listen_to(self, reader: asyncio.StreamReader, line: _SlotConnection, opener: Opener) -> None:
        claim = opener.open(await reader.readline())
        slot, who = int(claim["slot"]), Incarnation(int(claim["epoch"]), int(claim["attempt"]))
        self._lines[slot, who] = line
        self._hears(slot, who, claim)
        self._carry_out(self._ledger.claim(slot, who, time.monotonic()))
        try:
            while received := await reader.readline():
                self._hears(slot, who, opener.open(received))
        finally:
            # If the same incarnation has connected again, the end of its old connection means nothing.
            if self._lines.get((slot, who)) is line:
                del self._lines[slot, who]
                self._carry_out(self._ledger.gone(slot, who))

    def _carry_out(self, orders: Iterable[Order]) -> None:
        for order in orders:
            line = self._lines.get((order.slot, order.to))
            _log.info("slot %s, incarnation %s: %s", order.slot, order.to, _words(order))
            if line is not None:
                line.say(_as_message(order))


def _as_message(order: Order) -> dict[str, Any]:
    if isinstance(order, MayJoin):
        return {"grant": True}
    return {"stop": order.ending.value, "reason": order.reason}


def _words(order: Order) -> str:
    return "may join" if isinstance(order, MayJoin) else f"must end, {order.ending.value}: {order.reason}"


# --- the socket on which the driver listens, for IPv4 and IPv6 alike -------------------------------------------------

_BACKLOG = 1024
"""Connections that may wait in the kernel, at no cost to the driver. All slots may start at the same moment."""


def listening_socket(host: str) -> socket.socket:
    """On a free port, not blocking. SparkSettingsError if this process cannot listen on `host`."""
    try:
        return _listening(host)
    except (OSError, ValueError) as error:  # ValueError: a name that cannot be written for a name server.
        raise SparkSettingsError(
            f"The driver cannot listen for its slots on {host!r} ({error}). Set spark.driver.bindAddress to an address "
            "of this machine, and spark.driver.host to one at which executors reach it."
        ) from error


def _listening(host: str) -> socket.socket:
    family, _, _, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    with contextlib.ExitStack() as on_failure:
        listening = on_failure.enter_context(socket.socket(family, socket.SOCK_STREAM))
        if family == socket.AF_INET6:
            # As Java does: on :: the driver accepts IPv4 and IPv6.
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listening.bind(address)
        listening.listen(_BACKLOG)
        listening.setblocking(False)
        on_failure.pop_all()
    return listening
