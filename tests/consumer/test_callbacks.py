"""Callbacks that raise, errors that end the member, and what subscribe() refuses."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from membership_client import (
    CallbackContext,
    CallbackFailedError,
    Consumer,
    FencedInstanceIdError,
    GroupFullError,
    ListenerError,
    MembershipError,
    MemberState,
    TopicPartition,
)
from membership_client.testing import KafkaCluster
from tests.consumer.helpers import Action, Reader, World, in_thread
from tests.integration.members import eventually

pytestmark = pytest.mark.kafka


class OopsError(Exception):
    """The application's own."""


def raising(*errors: Exception) -> Action:
    """A callback that raises each of these once, in turn, and is well after that."""
    left = list(errors)

    def hook(*_: object) -> None:
        if left:
            raise left.pop(0)

    return hook


def poll_until_it_raises(reader: Reader, timeout_s: float = 0.05) -> BaseException:
    raised: list[BaseException] = []

    def poll() -> bool:
        try:
            reader.poll(timeout_s)
        except Exception as error:  # noqa: BLE001 - whatever it is
            raised.append(error)
        return bool(raised)

    eventually(poll, "an exception out of poll()")
    return raised[0]


# --- callbacks that raise --------------------------------------------------------------------------------------------


def test_poll_raises_what_on_assign_raised_and_the_assignment_is_tried_again(world: World) -> None:
    """The very exception, each time; when the callback returns, every record comes from the start."""
    errors = [OopsError("first"), OopsError("second")]
    world.produce(3)
    reader = world.join(assign=raising(*errors))
    assert poll_until_it_raises(reader) is errors[0]
    assert reader.records == []
    assert poll_until_it_raises(reader) is errors[1]
    world.settle(reader)
    reader.read(12 - len(reader.records))
    assert sorted(reader.places_read) == [(p, o) for p in range(4) for o in range(3)]


def test_poll_raises_what_on_revoke_raised_and_the_partitions_go_all_the_same(world: World) -> None:
    """Other members do not wait because one application failed."""
    error = OopsError("revoke")
    old = world.owner(revoke=raising(error))
    new = world.join()
    raised = []
    with in_thread(lambda: raised.append(poll_until_it_raises(old))):
        eventually(lambda: (new.poll(), len(new.owned) == 2)[1], "a share")
    assert raised == [error]
    world.settle(old, new)


@pytest.mark.parametrize("timeout_s", [-1, 30, 1.0])
def test_what_a_callback_raised_inside_a_blocked_poll_is_raised_and_no_record_is_lost(
    world: World, timeout_s: float
) -> None:
    """The record behind an exception is dropped by librdkafka, so it is raised between two of its calls."""
    error = OopsError("revoke")
    old, new = world.owner(revoke=raising(error)), world.reader()
    raised = []
    with in_thread(lambda: raised.append(poll_until_it_raises(old, timeout_s))):
        new.subscribe()
        eventually(lambda: old.events("revoke"), "a revoke inside poll()")
        world.produce(20)
    assert raised == [error]
    # Nothing is committed, so the new owner reads its share from the beginning, whatever the old one has read of it.
    wanted = {(partition, offset) for partition in range(4) for offset in range(20)}
    eventually(lambda: (old.poll(), new.poll(), wanted <= {*old.places_read, *new.places_read})[2], "all records")
    assert len(old.records) == len(set(old.places_read))


def test_a_batch_is_not_lost_to_a_callback_that_raised(world: World) -> None:
    """consume() returns what it has, and raises the next time."""
    error = OopsError("revoke")
    old, new = world.owner(revoke=raising(error)), world.reader()

    def consume_until_it_raises() -> None:
        while True:
            old.consume(1000, 5.0)

    with in_thread(consume_until_it_raises) as outcome:
        world.produce(20)
        new.subscribe()
        eventually(lambda: (new.poll(), len(new.owned) == 2)[1], "a share")
    assert outcome == [error]
    # Nothing is committed, so the new owner reads its share from the beginning, whatever the old one has read of it.
    wanted = {(partition, offset) for partition in range(4) for offset in range(20)}
    eventually(lambda: (old.poll(), new.poll(), wanted <= {*old.places_read, *new.places_read})[2], "all records")
    assert len(old.records) == len(set(old.places_read))


def test_under_continue_an_assignment_whose_callback_raised_stands(world: World) -> None:
    """Owned, and read: the bug was that it counted as owned and nothing of it was fetched."""
    world.produce(2)
    reader = world.owner({"callback_errors": "continue"}, assign=raising(OopsError("assign")))
    reader.read(8 - len(reader.records))
    assert len(reader.events("assign")) == 1


def test_under_leave_a_callback_that_raised_ends_the_member(world: World) -> None:
    """It leaves the group, and poll() says why: the bug was that it went on returning nothing for ever."""
    reader = world.join({"callback_errors": "leave"}, assign=raising(OopsError("assign")))
    error = poll_until_it_raises(reader)
    assert isinstance(error, CallbackFailedError)
    assert isinstance(error, KafkaException)
    assert "OopsError" in str(error)
    assert reader.consumer.snapshot.state is MemberState.FATAL
    assert world.group.describe().members == ()


