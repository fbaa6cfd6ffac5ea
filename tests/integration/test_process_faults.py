"""What happens to processes: forks at a bad moment, an interpreter that is held up, clocks that jump, no descriptors left."""

from __future__ import annotations

import contextlib
import functools
import operator
import resource
import time
from collections.abc import Callable, Iterator

import pytest

from membership_client import MemberState
from membership_client.testing import KafkaCluster
from tests.integration.conftest import GroupFactory
from tests.integration.members import Group, WatchedMember, eventually
from tests.integration.processes import MemberProcess
from tests.net.patience import open_descriptors

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

PROTOCOLS = [{}, {"group.protocol": "classic", "heartbeat.interval.ms": 200, "session.timeout.ms": 8000}]
BY_PROTOCOL = pytest.mark.parametrize("config", PROTOCOLS, ids=["consumer", "classic"])


@BY_PROTOCOL
def test_a_fork_in_the_middle_of_a_rebalance(
    group: Group, new_process: Callable[..., MemberProcess], config: dict[str, object]
) -> None:
    """A revoke callback that starts a child, as subprocess would: the parent's rebalance ends as if there were none."""
    process = new_process(group, "fork in a revoke", config)
    process.wait_owning()
    newcomer = new_process(group, "stay", config)
    assert process.wait_for("child ended")["code"] == 0
    assert process.wait_for("child")["live"] is False
    eventually(lambda: [len(line["owned"]) for line in last_stable(process, newcomer)] == [3, 3], "a half for each")
    assert not process.all("lost")


def last_stable(*processes: MemberProcess) -> list[dict[str, list[int]]]:
    return [stable[-1] for process in processes if (stable := process.all("stable"))]


@BY_PROTOCOL
def test_an_interpreter_that_is_held_up(
    kafka: KafkaCluster, new_group: GroupFactory, new_process: Callable[..., MemberProcess], config: dict[str, object]
) -> None:
    """An extension that keeps it stops heartbeats: less than a session costs nothing, after more the member joins again."""
    group = new_group(kafka, consumer_session_timeout_ms=8000)
    process = new_process(group, "hold the interpreter", config)
    process.wait_for("ready")
    process.tell("1")
    eventually(lambda: len(process.all("held")) == 1, "a short hold")
    assert not process.all("lost")
    process.tell("11")
    process.wait_for("lost")
    eventually(lambda: len(process.all("assigned")) == 2, "partitions again")


def test_clocks_that_jump(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is measured by the time of day."""
    member = group.join()
    before = member.wait_stable()
    for offset_s in (86_400.0, -86_400.0):
        monkeypatch.setattr(time, "time", functools.partial(operator.add, time.time(), offset_s))
        more = len(member.steps) + 10
        eventually(functools.partial(has_steps, member, more), "heartbeats go on")
    assert (member.snapshot.epoch, member.snapshot.owned) == (before.epoch, before.owned)
    assert MemberState.FENCED not in member.states


def has_steps(member: WatchedMember, count: int) -> bool:
    return len(member.steps) > count


def test_no_descriptors_left(group: Group) -> None:
    """The member says what is missing and goes on trying; when there are some again, it joins."""
    member = group.member()
    with no_descriptors():
        member.subscribe([group.topic])
        waiting = member.wait(lambda snapshot: snapshot.error is not None)
    assert "Too many open files" in str(waiting.error)
    assert waiting.state is MemberState.JOINING
    group.wait_for_shares([member], group.partitions(6))
    assert member.error is None


@contextlib.contextmanager
def no_descriptors() -> Iterator[None]:
    """Numbers are given from below, so a limit below all that are free leaves none."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(3, open_descriptors()), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
