"""One thread per member, whatever threads call its methods at the same time. Nothing listens at the address these members have."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from membership_client import CloseReport, GroupMember, MemberClosedError
from membership_client.core.machine import Step

CONFIG = {"bootstrap.servers": "127.0.0.1:1", "group.id": "threads"}
CROWD = 6
ROUNDS = 60


@pytest.fixture(autouse=True)
def _eager_switching() -> Iterator[None]:
    """Threads take turns a thousand times as often as usual."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(usual)


def all_at_once(*acts: Callable[[], Any]) -> list[Any]:
    """What each of them returned, started at the same moment."""
    barrier = threading.Barrier(len(acts))

    def run(act: Callable[[], Any]) -> Any:
        barrier.wait()
        return act()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


def test_closing_at_once_before_subscribing(caplog: pytest.LogCaptureFixture) -> None:
    """One of them does it and the others wait for it (each ran the member, and they fell over each other)."""
    for _ in range(ROUNDS):
        member = GroupMember(CONFIG)
        reports = all_at_once(*[member.close] * CROWD)
        assert {report.clean for report in reports} == {True}
        assert member.error is None
    assert caplog.records == []


def test_subscribing_at_once() -> None:
    """A member that is subscribed by many threads has one thread of its own."""
    for _ in range(ROUNDS):
        member = GroupMember(CONFIG)
        all_at_once(*[functools.partial(member.subscribe, ["topic"])] * CROWD)
        threads = [thread for thread in threading.enumerate() if thread.name == "threads-membership"]
        assert len(threads) == 1
        assert member.close().clean
        assert not threads[0].is_alive()


def test_closing_and_subscribing_at_once(caplog: pytest.LogCaptureFixture) -> None:
    """Either order is fine; in both the member is closed in the end."""

    def subscribe() -> bool:
        try:
            member.subscribe(["topic"])
        except MemberClosedError:
            return False
        return True

    for _ in range(ROUNDS):
        member = GroupMember(CONFIG)
        all_at_once(subscribe, member.close, member.close)
        assert member.close().clean
        assert not subscribe()
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_closing_inside_an_observer_of_a_close() -> None:
    """Before subscribing, the closing thread is the member's own, and cannot wait for itself either."""
    reports: list[CloseReport] = []

    def close_again(step: Step) -> None:
        reports.append(member.close())

    member = GroupMember(CONFIG, observers=[close_again])
    assert member.close().clean
    assert all("goes on by itself" in str(report) or report.clean for report in reports)
