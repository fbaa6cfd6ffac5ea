"""Partitions come and go on members' threads while the pipeline's thread works with them."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from membership_client import CallbackContext, Cause, CauseKind, TopicPartition
from membership_client_spark.pipeline.held import Held
from tests.integration.members import PATIENCE_S

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def context(remaining_s: float = PATIENCE_S) -> CallbackContext:
    """As a member would make it; no mock, because waiting for it is what is tested."""
    return CallbackContext(cause=Cause(CauseKind.GROUP_CHANGED, "a test"), deadline=time.monotonic() + remaining_s)


def held_by(slot: int, *places: TopicPartition) -> Held:
    held = Held()
    held.listener(slot).on_partitions_assigned(places, context())
    return held


def test_a_partition_in_use_is_given_up_after_the_epoch() -> None:
    """It can still be committed until then, but no new epoch begins with it."""
    held = held_by(0, P0, P1)
    planned = held.now()
    assert held.use({P0: planned[P0]}) == {P0}
    with ThreadPoolExecutor() as pool:
        given_up = pool.submit(held.listener(0).on_partitions_revoked, (P0,), context())
        while P0 in held.now():
            held.wait_for_change(0.01)
        assert held.still(planned) == {P0, P1}
        assert not given_up.done()
        held.release()
        given_up.result(PATIENCE_S)
    assert held.still(planned) == {P1}


def test_a_partition_that_no_epoch_needs_goes_at_once() -> None:
    """Although one is running."""
    held = held_by(0, P0, P1)
    held.use({P0: held.now()[P0]})
    held.listener(0).on_partitions_revoked((P1,), context())
    assert held.now().keys() == {P0}


def test_the_group_is_not_kept_waiting_for_ever() -> None:
    """When its patience is over, the partition goes, and the epoch cannot commit it any more."""
    held = held_by(0, P0)
    planned = held.now()
    held.use(planned)
    held.listener(0).on_partitions_revoked((P0,), context(remaining_s=0.05))
    assert held.still(planned) == frozenset()


def test_a_partition_that_came_back_is_another_holding() -> None:
    """Others may have had it meanwhile: what was planned before is void."""
    held = held_by(0, P0)
    planned = held.now()
    held.listener(0).on_partitions_lost((P0,), context())
    held.listener(0).on_partitions_assigned((P0,), context())
    assert held.now().keys() == {P0}
    assert held.still(planned) == held.use(planned) == frozenset()


def test_an_epoch_keeps_nobody_from_what_it_has_lost() -> None:
    """A partition that came to another slot during the epoch can go on from there at once; once it waited for the end."""
    held = held_by(0, P0)
    held.use(held.now())
    held.listener(0).on_partitions_lost((P0,), context())
    held.listener(1).on_partitions_assigned((P0,), context())
    held.listener(1).on_partitions_revoked((P0,), context())
    assert not held.now()


def test_a_member_that_hears_late_takes_nothing_from_others() -> None:
    """Slot 0 learns that it lost a partition when slot 1 has it already."""
    held = held_by(0, P0)
    held.listener(1).on_partitions_assigned((P0,), context())
    held.listener(0).on_partitions_lost((P0,), context())
    assert held.now()[P0].slot == 1


def test_a_change_ends_the_wait() -> None:
    """The pipeline looks again at once when partitions come."""
    held, woken = Held(), threading.Event()

    def wait() -> None:
        held.wait_for_change(PATIENCE_S)
        woken.set()

    with ThreadPoolExecutor() as pool:
        pool.submit(wait)
        while not woken.wait(0.01):
            held.wake()
