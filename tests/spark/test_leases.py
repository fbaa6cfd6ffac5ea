"""The line between slots and their driver, over real sockets: turns, notices, strangers, and a driver that is not there."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from membership_client.testing.ports import free_ports
from membership_client_spark.incarnation import Incarnation
from membership_client_spark.leases import line as slot_line
from membership_client_spark.leases.arbiter import Arbiter
from membership_client_spark.leases.ledger import Ending
from membership_client_spark.leases.line import DriverAddress, Line, _Connected
from membership_client_spark.leases.wire import Opener, Sealer, challenge, line, new_secret, parsed, proof, session_key

OLD, NEW = Incarnation(1, 1), Incarnation(1, 2)
LONG_S = 30.0


class Office:
    """An arbiter and the lines that a test opens to it."""

    def __init__(self, grace_s: float) -> None:
        self.heard: list[tuple[int, Incarnation, dict[str, Any]]] = []
        self.arbiter = Arbiter("127.0.0.1", grace_s=grace_s, hears=lambda *said: self.heard.append(said))
        self.address = DriverAddress("127.0.0.1", self.arbiter.port, self.arbiter.secret)
        self.lines: list[Line] = []

    def line(self, who: Incarnation, slot: int = 0) -> Line:
        opened = Line(self.address, slot, who, {"host": "here"})
        self.lines.append(opened)
        return opened


@pytest.fixture
def office(request: pytest.FixtureRequest) -> Iterator[Office]:
    """Closed after the test, with every line. Its grace is longer than any test, unless the test gives another."""
    opened = Office(getattr(request, "param", 10 * LONG_S))
    yield opened
    for one in opened.lines:
        one.close()
    opened.arbiter.close()


def eventually(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + LONG_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.01)


def test_the_first_one_has_its_turn_and_is_heard(office: Office) -> None:
    """A claim says who and where; a report arrives as it was said."""
    one = office.line(OLD)
    one.wait_for_turn(LONG_S)
    one.say({"report": {"lag": 3}})
    eventually(lambda: len(office.heard) == 2)
    assert one.notice is None
    assert [said for _, _, said in office.heard][1] == {"report": {"lag": 3}}
    assert office.heard[0][2]["host"] == "here"
    assert one._connected is not None
    assert one._connected.connection.gettimeout() is None, "a driver that has nothing to say breaks no line"
    assert (one._thread.name, one._thread.daemon) == ("slot-0-line", True), "it keeps no process from ending"


def test_the_older_one_is_told_and_the_newer_waits_for_it_to_hang_up(office: Office) -> None:
    """The newer one's turn comes when the older has closed, and not before."""
    old = office.line(OLD)
    old.wait_for_turn(LONG_S)
    new = office.line(NEW)
    eventually(lambda: old.notice)
    assert old.notice is not None
    assert old.notice.ending is Ending.SUPERSEDED
    new.wait_for_turn(0.5)
    assert not new._decided.is_set()
    old.close()
    eventually(new._decided.is_set)
    assert new.notice is None


@pytest.mark.parametrize("office", [0.5], indirect=True)
def test_one_that_says_nothing_is_waited_for_no_longer_than_the_grace(office: Office) -> None:
    """The newer one joins while the older one's line is still open; to keep the older one out is the group's part then."""
    old = office.line(OLD)
    old.wait_for_turn(LONG_S)
    new = office.line(NEW)
    eventually(new._decided.is_set)
    assert new.notice is None
    assert old._connected is not None


def test_an_order_of_the_driver_reaches_the_slot(office: Office) -> None:
    """What the driver wants and why."""
    one = office.line(OLD)
    one.wait_for_turn(LONG_S)
    office.arbiter.end(0, Ending.REMOVED, "scaled to 0 slots")
    eventually(lambda: one.notice)
    assert one.notice is not None
    assert (one.notice.ending, one.notice.reason) == (Ending.REMOVED, "scaled to 0 slots")


def test_a_slot_that_had_ended_can_be_opened_again(office: Office) -> None:
    """Until then whoever claims it is told to end."""
    office.arbiter.end(0, Ending.REMOVED, "scaled to 0 slots")
    refused = office.line(OLD)
    eventually(lambda: refused.notice)
    refused.close()
    office.arbiter.reopen(0)
    one = office.line(NEW)
    eventually(one._decided.is_set)
    assert one.notice is None


