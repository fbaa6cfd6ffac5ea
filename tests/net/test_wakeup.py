"""Waking the owner, from wherever."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

from membership_client.net import BrokerTransport
from membership_client.net.wakeup import Wakeup
from membership_client.types import Node
from tests.net.patience import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def transport() -> Iterator[BrokerTransport]:
    """A transport that never sends anything."""
    with contextlib.closing(
        BrokerTransport([Node("127.0.0.1", 1)], client_id="tester", connect_timeout_s=1)
    ) as transport:
        yield transport


def test_another_thread_wakes_the_owner(transport: BrokerTransport) -> None:
    """`wait()` returns, empty-handed, long before its timeout."""
    threading.Timer(0.1, transport.wakeup).start()
    assert woken(transport)


def test_a_signal_handler_wakes_the_owner(transport: BrokerTransport) -> None:
    """Also one that interrupts `wait()` on the owning thread itself."""
    with handler(transport.wakeup):
        threading.Timer(0.1, send_signal).start()
        assert woken(transport)


def test_a_wakeup_before_the_wait_counts(transport: BrokerTransport) -> None:
    """Once: many wakeups are one, and then `wait()` blocks again."""
    for _ in range(100_000):
        transport.wakeup()
    assert woken(transport)
    started = time.monotonic()
    assert transport.wait(0.2) == []
    assert time.monotonic() - started > 0.1


def test_a_wakeup_may_interrupt_a_wakeup() -> None:
    """A signal handler that wakes, while the interrupted code does just that, neither blocks nor fails."""
    wakeup, stop = Wakeup(), threading.Event()

    def bombard() -> None:
        while not stop.is_set():
            send_signal()
            time.sleep(0.0005)

    with handler(wakeup.wake):
        bomber = threading.Thread(target=bombard)
        bomber.start()
        deadline = time.monotonic() + 0.5
        while time.monotonic() < deadline:
            wakeup.wake()
            wakeup.clear()
        stop.set()
        bomber.join()
    wakeup.close()
    wakeup.wake()


def woken(transport: BrokerTransport) -> bool:
    started = time.monotonic()
    assert transport.wait(LIMIT_S) == []
    return time.monotonic() - started < LIMIT_S / 2


def send_signal() -> None:
    ident = threading.main_thread().ident
    assert ident is not None
    signal.pthread_kill(ident, signal.SIGUSR1)


@contextlib.contextmanager
def handler(action: object) -> Iterator[None]:
    assert callable(action)
    previous = signal.signal(signal.SIGUSR1, lambda *_: action())
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, previous)
