"""The keeper's loop on a thread of this process, with a parent and a broker that the test plays; and keepers that cannot start."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from membership_client.core.events import Heartbeat
from membership_client.core.keeper import Watch
from membership_client.keeper import process
from membership_client.keeper.messages import REPORT_BYTES, Frame, order_bytes, read_report
from membership_client.keeper.order_state import KeeperReport, Order
from membership_client.runtime import keeper_link, keeper_process
from membership_client.runtime.keeper_link import KeeperLink
from membership_client.runtime.keeper_process import CannotStartError, message_pair
from membership_client.security import PLAINTEXT
from membership_client.testing import EmbeddedKafka
from membership_client.types import Node
from tests.keeper.holding import PATIENCE_S, children, wait

HEARTBEAT_ANSWER = struct.pack(">iiih", 10, 0, 0, 0)
"""Of the classic protocol: its size, correlation id, throttle time, no error."""


@dataclass
class Link:
    """A link of the keeper: the parent's ends, and the broker's end of the connection."""

    control: socket.socket
    reports: int
    broker: socket.socket

    def keep(self, heartbeat: bytes, interval_s: float = 3.0, number: int = 1) -> None:
        now = time.monotonic()
        order = Order(number, 7, now, interval_s, now + PATIENCE_S)
        self.control.send(order_bytes(order, Frame(heartbeat, epoch_at=4, tells_epoch=False)))

    def received(self, size: int) -> bytes:
        """The bytes that the broker has received; fewer only at the end of the connection."""
        content = b""
        while len(content) < size and (more := self.broker.recv(size - len(content))):
            content += more
        return content

    def read_reports(self, count: int) -> list[KeeperReport]:
        content = b""
        while len(content) < count * REPORT_BYTES and (more := os.read(self.reports, REPORT_BYTES)):
            content += more
        return [read_report(content[at : at + REPORT_BYTES]) for at in range(0, len(content), REPORT_BYTES)]

    def has_ended(self) -> bool:
        """Waits at the parent's end until the link has ended."""
        return os.read(self.reports, REPORT_BYTES) == b""


class Parent:
    """A keeper that runs on a thread of this process, and the links that were opened."""

    def __init__(self) -> None:
        self._socket, self._theirs = message_pair()
        self._links: list[Link] = []
        keeper = process.Keeper(self._theirs, os.getppid())
        self._thread = threading.Thread(target=keeper.run, daemon=True)
        self._thread.start()

    def open_link(self) -> Link:
        control, their_control = message_pair()
        reports, their_reports = os.pipe()
        broker, their_broker = socket.socketpair()
        relay, their_relay = socket.socketpair()
        broker.settimeout(PATIENCE_S)
        their_broker.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
        spec = json.dumps({"host": "broker", "idle": b"idle".hex(), "tls": None}).encode()
        handles = [their_relay.fileno(), their_reports, their_control.fileno(), their_broker.fileno()]
        socket.send_fds(self._socket, [spec], handles)
        os.close(their_reports)
        for ours in (their_relay, their_control, their_broker, relay):
            ours.close()  # The relay as well: the connection is ready.
        self._links.append(Link(control, reports, broker))
        return self._links[-1]

    def close(self) -> None:
        self._socket.close()
        self._thread.join(PATIENCE_S)
        self._theirs.close()
        for link in self._links:
            link.control.close()
            link.broker.close()
            os.close(link.reports)
        assert not self._thread.is_alive()


@pytest.fixture
def parent() -> Iterator[Parent]:
    started = Parent()
    yield started
    started.close()


# --- its loop --------------------------------------------------------------------------------------------------------


def test_a_heartbeat_that_is_longer_than_the_sockets_buffer_arrives_whole(parent: Parent) -> None:
    """A member with 50,000 partitions has such heartbeats, and TLS takes 16 kB at a time. The keeper once ended the connection."""
    link = parent.open_link()
    heartbeat = bytes(100_000) + b"end"
    link.keep(heartbeat)
    assert link.received(len(heartbeat)).endswith(b"end")
    link.broker.sendall(HEARTBEAT_ANSWER)
    (report,) = link.read_reports(1)
    assert report.confirmed_at is not None


def test_reports_wait_for_a_parent_that_is_held_for_long(parent: Parent) -> None:
    """More than 250 reports once filled a socket's buffer and ended the link."""
    link = parent.open_link()
    link.keep(bytes(8), interval_s=0.0)
    for _ in range(1000):
        link.received(8)
        link.broker.sendall(HEARTBEAT_ANSWER)
    reports = link.read_reports(1000)
    assert len(reports) == 1000
    assert [report.number for report in reports] == [1] * 1000


