"""Two processes, one group.instance.id."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from membership_client import FencedInstanceIdError, InstanceIdInUseError, MemberState
from tests.integration.members import eventually

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.integration.members import Group
    from tests.integration.processes import MemberProcess

pytestmark = pytest.mark.kafka


# --- takeover --------------------------------------------------------------------------------------------------------


def test_a_crashed_member_is_replaced_without_a_rebalance(
    group: Group, new_process: Callable[..., MemberProcess]
) -> None:
    """After kill -9 a newcomer with the takeover policy gets the same partitions at the same epoch; others see nothing."""
    process = new_process(group, config={"group.instance.id": "one"})
    process.wait_owning()
    other = group.join()
    eventually(lambda: len(other.assignment()) == 3 and group.describe().state == "Stable", "a settled group")
    crashed = next(member for member in group.describe().members if member.instance_id == "one")
    epoch, calls = group.epoch, len(other.calls)
    process.kill()
    successor = group.join("one", group_instance_id_conflict="takeover")
    group.wait_for_shares([successor, other], group.partitions(6))
    assert successor.assignment() == crashed.current
    assert (group.epoch, len(other.calls)) == (epoch, calls)


def test_a_process_that_was_replaced_learns_by_which(group: Group, new_process: Callable[..., MemberProcess]) -> None:
    """A process that was stopped, taken over and continued loses its partitions and ends, naming its successor."""
    zombie = new_process(group, config={"group.instance.id": "one"})
    owned = zombie.wait_owning()
    zombie.pause()
    successor = group.join("one", group_instance_id_conflict="takeover")
    group.wait_for_shares([successor], group.partitions(6))
    zombie.resume()
    error = zombie.wait_for("error")
    assert error["type"] == "FencedInstanceIdError"
    assert error["holder"] == successor.snapshot.member_id
    assert successor.snapshot.member_id in error["text"]
    assert len(zombie.wait_for("lost")["partitions"]) == len(owned)
    assert successor.snapshot.state is MemberState.STABLE


def test_a_member_that_was_taken_over_cannot_subscribe_again(group: Group) -> None:
    """Two processes must not take turns: the loser's subscribe() raises the error it ended with."""
    loser = group.join("one")
    loser.wait_stable()
    winner = group.join("one", group_instance_id_conflict="takeover")
    with pytest.raises(FencedInstanceIdError):
        loser.wait(lambda snapshot: False)
    with pytest.raises(FencedInstanceIdError):
        loser.subscribe([group.topic])
    with pytest.raises(FencedInstanceIdError):
        loser.poll()
    group.wait_for_shares([winner], group.partitions(6))


# --- wait ------------------------------------------------------------------------------------------------------------


def test_waiting_is_visible(group: Group) -> None:
    """While it waits, a newcomer is JOINING, and its error and its health name the holder."""
    holder = group.join("one")
    holder.wait_stable()
    newcomer = group.join("one")
    waiting = newcomer.wait(lambda snapshot: snapshot.error is not None and snapshot.error.holder is not None)
    assert waiting.state is MemberState.JOINING
    assert isinstance(waiting.error, InstanceIdInUseError)
    assert holder.snapshot.member_id in newcomer.health().why


def test_waiting_for_a_holder_that_closes_ends_at_once(group: Group) -> None:
    """The usual rolling restart in the wrong order: the newcomer enters as soon as the old process has left."""
    holder = group.join("one")
    holder.wait_stable()
    epoch = group.epoch
    newcomer = group.join("one")
    newcomer.wait(lambda snapshot: snapshot.error is not None)
    holder.close()
    group.wait_for_shares([newcomer], group.partitions(6))
    assert group.epoch == epoch
    assert newcomer.error is None


# --- fail ------------------------------------------------------------------------------------------------------------


def test_failing_is_immediate_and_names_the_holder(group: Group) -> None:
    """The fail policy ends with the first refusal, and the holder is undisturbed."""
    holder = group.join("one", client_id="the-holder")
    holder.wait_stable()
    newcomer = group.join("one", group_instance_id_conflict="fail")
    with pytest.raises(InstanceIdInUseError, match="the-holder"):
        newcomer.wait_stable()
    assert newcomer.snapshot.state is MemberState.FATAL
    assert holder.snapshot.state is MemberState.STABLE


def test_a_failed_newcomer_may_try_again(group: Group) -> None:
    """After the holder has gone, subscribe() on the same member succeeds."""
    holder = group.join("one")
    holder.wait_stable()
    newcomer = group.join("one", group_instance_id_conflict="fail")
    with pytest.raises(InstanceIdInUseError):
        newcomer.wait_stable()
    holder.close()
    newcomer.subscribe([group.topic])
    group.wait_for_shares([newcomer], group.partitions(6))


def test_many_newcomers_and_one_place(group: Group) -> None:
    """Of five members that take over from each other at the same time, exactly one is left in the end."""
    barrier = threading.Barrier(5)

    def rush() -> None:
        barrier.wait()
        group.join("one", group_instance_id_conflict="takeover")

    threads = [threading.Thread(target=rush) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    settled = {MemberState.STABLE, MemberState.FATAL}

    def one_is_left() -> bool:
        states = [member.snapshot.state for member in group.members]
        return set(states) <= settled and states.count(MemberState.STABLE) == 1

    eventually(one_is_left, "one winner")
    winner = next(member for member in group.members if member.snapshot.state is MemberState.STABLE)
    group.wait_for_shares([winner], group.partitions(6))