def test_the_driver_knows_which_slots_have_a_line(office: Office) -> None:
    """Until the last one has hung up."""
    assert not office.arbiter.has_line(0)
    one = office.line(OLD, slot=3)
    one.wait_for_turn(LONG_S)
    assert [office.arbiter.has_line(slot) for slot in (0, 3)] == [False, True]
    one.close()
    eventually(lambda: not office.arbiter.has_line(3))


def test_a_closed_arbiter_leaves_nothing_behind(office: Office) -> None:
    """No thread, no task and no port; a second close does nothing. A driver can also end without it."""
    arbiter = office.arbiter
    one = office.line(OLD)
    one.wait_for_turn(LONG_S)
    assert arbiter._thread.daemon
    arbiter.close()
    arbiter.close()
    assert not arbiter._thread.is_alive()
    assert not asyncio.all_tasks(arbiter._loop)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((office.address.host, office.address.port))
    arbiter.end(0, Ending.STOPPED, "too late")
    eventually(lambda: one._connected is None)


def test_a_driver_that_is_not_there_does_not_keep_a_slot_from_starting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The group's fencing is enough where the driver cannot be reached. That is told, and tried again after a while."""
    monkeypatch.setattr(slot_line, "_AGAIN_S", LONG_S)
    (port,) = free_ports(1)
    with caplog.at_level(logging.INFO):
        one = Line(DriverAddress("127.0.0.1", port, new_secret()), 0, OLD, {})
        one.wait_for_turn(LONG_S)
    assert one.notice is None
    one.say({"report": {}})
    one.close()
    assert not one._thread.is_alive()
    assert caplog.text.count(f"no connection to the driver at 127.0.0.1:{port}: ") == 1


def test_a_slot_goes_on_without_its_driver_and_is_heard_again_when_it_is_back(office: Office) -> None:
    """A line that broke is mended by a new claim."""
    one = office.line(OLD)
    one.wait_for_turn(LONG_S)
    broken = one._connected
    assert broken is not None
    broken.connection.shutdown(socket.SHUT_RDWR)
    eventually(lambda: len(office.heard) == 2)
    assert one.notice is None


def test_a_line_that_is_closed_while_it_is_being_mended_hangs_up() -> None:
    """It used to wait for the driver's next word, and the driver for its end: its successor waited out the whole grace."""
    secret, theirs = new_secret(), challenge()
    with socket.create_server(("127.0.0.1", 0)) as driver:
        one = Line(DriverAddress("127.0.0.1", driver.getsockname()[1], secret), 0, OLD, {})
        met, _ = driver.accept()
        closing = threading.Thread(target=one.close)
        closing.start()
        eventually(one._ended.is_set)
        with met, met.makefile("rb") as reader:
            met.settimeout(LONG_S)
            met.sendall(line({"challenge": theirs}))
            ours = parsed(reader.readline())["challenge"]
            met.sendall(line({"proof": proof(secret, "driver", theirs, ours)}))
            claim, *more = reader.readlines()
        closing.join()
    assert Opener(session_key(secret, "slot", theirs, ours)).open(claim)["slot"] == 0
    assert not more


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x00" * 100,
        b"[]\n",
        b'{"challenge":"x","proof":"y"}\n',
        b'{"challenge":"x","proof":7}\n',
        b'{"challenge":"' + b"x" * 2_000_000 + b'"}\n',
    ],
)
def test_a_stranger_is_sent_away_and_changes_nothing(office: Office, said: bytes) -> None:
    """Whoever does not prove to know the run's secret is not listened to, and others are served meanwhile."""
    with socket.create_connection((office.address.host, office.address.port)) as stranger:
        assert b"challenge" in stranger.recv(1000)
        try:
            stranger.sendall(said)
            stranger.shutdown(socket.SHUT_WR)
            stranger.settimeout(LONG_S)
            assert stranger.recv(1000) == b""
        except OSError:
            pass  # Hung up on while it was still talking.
        one = office.line(OLD)
        one.wait_for_turn(LONG_S)
    assert one.notice is None
    assert {slot for slot, _, _ in office.heard} == {0}


