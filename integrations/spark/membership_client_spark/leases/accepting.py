"""Accepts connections to the driver, and passes on those that prove that they know the secret of this run.

Until then a connection gets little: few at a time, few bytes, a few seconds.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from membership_client_spark.leases.wire import (
    LONGEST_GREETING,
    NotOursError,
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

MOST_UNPROVEN = 64
"""Further connections wait in the kernel and take no descriptor of the driver. A slot needs milliseconds for its proof."""

_PROOF_S = 5.0
_CROWDED_S = 0.5
"""The limit while others wait: hundreds of silent connections delay a slot by seconds, not by minutes."""

_AGAIN_S = 0.5
_TELL_S = 60.0


@dataclass(frozen=True, slots=True)
class Proven:
    """A connection to a slot of this run, with the MACs of both directions."""

    connection: socket.socket
    sealer: Sealer
    opener: Opener


@dataclass(frozen=True, slots=True)
class _Unproven:
    """A connection that has not proved anything yet, and when it was accepted."""

    connection: socket.socket
    since: float


class Acceptor:
    """Belongs to the thread of an event loop. `attend` is called with each proven connection, which it must close."""

    def __init__(self, listening: socket.socket, secret: bytes, attend: Callable[[Proven], Awaitable[None]]) -> None:
        self._listening = listening
        self._secret = secret
        self._attend = attend
        self._tasks: set[asyncio.Task[None]] = set()
        """One for each connection; kept here, because event loops hold tasks by weak references only."""
        self._unproven: dict[asyncio.Task[None], _Unproven] = {}
        """The tasks of connections that have not proved anything yet."""
        self._one_less = asyncio.Event()
        self._refused = 0
        self._told_at = -_TELL_S

    async def run(self) -> None:
        """Accepts until cancelled. Errors of connections, or a lack of descriptors, do not end it."""
        while True:
            await self._make_room()
            try:
                connection = await self._accepted()
            except OSError as error:  # The driver has no descriptors left, or the peer is gone already.
                self._tell_refused(error)
                await asyncio.sleep(_AGAIN_S)
                continue
            task = asyncio.create_task(self._prove_and_attend(connection))
            self._tasks.add(task)
            self._unproven[task] = _Unproven(connection, time.monotonic())
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(self._close_unproven)

    async def _accepted(self) -> socket.socket:
        """Not `sock_accept`: that drops a connection without closing it, and logs a traceback, if it is cancelled just then."""
        while True:
            try:
                connection, _ = self._listening.accept()
            except BlockingIOError:
                await self._readable()
            else:
                connection.setblocking(False)
                return connection

    async def _readable(self) -> None:
        loop, is_readable = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._listening, is_readable.set)
        try:
            await is_readable.wait()
        finally:
            loop.remove_reader(self._listening)

    # asyncio.timeout and not wait_for: that of Python 3.11 loses a cancellation which comes as the wait ends, and a close
    # then waited for ever.
    async def _make_room(self) -> None:
        while len(self._unproven) >= MOST_UNPROVEN:
            self._one_less.clear()
            try:
                async with asyncio.timeout(_CROWDED_S):
                    await self._one_less.wait()
            except TimeoutError:
                self._cancel_silent()

    def _cancel_silent(self) -> None:
        now = time.monotonic()
        for task, one in self._unproven.items():
            if now - one.since >= _CROWDED_S and task.cancel():
                self._tell_refused(TimeoutError("proved nothing while others waited"))

    def _close_unproven(self, task: asyncio.Task[None]) -> None:
        """Closes the connection of a task that ended, perhaps before it began, without a proof."""
        if (one := self._unproven.pop(task, None)) is not None:
            one.connection.close()
            self._one_less.set()

    async def _prove_and_attend(self, connection: socket.socket) -> None:
        try:
            async with asyncio.timeout(_PROOF_S):
                proven = await self._proven(connection)
        except (OSError, NotOursError, TimeoutError) as error:
            self._tell_refused(error)
            return
        task = asyncio.current_task()
        assert task is not None
        del self._unproven[task]
        self._one_less.set()
        await self._attend(proven)

    async def _proven(self, connection: socket.socket) -> Proven:
        loop, ours = asyncio.get_running_loop(), challenge()
        await loop.sock_sendall(connection, line({"challenge": ours}))
        answer = parsed(await _greeting(connection))
        theirs = challenge_in(answer)
        check_proof(answer.get("proof"), proof(self._secret, "slot", ours, theirs))
        await loop.sock_sendall(connection, line({"proof": proof(self._secret, "driver", ours, theirs)}))
        sealer = Sealer(session_key(self._secret, "driver", ours, theirs))
        return Proven(connection, sealer, Opener(session_key(self._secret, "slot", ours, theirs)))

    def _tell_refused(self, why: BaseException) -> None:
        """Logs at most once a minute: a port scanner must not fill the log."""
        self._refused += 1
        if time.monotonic() - self._told_at >= _TELL_S:
            _log.warning(
                "%s connections to the driver did not prove to be slots of this run; the last one: %s %s",
                self._refused,
                type(why).__name__,
                why,
            )
            self._refused, self._told_at = 0, time.monotonic()


async def _greeting(connection: socket.socket) -> bytes:
    """One line. A slot sends nothing more before it has read the driver's proof."""
    received = b""
    while not received.endswith(b"\n"):
        piece = await asyncio.get_running_loop().sock_recv(connection, LONGEST_GREETING - len(received))
        if not piece:
            raise NotOursError("closed the connection, or sent too much, before it proved anything")
        received += piece
    return received
