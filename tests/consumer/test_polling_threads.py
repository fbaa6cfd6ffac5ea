"""Rebalances while a poll is blocked, on the polling thread or another one."""

from __future__ import annotations

import functools
import threading

import pytest

from tests.consumer.conftest import NewWorld
from tests.consumer.helpers import Reader, World, in_thread
from tests.integration.members import PATIENCE_S, eventually

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize("timeout_s", [-1, 30])
def test_a_blocked_poll_lets_a_rebalance_through(new_world: NewWorld, timeout_s: float) -> None:
    """Callbacks run inside it, on its thread, while it goes on waiting for a record."""
    world = new_world(2)
    threads: list[int] = []
    old = world.owner(revoke=lambda *_: threads.append(threading.get_ident()))
    new = world.reader()
    polling: list[int] = []

    def poll() -> None:
        polling.append(threading.get_ident())
        old.poll(timeout_s)

    with in_thread(poll) as returned:
        new.subscribe()
        eventually(lambda: (new.poll(), len(new.owned) == 1)[1], "a share", 20)
        assert threads == polling
        assert returned == []
        world.produce(1, old.owned)
    assert len(old.records) == 1


def test_a_rebalance_gets_through_while_the_main_thread_is_blocked(new_world: NewWorld) -> None:
    """poll(-1) of the thread that made the consumer, as most programs have it."""
    world = new_world(2)
    old = world.owner()
    new = world.reader()

    def join_and_produce() -> None:
        new.subscribe()
        eventually(lambda: (new.poll(), len(new.owned) == 1)[1], "a share", 20)
        world.produce(1)

    with in_thread(join_and_produce):
        message = old.poll(-1)
    assert message is not None
    assert [event.kind for event in old.story[-2:]] == ["revoke", "record"]


def test_a_long_poll_of_a_thread_not_seen_before_lets_a_rebalance_through(world: World) -> None:
    """After many short ones poll() is the C method, and says nothing of who calls: the bug was a knock that waited."""
    old, new = world.owner(), world.reader()
    eventually(lambda: (old.poll(0), "poll" not in vars(old.consumer))[1], "a poll() that is not watched")
    with in_thread(lambda: old.poll(3 * PATIENCE_S)):
        new.subscribe()
        eventually(lambda: (new.poll(), len(new.owned) == 2)[1], "a share")
        world.produce(1, old.owned)


def test_polling_may_move_from_thread_to_thread(world: World) -> None:
    """Each polls until the next takes over, with short calls and with long ones, and rebalances go on."""
    reader = world.owner()
    for timeout_s in (0.05, 3.0, 0.05):
        other = world.reader()
        with in_thread(functools.partial(poll_until_one_was_here, reader, timeout_s)):
            other.subscribe()
            eventually(functools.partial(has_two, other), "a share")
            other.consumer.close()
    assert [len(event.partitions) for event in reader.events("revoke")] == [2, 2, 2]


def poll_until_one_was_here(reader: Reader, timeout_s: float) -> None:
    """On a thread of its own."""
    start = len(reader.story)
    kinds = ["revoke", "assign"]
    eventually(
        lambda: (reader.poll(timeout_s), [event.kind for event in reader.story[start:]] == kinds)[1], "gone again"
    )


def has_two(reader: Reader) -> bool:
    reader.poll()
    return len(reader.owned) == 2
