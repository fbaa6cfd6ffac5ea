"""Partitions that other members own already: nothing is committed, and a commit raises."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message

from membership_client import Consumer, GroupAuthorizationError, MemberState, NotOwnedError
from membership_client.core.error_codes import Code
from membership_client.core.events import Answered, Failed, HeartbeatAccepted, Refused
from tests.consumer.helpers import Places, Reader, World
from tests.integration.members import PATIENCE_S, eventually

pytestmark = pytest.mark.kafka

AUTO_COMMIT = {"enable.auto.commit": True, "auto.commit.interval.ms": 60_000}


def remove(world: World, reader: Reader) -> None:
    """As a session that expired, or an administrator, would."""
    world.group.remove(reader.consumer.snapshot.member_id)


def test_nothing_is_committed_of_lost_partitions(world: World) -> None:
    """Not automatically, not by the callback: their records come again."""
    refused: list[KafkaException] = []

    def commit(consumer: Consumer, _: Places) -> None:
        with pytest.raises(NotOwnedError) as caught:
            consumer.commit(reader.records[0], asynchronous=False)
        assert isinstance(caught.value, KafkaException)
        refused.append(caught.value)
        assert consumer.owner_epoch(reader.records[0]) is None

    world.produce(5)
    reader = world.owner(AUTO_COMMIT, lost=commit)
    reader.read(20 - len(reader.records))
    epoch = reader.consumer.owner_epoch(reader.records[0])
    remove(world, reader)
    eventually(lambda: (reader.consumer.poll(0), refused)[1], "a loss")
    assert refused[0].args[0].code() == KafkaError._ASSIGNMENT_LOST
    assert world.committed() == {}
    world.settle(reader)
    reader.read(40 - len(reader.records))
    assert sorted(reader.places_read) == sorted(2 * [(p, o) for p in range(4) for o in range(5)])
    assert epoch is not None
    assert reader.events("revoke") == []


def test_a_commit_before_the_callback_had_its_turn_is_refused_too(world: World) -> None:
    """The group dropped us and the application, which is at work, does not know it yet."""
    world.produce(5)
    reader = world.owner()
    reader.read(20 - len(reader.records))
    record, epoch = reader.records[0], reader.consumer.snapshot.epoch
    remove(world, reader)
    eventually(lambda: reader.consumer.owner_epoch(record) is None, "a member that knows")
    with pytest.raises(NotOwnedError):
        reader.consumer.commit(record, asynchronous=False)
    with pytest.raises(KafkaException):
        reader.consumer.commit(asynchronous=False)
    assert reader.events("lost") == []
    world.settle(reader)
    assert reader.consumer.snapshot.epoch > epoch
    assert world.committed() == {}


def test_a_member_that_is_dropped_while_it_looks_for_its_offsets_says_nothing_of_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes back by itself: the bug was that poll() raised what the coordinator had answered."""
    world.produce(1)
    reader = world.reader()
    look = reader.consumer._member.committed
    refusals = [NotOwnedError("UNKNOWN_MEMBER_ID")]

    def committed(partitions: Any, *, timeout_s: float) -> Any:
        if refusals and partitions:
            remove(world, reader)
            raise refusals.pop()
        return look(partitions, timeout_s=timeout_s)

    monkeypatch.setattr(reader.consumer._member, "committed", committed)
    reader.subscribe()
    world.settle(reader)
    reader.read(4 - len(reader.records))
    assert refusals == []


