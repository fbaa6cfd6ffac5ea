"""The driver's port among strangers: hundreds of them, a relay in the middle, and addresses that cannot be listened on."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from membership_client import ConfigError
from membership_client_spark.incarnation import Incarnation
from membership_client_spark.leases import accepting
from membership_client_spark.leases import line as slot_line
from membership_client_spark.leases.accepting import MOST_UNPROVEN, Acceptor, Proven
from membership_client_spark.leases.arbiter import Arbiter
from membership_client_spark.leases.ledger import Ending
from membership_client_spark.leases.line import DriverAddress, Line
from membership_client_spark.leases.wire import (
    LONGEST_GREETING,
    challenge,
    challenge_in,
    line,
    new_secret,
    parsed,
    proof,
)

LONG_S = 30.0
WHO = Incarnation(1, 1)


@pytest.fixture
def arbiter() -> Iterator[Arbiter]:
    opened = Arbiter("127.0.0.1", grace_s=10 * LONG_S, hears=lambda *_: None)
    yield opened
    opened.close()


@contextlib.contextmanager
def connected(arbiter: Arbiter, *, port: int | None = None, host: str = "127.0.0.1") -> Iterator[Line]:
    with contextlib.closing(Line(DriverAddress(host, port or arbiter.port, arbiter.secret), 0, WHO, {})) as one:
        yield one


def eventually(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + LONG_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.01)


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_hundreds_of_strangers_cost_next_to_nothing_and_a_slot_gets_through(
    arbiter: Arbiter, caplog: pytest.LogCaptureFixture
) -> None:
    """400 of them with a megabyte each cost the driver 350 MB, 300 its descriptors; errors came with tracebacks."""
    before = descriptors()
    with contextlib.ExitStack() as strangers, caplog.at_level(logging.DEBUG):
        for number in range(400):
            one = strangers.enter_context(socket.create_connection(("127.0.0.1", arbiter.port), LONG_S))
            one.setblocking(False)
            with contextlib.suppress(OSError):
                one.send(b"x" * 1_000_000 if number % 2 else b"{")
        assert descriptors() - before - 400 <= MOST_UNPROVEN
        with connected(arbiter) as slot:
            eventually(slot._decided.is_set)
            assert descriptors() - before - 400 <= MOST_UNPROVEN + 4
    assert all(record.exc_info is None for record in caplog.records)
    assert "did not prove to be slots of this run" in caplog.text
    eventually(lambda: descriptors() <= before + 1)


def test_what_strangers_may_take_is_little() -> None:
    """A proof has some 200 bytes. The other tests go by these limits, whatever they are."""
    assert (LONGEST_GREETING, MOST_UNPROVEN) == (512, 64)


def test_a_stranger_is_read_no_further_than_a_proof_is_long(arbiter: Arbiter) -> None:
    """It is hung up on after 512 bytes, whatever it goes on to say."""
    with socket.create_connection(("127.0.0.1", arbiter.port), LONG_S) as stranger:
        stranger.recv(1000)
        stranger.sendall(b"x" * LONGEST_GREETING)
        with contextlib.suppress(ConnectionResetError):
            assert stranger.recv(1000) == b""


def test_a_stranger_that_says_nothing_is_sent_away(arbiter: Arbiter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that says a byte now and then: the deadline is for the whole proof."""
    monkeypatch.setattr(accepting, "_PROOF_S", 0.5)
    with socket.create_connection(("127.0.0.1", arbiter.port), LONG_S) as stranger:
        stranger.recv(1000)
        stranger.setblocking(False)
        eventually(lambda: is_hung_up(stranger))