# --- the end of the member -------------------------------------------------------------------------------------------


def assert_fatal(error: BaseException, kind: type[MembershipError], code: int) -> None:
    """Of our type and of confluent-kafka's at the same time."""
    assert isinstance(error, kind)
    assert isinstance(error, KafkaException)
    assert (error.args[0].code(), error.args[0].fatal()) == (code, True)


def test_a_taken_instance_id_is_raised_by_every_poll(world: World) -> None:
    """The partitions are lost, not revoked, and the program is told why it must end."""
    old = world.owner({"group.instance.id": "one"})
    takeover = {"group.instance.id": "one", "group.instance.id.conflict": "takeover"}
    with in_thread(lambda: poll_until_it_raises(old, 30)) as outcome:
        new = world.owner(takeover)
    (error,) = outcome
    assert isinstance(error, BaseException)
    assert_fatal(error, FencedInstanceIdError, KafkaError.FENCED_INSTANCE_ID)
    assert_fatal(poll_until_it_raises(old), FencedInstanceIdError, KafkaError.FENCED_INSTANCE_ID)
    with pytest.raises(FencedInstanceIdError):
        old.consumer.consume(10, 1.0)
    kinds = [event.kind for event in old.story if event.partitions]
    # It may slip in once more between the newcomer's release of the id and its join.
    assert kinds in (["assign", "lost"], ["assign", "lost", "assign", "lost"])
    assert len(new.owned) == 4


def test_a_full_group_is_raised_by_poll(kafka_factory: Callable[..., KafkaCluster]) -> None:
    """And subscribe() may try again later."""
    cluster = kafka_factory(settings={"group.consumer.max.size": 1})
    world = World(cluster.bootstrap_servers, "full", 1)
    first, second = world.owner(), world.join()
    assert_fatal(poll_until_it_raises(second), GroupFullError, KafkaError.GROUP_MAX_SIZE_REACHED)
    first.consumer.close()
    second.subscribe()
    world.settle(second)
    world.close()


# --- what they are given ---------------------------------------------------------------------------------------------


def test_a_third_argument_is_the_context(world: World) -> None:
    """Which says since when, why, and how long there is time."""
    given: list[CallbackContext] = []
    reader = world.reader()
    reader.consumer.subscribe([world.topic], on_assign=lambda _, __, context: given.append(context))
    world.settle(reader)
    assert given[-1].epoch == reader.consumer.snapshot.epoch


def test_a_listener_is_told_on_the_polling_thread(world: World) -> None:
    """In the style of kafka-python and Java."""
    told: list[tuple[int, int]] = []

    class Listener:
        def on_partitions_assigned(self, partitions: tuple[TopicPartition, ...]) -> None:
            told.append((len(partitions), threading.get_ident()))

    reader = world.reader()
    reader.consumer.subscribe([world.topic], listener=Listener())
    world.settle(reader)
    assert told[-1] == (4, threading.get_ident())


async def asynchronous(consumer: object, partitions: object) -> None:
    """A coroutine function is refused, because nothing would await it."""


@pytest.mark.parametrize(
    "hooks",
    [
        {"on_assign": lambda: None},
        {"on_revoke": lambda consumer: None},
        {"on_lost": lambda consumer, partitions, context, more: None},
        {"on_assign": "a name"},
        {"on_assign": asynchronous},
        {"listener": object()},
    ],
)
def test_callbacks_that_could_never_be_called_are_refused_at_once(world: World, hooks: dict[str, Any]) -> None:
    """As a TypeError and as a KafkaException; the consumer has not joined."""
    reader = world.reader()
    with pytest.raises(ListenerError) as caught:
        reader.consumer.subscribe([world.topic], **hooks)
    assert isinstance(caught.value, KafkaException)
    assert isinstance(caught.value, TypeError)
    assert reader.consumer.snapshot.state is MemberState.UNSUBSCRIBED


def test_a_refused_callback_is_told_how_it_is_called() -> None:
    """The bug: the error described the methods of a GroupMember's listener."""
    consumer = Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "shop", "log_level": 0})
    with pytest.raises(ListenerError) as caught:
        consumer.subscribe(["orders"], on_assign=lambda partitions: None)  # type: ignore[arg-type]
    assert "Write on_assign(consumer, partitions), or on_assign(consumer, partitions, context)" in str(caught.value)
    assert "second argument" not in str(caught.value)
    consumer.close()


def test_a_refused_subscription_changes_nothing(world: World) -> None:
    """Neither the topics nor the callbacks: the bug was that the new callbacks were kept."""
    reader = world.owner()
    with pytest.raises(KafkaException):
        reader.consumer.subscribe([])
    new = world.join()
    world.settle(reader, new)
    assert len(reader.events("revoke")) == 1