def test_nothing_is_read_of_a_loss_that_waits_for_another_callback(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An assignment that still looks for its offsets: the bug was that records of lost partitions came meanwhile."""
    reader, found = reader_that_looks_for_offsets(world, monkeypatch)
    remove(world, reader)
    eventually(lambda: reader.consumer.snapshot.state is MemberState.FENCED, "a member that knows")
    assert [reader.poll(0.1) for _ in range(5)] == [None] * 5
    found.set()
    eventually(lambda: (reader.poll(), reader.events("lost"))[1], "a loss")
    world.settle(reader)


def test_nothing_is_read_after_the_end_of_a_member_whose_loss_waits(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """poll() says what ended it, or nothing; the partitions are lost as soon as the callback before that has returned."""
    reader, found = reader_that_looks_for_offsets(world, monkeypatch)
    refuse_heartbeats(reader, monkeypatch)
    eventually(lambda: reader.consumer.snapshot.state is MemberState.FATAL, "a member that knows")
    read = len(reader.records)
    assert [poll_or_raise(reader) for _ in range(5)] == [None] * 5
    assert reader.events("lost") == []
    found.set()
    eventually(lambda: (poll_or_raise(reader), reader.events("lost"))[1], "a loss")
    assert len(reader.records) == read


def reader_that_looks_for_offsets(world: World, monkeypatch: pytest.MonkeyPatch) -> tuple[Reader, threading.Event]:
    """It reads two partitions and is to have all four: where the others start, it learns when the event is set."""
    world.produce(500)
    reader, other = world.join(), world.join()
    world.settle(reader, other)
    found, look = threading.Event(), reader.consumer._member.committed

    def committed(partitions: Any, *, timeout_s: float) -> Any:
        found.wait(PATIENCE_S)
        return look(partitions, timeout_s=timeout_s)

    monkeypatch.setattr(reader.consumer._member, "committed", committed)
    other.consumer.close()
    eventually(lambda: len(reader.consumer.snapshot.target) == 4, "an assignment that waits")
    return reader, found


def refuse_heartbeats(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, as a coordinator would whose operator has taken access away."""
    transport = reader.consumer._member._transport
    wait = transport.wait

    def denied(timeout_s: float | None) -> list[Answered | Failed]:
        return [
            replace(answer, response=Refused(Code.GROUP_AUTHORIZATION_FAILED))
            if isinstance(answer, Answered) and isinstance(answer.response, HeartbeatAccepted)
            else answer
            for answer in wait(timeout_s)
        ]

    monkeypatch.setattr(transport, "wait", denied)


def poll_or_raise(reader: Reader) -> Message | None:
    """The record that came, whether or not poll() has an end to tell of."""
    with contextlib.suppress(GroupAuthorizationError):
        return reader.poll(0.1)
    return None


def test_without_on_lost_the_revoke_callback_is_told(world: World) -> None:
    """As confluent-kafka has it."""
    told: list[int] = []
    reader = world.reader()
    reader.consumer.subscribe([world.topic], on_revoke=lambda _, places: told.append(len(places)))
    world.settle(reader)
    remove(world, reader)
    eventually(lambda: (reader.poll(), told)[1], "a loss")
    assert told == [4]


def test_the_first_record_of_a_partition_has_its_owner_epoch(world: World) -> None:
    """The bug: it was None until the membership thread had taken in that on_assign had returned."""
    world.produce(1)
    for _ in range(5):
        reader = world.join()
        record = eventually(reader.poll, "the first record")
        assert record is not None
        assert reader.consumer.owner_epoch(record) is not None
        reader.consumer.close()


def test_work_that_outlives_the_ownership_sees_it_in_the_record(world: World) -> None:
    """owner_epoch() is the same for as long as a partition stays, and another one after it came back."""
    world.produce(1)
    reader = world.owner()
    reader.read(4 - len(reader.records))
    epochs = [reader.consumer.owner_epoch(record) for record in reader.records]
    other = world.join()
    world.settle(reader, other)
    stayed = [r for r in reader.records if r.partition() in reader.owned]
    assert {reader.consumer.owner_epoch(record) for record in stayed} == set(epochs)
    other.consumer.close()
    world.settle(reader)
    returned = [record for record in reader.records if record not in stayed]
    assert all((reader.consumer.owner_epoch(record) or 0) > max(filter(None, epochs)) for record in returned)


def test_nothing_is_read_between_an_assignment_that_came_too_late_and_its_loss(world: World) -> None:
    """Both wait while the application works: the bug was that records came in between, of partitions others had."""
    world.produce(100)
    reader, other = world.join(), world.join()
    world.settle(reader, other)
    (record,) = reader.read(1)
    other.consumer.close()
    eventually(lambda: len(reader.consumer.snapshot.target) == 4, "an assignment that waits")
    eventually(lambda: reader.consumer._queue.waiting, "a callback that waits")
    remove(world, reader)
    eventually(lambda: reader.consumer.owner_epoch(record) is None, "a member that knows")
    start = len(reader.story)
    eventually(lambda: (reader.poll(), reader.events("lost"))[1], "a loss")
    assert [event.kind for event in reader.story[start:]][:2] == ["assign", "lost"]