def test_a_slot_of_another_run_is_sent_away(office: Office) -> None:
    """Each run has a secret of its own, so that whoever found the port of this one does not disturb it."""
    stranger = Line(replace(office.address, secret=new_secret()), 0, NEW, {})
    stranger.wait_for_turn(LONG_S)
    one = office.line(OLD)
    one.wait_for_turn(LONG_S)
    assert [who for _, who, _ in office.heard] == [OLD]
    assert one.notice is None
    stranger.close()


def proven_by_hand(address: DriverAddress) -> tuple[socket.socket, Sealer]:
    """A connection that knows the secret, and says what a slot would not."""
    connection = socket.create_connection((address.host, address.port), LONG_S)
    with connection.makefile("rb") as reader:
        theirs, ours = parsed(reader.readline())["challenge"], challenge()
        connection.sendall(line({"challenge": ours, "proof": proof(address.secret, "slot", theirs, ours)}))
        reader.readline()
    return connection, Sealer(session_key(address.secret, "slot", theirs, ours))


CLAIM = {"slot": 0, "epoch": 1, "attempt": 1}


@pytest.mark.parametrize(
    "claim", [{}, CLAIM | {"slot": "x"}, CLAIM | {"epoch": None}, None], ids=["missing", "text", "null", "reset"]
)
def test_a_line_that_breaks_is_told_in_a_sentence(
    office: Office, claim: dict[str, Any] | None, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever was said on it, as by a slot of another version, and also if it is reset; no traceback."""
    connection, sealer = proven_by_hand(office.address)
    with connection, caplog.at_level(logging.INFO):
        if claim is None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            connection.sendall(sealer.seal(claim))
            assert connection.recv(1) == b""
        connection.close()
        eventually(lambda: "the connection of a slot to the driver failed: " in caplog.text)


def test_what_the_driver_orders_is_in_its_log(office: Office, caplog: pytest.LogCaptureFixture) -> None:
    """Who may join, and who must end and why."""
    with caplog.at_level(logging.INFO):
        one = office.line(OLD)
        one.wait_for_turn(LONG_S)
        office.arbiter.end(0, Ending.REMOVED, "scaled to 0 slots")
        eventually(lambda: one.notice)
    assert f"slot 0, incarnation {OLD}: may join" in caplog.text
    assert f"slot 0, incarnation {OLD}: must end, removed: scaled to 0 slots" in caplog.text


def test_a_slot_does_not_obey_a_driver_that_does_not_know_the_secret() -> None:
    """Another application that got the driver's port later cannot stop our slots."""
    with socket.create_server(("127.0.0.1", 0)) as impostor:
        one = Line(DriverAddress("127.0.0.1", impostor.getsockname()[1], new_secret()), 0, OLD, {})
        met, _ = impostor.accept()
        theirs = challenge()
        met.sendall(line({"challenge": theirs}))
        answer = parsed(met.makefile("rb").readline())
        met.sendall(line({"proof": proof(new_secret(), "driver", theirs, answer["challenge"])}))
        met.sendall(line({"stop": "stopped", "reason": "because I say so"}))
        one.wait_for_turn(LONG_S)
        met.close()
    assert one.notice is None
    one.close()


def test_a_message_is_sent_as_a_whole_or_the_line_is_of_no_more_use() -> None:
    """Its number was taken: the next message would be refused by the driver."""
    driver, slot = socket.socketpair()
    with slot:
        connected = _Connected(slot, Sealer(b"key"))
        with driver:
            assert connected.say({"report": {}})
            assert not connected.say({"report": "x" * 10_000_000})
        assert not connected.say({"report": {}})


def test_a_line_on_which_half_a_message_was_sent_is_mended(office: Office) -> None:
    """The driver would wait for the other half for ever."""
    one = office.line(OLD)
    one.wait_for_turn(LONG_S)
    assert one._connected is not None
    one._connected.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    one.say({"report": "x" * 500_000})
    eventually(lambda: len(office.heard) == 2)
    assert [said["slot"] for _, _, said in office.heard] == [0, 0]


def test_addresses_are_written_as_in_urls() -> None:
    """In brackets where they have colons themselves."""
    assert [str(DriverAddress(host, 7, b"")) for host in ("::1", "driver")] == ["[::1]:7", "driver:7"]


def test_the_secret_is_in_no_text() -> None:
    """An address may be logged."""
    secret = new_secret()
    text = repr(DriverAddress("127.0.0.1", 1, secret))
    assert repr(secret) not in text
    assert secret.hex() not in text