def is_hung_up(stranger: socket.socket) -> bool:
    """Says a byte, and looks whether anybody is there."""
    try:
        stranger.send(b" ")
        return stranger.recv(1000) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def test_slots_that_start_in_one_moment_are_all_heard(arbiter: Arbiter, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than may be unproven at a time: the others wait for a moment, and none is refused."""
    monkeypatch.setattr(slot_line, "_CONNECT_S", LONG_S)  # A busy machine is no reason to try again.
    address = DriverAddress("127.0.0.1", arbiter.port, arbiter.secret)
    lines = [Line(address, slot, WHO, {}) for slot in range(2 * MOST_UNPROVEN)]
    for one in lines:
        one.wait_for_turn(LONG_S)
    assert all(one._decided.is_set() for one in lines)
    for one in lines:
        one.close()


def test_an_accept_that_fails_does_not_end_the_listening(
    arbiter: Arbiter, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As it does while the driver has no descriptors left; which is told, and not each time."""
    accept, failures = socket.socket.accept, iter(range(2))

    def fails_twice(listening: socket.socket) -> tuple[socket.socket, Any]:
        if next(failures, None) is not None:
            raise OSError(24, "Too many open files")
        return accept(listening)

    monkeypatch.setattr(socket.socket, "accept", fails_twice)
    for _ in range(2):
        with connected(arbiter) as slot:
            eventually(slot._decided.is_set)
    assert caplog.text.count("Too many open files") == 1


async def attend_for_ever(proven: Proven) -> None:
    with proven.connection:
        await asyncio.Event().wait()


async def prove(port: int, secret: bytes) -> None:
    """As a slot does it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        theirs, ours = challenge_in(parsed(await reader.readline())), challenge()
        writer.write(line({"challenge": ours, "proof": proof(secret, "slot", theirs, ours)}))
        await reader.read()
    finally:
        writer.close()


async def left_after_cancelling(turns: int) -> int:
    """How many tasks still run when the acceptor and a slot were cancelled after so many turns of the event loop."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        secret = new_secret()
        accepting = asyncio.create_task(Acceptor(listening, secret, attend_for_ever).run())
        slot = asyncio.create_task(prove(listening.getsockname()[1], secret))
        for _ in range(turns):
            await asyncio.sleep(0)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        assert accepting in tasks
        for task in tasks:
            task.cancel()
        _, left = await asyncio.wait(tasks, timeout=1.0)
        slot.cancel()
        return len(left)


def test_listening_ends_whenever_it_is_cancelled() -> None:
    """A close in the moment in which a slot had proved itself was lost (Python 3.11's wait_for), and hung."""
    assert [turns for turns in range(40) if asyncio.run(left_after_cancelling(turns))] == []


def test_a_close_is_no_stranger(caplog: pytest.LogCaptureFixture) -> None:
    """A connection that the driver itself ends, since it closes, was told as one that did not prove anything."""
    opened = Arbiter("127.0.0.1", grace_s=LONG_S, hears=lambda *_: None)
    with socket.create_connection(("127.0.0.1", opened.port), LONG_S) as slot:
        slot.recv(1000)
        opened.close()
    assert caplog.text == ""


class Relay:
    """Between a slot and its driver: hands on what both say, and can say something of its own to either."""

    def __init__(self, port: int) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._driver_port = port
        self.to_slot: list[socket.socket] = []
        self.to_driver: list[socket.socket] = []
        self.said_to_slot: list[bytes] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                slot, _ = self._listening.accept()
                driver = socket.create_connection(("127.0.0.1", self._driver_port))
                self.to_slot.append(slot)
                self.to_driver.append(driver)
                threading.Thread(target=self._pump, args=(slot, driver, []), daemon=True).start()
                threading.Thread(target=self._pump, args=(driver, slot, self.said_to_slot), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, noted: list[bytes]) -> None:
        with contextlib.suppress(OSError):
            while received := source.recv(65536):
                noted.append(received)
                target.sendall(received)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for one in (self._listening, *self.to_slot, *self.to_driver):
            one.close()


@pytest.fixture
def relay(arbiter: Arbiter) -> Iterator[Relay]:
    with contextlib.closing(Relay(arbiter.port)) as opened:
        yield opened


def test_a_stop_that_a_relay_injects_is_not_obeyed(arbiter: Arbiter, relay: Relay) -> None:
    """Only the beginning of a line was proved: whoever stood in the middle could stop slots after that."""
    with connected(arbiter, port=relay.port) as slot:
        eventually(slot._decided.is_set)
        relay.to_slot[0].sendall(line({"stop": "stopped", "reason": "injected"}))
        eventually(lambda: len(relay.to_slot) == 2)  # The slot hung up, and connected anew.
        eventually(lambda: slot._connected is not None)
        assert slot.notice is None
        arbiter.end(0, Ending.REMOVED, "scaled")
        eventually(lambda: slot.notice)
        assert slot.notice is not None
        assert slot.notice.reason == "scaled"


def test_a_grant_that_a_relay_repeats_ends_the_line(arbiter: Arbiter, relay: Relay) -> None:
    """What the driver said once counts once."""
    with connected(arbiter, port=relay.port) as slot:
        eventually(slot._decided.is_set)
        relay.to_slot[0].sendall(relay.said_to_slot[-1])
        eventually(lambda: len(relay.to_slot) == 2)
        assert slot.notice is None


def test_a_report_that_a_relay_injects_is_not_believed(relay: Relay, arbiter: Arbiter) -> None:
    """The driver hangs up on that line; the slot connects anew."""
    heard: list[dict[str, Any]] = []
    arbiter._hears = lambda *said: heard.append(said[2])
    with connected(arbiter, port=relay.port) as slot:
        eventually(slot._decided.is_set)
        relay.to_driver[0].sendall(line({"report": {"lag": 0}}))
        eventually(lambda: len(heard) == 2)
    assert all("slot" in said for said in heard), "claims, and nothing else"


@pytest.mark.parametrize("host", ["::1", "::"])
def test_slots_reach_a_driver_on_ipv6(host: str) -> None:
    """And on ::, as Spark's own ports, IPv4 as well."""
    arbiter = Arbiter(host, grace_s=LONG_S, hears=lambda *_: None)
    for reached_at in ("::1", "127.0.0.1") if host == "::" else ("::1",):
        with connected(arbiter, host=reached_at) as slot:
            eventually(slot._decided.is_set)
    arbiter.close()


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid", "\u2026" * 70, "2001:db8::1"])
def test_an_address_that_is_not_ours_is_told_and_leaves_nothing_behind(host: str) -> None:
    """Each try used to leave a thread and an event loop, and to raise what the system had said."""
    gc.collect()
    threads, files = threading.active_count(), descriptors()
    with pytest.raises(ConfigError, match=r"spark\.driver\.bindAddress"):
        Arbiter(host, grace_s=1, hears=lambda *_: None)
    assert threading.active_count() == threads
    assert descriptors() == files