def test_a_connection_that_says_nothing_is_given_up(parent: Parent, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that a firewall has dropped would otherwise be noticed only in the next hold."""
    monkeypatch.setattr(process, "_SILENT_S", 0.1)
    monkeypatch.setattr(process, "_IDLE_S", 0.1)
    link = parent.open_link()
    assert link.received(4) == b"idle"
    assert link.has_ended()


def test_a_keeper_without_a_thread_to_spare_goes_on(parent: Parent, monkeypatch: pytest.MonkeyPatch) -> None:
    """The link that needed a thread ends, and the next one is opened."""

    class NoThread:
        def __init__(self, **_: object) -> None:
            raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading, "Thread", NoThread)
        assert parent.open_link().has_ended()
    link = parent.open_link()
    link.keep(b"heartbeat")
    assert len(link.received(9)) == 9


# --- its parent's side -----------------------------------------------------------------------------------------------


@pytest.fixture
def ready(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[KeeperLink, Callable[[int], bool], int]]:
    """A link whose keeper takes orders, a function that gives an order with a number, and the keeper's process id."""
    monkeypatch.setattr(keeper_link, "_PAUSE_S", 0.1)
    others = set(children(os.getpid()))
    with own_process(monkeypatch), EmbeddedKafka(topics={"orders": 1}) as embedded:
        host, port = embedded.bootstrap_servers.split(":")
        watch = Watch(Node(host, int(port)), Heartbeat(group_id="g", member_id="m", epoch=7), 1e9, 3.0)
        opened = link()

        def order(number: int) -> bool:
            return opened.order(number, watch, 2e9)

        wait(lambda: order(1), "link")
        (keeper,) = set(children(os.getpid())) - others
        yield opened, order, keeper
        opened.close()


def test_a_stop_is_taken_in_at_once(ready: tuple[KeeperLink, Callable[[int], bool], int]) -> None:
    """The member goes on when it knows that the keeper sends nothing more; the link stays."""
    opened, order, _ = ready
    opened.stop(2)
    opened.await_stop(2)
    reports = opened.reports()
    assert reports
    assert reports[-1] == KeeperReport(2, 7, None, settled=True)
    assert order(3)


def test_a_paused_keeper_is_cut_off(ready: tuple[KeeperLink, Callable[[int], bool], int]) -> None:
    """It may be about to report partitions of an older epoch (found by simulation), so its connection is ended for it."""
    opened, order, keeper = ready
    os.kill(keeper, signal.SIGSTOP)
    try:
        opened.stop(2)
        opened.await_stop(2)
        assert opened.reports() is None
        assert not order(3)
    finally:
        os.kill(keeper, signal.SIGCONT)
    wait(lambda: order(4), "another link")


# --- no keeper -------------------------------------------------------------------------------------------------------


@contextmanager
def own_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[keeper_process.KeeperProcess]:
    """A keeper process for this test, and not the shared one."""
    own = keeper_process.KeeperProcess()
    monkeypatch.setattr(keeper_link, "KEEPER", own)
    yield own
    own.end()


def link(opened: threading.Event | None = None) -> KeeperLink:
    return KeeperLink("client", 5.0, lambda: PLAINTEXT, (opened or threading.Event()).set)


def test_a_process_that_ends_at_once_is_told(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """If the interpreter is embedded in another program, `sys.executable` may be that program."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with own_process(monkeypatch) as own, caplog.at_level(logging.WARNING, "membership_client"):
        own.start()
        wait(own.has_ended, "end of the process")
        with pytest.raises(CannotStartError, match="ended before it could do anything"):
            own.start()
        link().prepare()
        wait(own.has_ended, "end of the process")
        link().prepare()
    assert "there is no keeper process, because it ended" in caplog.text


def test_a_system_without_a_socket_to_spare_costs_no_member(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The error once ended the membership thread."""

    def no_sockets() -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(keeper_process, "message_pair", no_sockets)
    with own_process(monkeypatch), caplog.at_level(logging.WARNING, "membership_client"):
        link().prepare()
    assert "the system starts no process: Too many open files" in caplog.text


def test_a_keeper_without_a_connection_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says it once, after some attempts: the member itself is connected, so nothing else shows it."""
    monkeypatch.setattr(keeper_link, "_PAUSE_S", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        node = Node("127.0.0.1", closed.getsockname()[1])
    watch = Watch(node, Heartbeat(group_id="g", member_id="m", epoch=7), at=0.0, interval_s=3.0)
    with own_process(monkeypatch), caplog.at_level(logging.WARNING, "membership_client"):
        lonely = link()

        def said() -> bool:
            assert not lonely.order(1, watch, 10.0)
            return "it gets no connection to the coordinator" in caplog.text

        wait(said, "warning")
