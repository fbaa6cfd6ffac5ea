"""Forks, and interpreters that end without a close."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.members import eventually, log_about
from tests.integration.processes import partitions_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from membership_client.testing import KafkaCluster
    from tests.integration.conftest import GroupFactory
    from tests.integration.members import Group
    from tests.integration.processes import MemberProcess

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


def test_a_fork_leaves_the_member_with_the_parent(
    kafka: KafkaCluster, new_group: GroupFactory, new_process: Callable[..., MemberProcess]
) -> None:
    """The child is told that it has no member and ends quietly; the parent's outlives it by more than a session."""
    group = new_group(kafka, consumer_session_timeout_ms=4000)
    process = new_process(group, "fork")
    child = process.wait_for("child")
    assert child["pid"] != process.pid
    assert child["refused"] == ["poll", "subscribe", "unsubscribe", "wait_until"]
    assert child["live"] is False
    assert child["threads"] == []
    assert "forked child" in child["report"]
    assert process.wait_for("child ended")["code"] == 0
    (member,) = group.describe().members
    newcomer = group.join()
    eventually(lambda: len(newcomer.assignment()) == 3, "half of the partitions, given up by the parent")
    assert group.knows(member.member_id)
    assert not process.all("lost")
    assert process.all("stable")[-1]["pid"] == process.pid


def test_a_forked_child_may_have_a_member_of_its_own(group: Group, new_process: Callable[..., MemberProcess]) -> None:
    """Parent and child are two members, each with its half, until the child leaves."""
    process = new_process(group, "fork and join")
    assert len(process.wait_for("child joined")["owned"]) == 3
    assert len(group.describe().members) == 2
    process.end_input()
    process.wait_for("child left")
    eventually(lambda: len(process.all("stable")[-1]["owned"]) == 6, "everything back with the parent")


@pytest.mark.parametrize("instance_id", [None, "one"])
def test_a_process_that_slept_too_long(
    kafka: KafkaCluster, new_group: GroupFactory, new_process: Callable[..., MemberProcess], instance_id: str | None
) -> None:
    """Stopped beyond its session and continued, it loses its partitions first and joins again then."""
    group = new_group(kafka, consumer_session_timeout_ms=3000)
    process = new_process(group, config={"group.instance.id": instance_id} if instance_id else {})
    owned = process.wait_owning()
    process.pause()
    eventually(lambda: group.describe().members == (), "the session's end")
    process.resume()
    assert partitions_in(process.wait_for("lost")["partitions"]) == owned
    eventually(lambda: len(process.all("assigned")) == 2, "partitions again")
    assert [line["kind"] for line in process.said if line["kind"] in {"assigned", "revoked", "lost"}] == [
        "assigned",
        "lost",
        "assigned",
    ]


def test_an_interpreter_that_ends_without_a_close(
    kafka: KafkaCluster, group: Group, new_process: Callable[..., MemberProcess]
) -> None:
    """The member says goodbye at exit, so that others need not wait for its session to end."""
    process = new_process(group, "go without close")
    assert process.wait_ended() == 0
    assert group.describe().members == ()
    assert "client reason: the interpreter ended" in log_about(kafka, group.id)()
    assert process.all("revoked")
    assert process.said[-1]["kind"] == "unsubscribed"


def test_an_interpreter_that_ends_with_a_stuck_callback(
    group: Group, new_process: Callable[..., MemberProcess]
) -> None:
    """A callback that never returns does not keep the process; its partitions stay its own until the session ends."""
    process = new_process(group, "go with a stuck callback")
    assert process.wait_ended() == 0
    assert process.all("revoked")
    assert len(group.describe().members) == 1


def test_an_interpreter_that_ends_without_a_broker(
    kafka_factory: Callable[..., KafkaCluster], new_group: GroupFactory, new_process: Callable[..., MemberProcess]
) -> None:
    """A dead broker holds up neither the exit of the process nor its exit code."""
    kafka = kafka_factory()
    group = new_group(kafka)
    process = new_process(group, "go when told")
    process.wait_for("ready")
    kafka.kill(1)
    process.end_input()
    assert process.wait_ended() == 0
    assert process.all("revoked")
