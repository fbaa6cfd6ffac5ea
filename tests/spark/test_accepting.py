"""Who is let in by the driver's port, one at a time: an acceptor on an event loop of the test's own, with room for one stranger."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace

import pytest

from membership_client_spark.leases import accepting
from membership_client_spark.leases.accepting import Acceptor, Proven, _Unproven
from membership_client_spark.leases.wire import NotOursError, challenge, challenge_in, line, new_secret, parsed, proof

LONG_S = 30.0


class Door:
    """An acceptor with its socket, and the slots that got through to it."""

    def __init__(self, listening: socket.socket) -> None:
        self.listening = listening
        self.secret = new_secret()
        self.attended: list[Proven] = []
        self.acceptor = Acceptor(listening, self.secret, self._attend)

    async def _attend(self, proven: Proven) -> None:
        self.attended.append(proven)
        with proven.connection:
            await asyncio.get_running_loop().sock_recv(proven.connection, 1)

    async def stranger(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.listening.getsockname()[1])

    async def slot(self, secret: bytes | None = None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """One that answers the driver's challenge, with the secret of this run or another."""
        reader, writer = await self.stranger()
        theirs, ours = challenge_in(parsed(await reader.readline())), challenge()
        writer.write(line({"challenge": ours, "proof": proof(secret or self.secret, "slot", theirs, ours)}))
        return reader, writer


@contextlib.asynccontextmanager
async def opened() -> AsyncIterator[Door]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        door = Door(listening)
        running = asyncio.create_task(door.acceptor.run())
        async with asyncio.timeout(LONG_S):
            yield door
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        assert running.cancelled()


async def until(condition: Callable[[], object]) -> None:
    while not condition():  # noqa: ASYNC110 - nothing tells when it comes true
        await asyncio.sleep(0.01)


@pytest.fixture
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Room for one that has proved nothing, and nobody is sent away for taking long, unless the test shortens that."""
    monkeypatch.setattr(accepting, "MOST_UNPROVEN", 1)
    monkeypatch.setattr(accepting, "_CROWDED_S", 10 * LONG_S)
    monkeypatch.setattr(accepting, "_PROOF_S", 10 * LONG_S)
    return monkeypatch


def test_a_wrong_proof_is_answered_by_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Or a stranger would be counted as proven, of whom there may be any number."""

    async def play() -> bytes:
        async with opened() as door:
            reader, writer = await door.slot(new_secret())
            with contextlib.closing(writer):
                return await reader.read()

    assert asyncio.run(play()) == b""
    assert (
        "1 connections to the driver did not prove to be slots of this run; the last one: NotOursError wrong"
        in caplog.text
    )


@pytest.mark.usefixtures("one_at_a_time")
def test_who_has_proved_itself_makes_room_for_the_next() -> None:
    """At once, and it stays."""

    async def play() -> int:
        async with opened() as door:
            writers = [(await door.slot())[1] for _ in range(3)]
            await until(lambda: len(door.attended) == 3)
            for writer in writers:
                writer.close()
            await until(lambda: not door.acceptor._tasks)
            return len(door.attended)

    assert asyncio.run(play()) == 3


@pytest.mark.usefixtures("one_at_a_time")
def test_who_hangs_up_makes_room_for_the_next() -> None:
    """At once."""

    async def play() -> None:
        async with opened() as door:
            reader, writer = await door.stranger()
            await reader.readline()
            writer.close()
            _, writer = await door.slot()
            await until(lambda: door.attended)
            writer.close()

    asyncio.run(play())


def test_who_says_nothing_is_sent_away_while_others_wait(
    one_at_a_time: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Long before its time for a proof is over."""
    one_at_a_time.setattr(accepting, "_CROWDED_S", 0.05)

    async def play() -> bytes:
        async with opened() as door:
            reader, writer = await door.stranger()
            await reader.readline()
            _, slot = await door.slot()
            with contextlib.closing(writer), contextlib.closing(slot):
                await until(lambda: door.attended)
                return await reader.read()

    assert asyncio.run(play()) == b""
    assert "proved nothing while others waited" in caplog.text


def test_only_those_that_had_their_time_are_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a second, also while others wait: a slot proves itself within milliseconds."""
    now = 1000.0
    monkeypatch.setattr(accepting, "time", SimpleNamespace(monotonic=lambda: now))

    async def play() -> list[bool]:
        with socket.socket() as listening, socket.socket() as one:
            acceptor = Acceptor(listening, new_secret(), lambda _: asyncio.sleep(0))
            since = (now - 0.75, now - 0.5, now - 0.25)
            tasks = {asyncio.create_task(asyncio.sleep(LONG_S)): _Unproven(one, at) for at in since}
            acceptor._unproven.update(tasks)
            acceptor._cancel_silent()
            cancelled = [task.cancelling() > 0 for task in tasks]
            for task in tasks:
                task.cancel()
            return cancelled

    assert asyncio.run(play()) == [True, True, False]


def test_refusals_are_counted_and_told_once_a_minute(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The first at once."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(accepting, "time", SimpleNamespace(monotonic=lambda: clock.now))
    with socket.socket() as listening, caplog.at_level(logging.WARNING):
        acceptor = Acceptor(listening, new_secret(), lambda _: asyncio.sleep(0))
        for clock.now in (0.0, 1.0, 59.0, 60.0, 119.0, 120.0):
            acceptor._tell_refused(NotOursError("wrong"))
    assert [record.getMessage().partition(" ")[0] for record in caplog.records] == ["1", "3", "2"]


def test_an_accept_that_fails_is_repeated_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lack of descriptors lasts, and the driver has other things to compute meanwhile."""
    monkeypatch.setattr(accepting, "_AGAIN_S", 0.05)
    tries = 0

    def fails(_: socket.socket) -> None:
        nonlocal tries
        tries += 1
        assert tries < 1000, "as fast as it can"
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(socket.socket, "accept", fails)

    async def play() -> None:
        async with opened():
            await until(lambda: tries > 1)

    asyncio.run(play())


def test_a_cancelled_acceptor_watches_its_socket_no_longer() -> None:
    """A socket that is closed while an event loop watches it fails there, or another with its number is taken for it."""

    async def play() -> bool:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.setblocking(False)
            running = asyncio.create_task(Acceptor(listening, new_secret(), lambda _: asyncio.sleep(0)).run())
            await asyncio.sleep(0.05)
            running.cancel()
            await asyncio.wait([running])
            return asyncio.get_running_loop().remove_reader(listening)

    assert asyncio.run(play()) is False
