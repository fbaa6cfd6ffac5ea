"""What is committed, when, in which order, and what is refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException, Message

from membership_client import Consumer, NotOwnedError
from tests.consumer.conftest import NewWorld
from tests.consumer.helpers import Places, Reader, World, in_thread, number_of, offset_of
from tests.integration.members import eventually

pytestmark = pytest.mark.kafka

Outcome = tuple[KafkaError | None, Places, int]
"""An error, what was to be committed, and the thread that was told."""


def with_outcomes(outcomes: list[Outcome]) -> dict[str, Any]:
    """Settings whose on_commit keeps what it is told."""
    return {"on_commit": lambda error, places: outcomes.append((error, places, threading.get_ident()))}


@pytest.fixture
def world(new_world: NewWorld) -> World:
    """Two partitions with ten records each."""
    world = new_world(2)
    world.produce(10)
    return world


# --- order -----------------------------------------------------------------------------------------------------------


def test_a_later_commit_wins_whichever_kind_it_is(world: World) -> None:
    """A blocking commit waits for those before it, and one that does not block is not overtaken by those after it."""
    consumer = world.owner().consumer
    for offset in range(1, 51):
        consumer.commit(offsets=[world.place(0, offset)])
    consumer.commit(offsets=[world.place(0, 3)], asynchronous=False)
    assert world.committed() == {0: 3}
    consumer.commit(offsets=[world.place(0, 7)])
    consumer.commit(offsets=[world.place(1, 2)], asynchronous=False)
    assert world.committed() == {0: 7, 1: 2}


def test_outcomes_are_told_on_the_polling_thread_in_order(world: World) -> None:
    """Each commit has its own, with its own offsets, inside poll()."""
    outcomes: list[Outcome] = []
    reader = world.owner(with_outcomes(outcomes))
    for offset in range(1, 6):
        reader.consumer.commit(offsets=[world.place(0, offset)])
    eventually(lambda: (reader.consumer.poll(0.05), len(outcomes) == 5)[1], "five outcomes")
    assert [places[0].offset for _, places, _ in outcomes] == [1, 2, 3, 4, 5]
    assert {(error, thread) for error, _, thread in outcomes} == {(None, threading.get_ident())}


def test_an_outcome_is_told_inside_a_blocked_poll(world: World) -> None:
    """The outcome of a commit is reported although no record comes."""
    outcomes: list[Outcome] = []
    reader = world.owner(with_outcomes(outcomes))
    reader.read(20 - len(reader.records))
    with in_thread(lambda: reader.poll(30)) as returned:
        reader.consumer.commit(offsets=[world.place(0, 1)])
        eventually(lambda: outcomes, "an outcome", 20)
        assert returned == []
        world.produce(1, [0])


def test_commits_that_wait_are_sent_together(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are behind one that is under way: one request for all of them."""
    consumer = world.owner().consumer
    asked: list[object] = []
    allowed = threading.Event()
    commit = consumer._member._commit

    def slow_commit(offsets: Any, *more: Any) -> None:
        asked.append(offsets)
        assert allowed.wait(30)
        commit(offsets, *more)

    monkeypatch.setattr(consumer._member, "_commit", slow_commit)
    consumer.commit(offsets=[world.place(0, 1)])
    eventually(lambda: asked, "a commit under way")
    for offset in range(2, 500):
        consumer.commit(offsets=[world.place(0, offset)])
    allowed.set()
    consumer.commit(offsets=[world.place(1, 1)], asynchronous=False)
    assert world.committed() == {0: 499, 1: 1}
    assert len(asked) <= 3


# --- what ------------------------------------------------------------------------------------------------------------


def test_a_record_commits_the_place_after_it(world: World) -> None:
    """commit(message) says that this record is done, and returns what it committed."""
    reader = world.owner()
    record = reader.records[-1] if reader.records else reader.read(1)[0]
    (place,) = reader.consumer.commit(record, asynchronous=False) or []
    assert (place.partition, place.offset) == (number_of(record), offset_of(record) + 1)
    assert world.committed() == {place.partition: place.offset}


def test_without_arguments_all_that_was_read_is_committed(world: World) -> None:
    """Each partition up to the last record that poll() returned; a second time there is nothing to commit."""
    outcomes: list[Outcome] = []
    reader = world.owner(with_outcomes(outcomes))
    reader.read(13 - len(reader.records))
    reader.consumer.commit(asynchronous=False)
    assert world.committed() == {p: c for p in (0, 1) if (c := [n for n, _ in reader.places_read].count(p))}
    with pytest.raises(KafkaException) as caught:
        reader.consumer.commit(asynchronous=False)
    assert caught.value.args[0].code() == KafkaError._NO_OFFSET
    reader.consumer.commit()
    eventually(lambda: (reader.consumer.poll(0), outcomes)[1], "an outcome")
    error = outcomes[0][0]
    assert error is not None
    assert error.code() == KafkaError._NO_OFFSET


def test_metadata_and_leader_epoch_are_kept(world: World) -> None:
    """What was committed with them comes back with them; a record's commit carries its leader epoch."""
    reader = world.owner()
    noted = confluent_kafka.TopicPartition(world.topic, 0, 4, "so far", 0)
    reader.consumer.commit(offsets=[noted], asynchronous=False)
    (found,) = reader.consumer.committed([world.place(0)])
    assert (found.offset, found.metadata, found.leader_epoch) == (4, "so far", 0)
    record = next(r for r in [*reader.records, *reader.read(20 - len(reader.records))] if number_of(r) == 1)
    reader.consumer.commit(record, asynchronous=False)
    (found,) = reader.consumer.committed([world.place(1)])
    assert (found.offset, found.leader_epoch) == (offset_of(record) + 1, record.leader_epoch())


def test_two_wishes_at_once_are_refused(world: World) -> None:
    """As confluent-kafka refuses them."""
    reader = world.owner()
    record = [*reader.records, *reader.read(1)][0]
    with pytest.raises(KafkaException):
        reader.consumer.commit(record, [world.place(0, 1)])


def test_a_message_that_is_an_error_has_nothing_to_commit_or_store(world: World) -> None:
    """_INVALID_ARG, as in confluent-kafka: the bug was that the code of the message itself was raised."""
    consumer = world.reader({"enable.auto.offset.store": False}).consumer
    end = Message(topic=world.topic, partition=0, offset=1, error=KafkaError(KafkaError._PARTITION_EOF, "the end"))
    calls: list[Callable[[Message], object]] = [consumer.commit, consumer.store_offsets]
    for call in calls:
        with pytest.raises(KafkaException) as refused:
            call(end)
        assert refused.value.args[0].code() == KafkaError._INVALID_ARG


# --- storing ---------------------------------------------------------------------------------------------------------


def test_only_what_was_stored_is_committed(world: World) -> None:
    """With enable.auto.offset.store=false, by record and by offset; without arguments, commit() takes these."""
    reader = world.owner({"enable.auto.offset.store": False})
    records = [*reader.records, *reader.read(20 - len(reader.records))]
    reader.consumer.store_offsets(next(r for r in records if (number_of(r), offset_of(r)) == (0, 4)))
    reader.consumer.store_offsets(offsets=[world.place(1, 2)])
    reader.consumer.commit(asynchronous=False)
    assert world.committed() == {0: 5, 1: 2}


def test_storing_has_its_rules(world: World) -> None:
    """Not with automatic storing, not without a place, not of partitions that are not ours."""
    automatic, manual = world.reader(), world.owner({"enable.auto.offset.store": False})
    with pytest.raises(KafkaException, match=r"enable\.auto\.offset\.store"):
        automatic.consumer.store_offsets(offsets=[world.place(0, 1)])
    with pytest.raises(KafkaException, match="expected either message or offsets"):
        manual.consumer.store_offsets()
    with pytest.raises(NotOwnedError):
        manual.consumer.store_offsets(offsets=[confluent_kafka.TopicPartition("another", 0, 1)])


# --- by itself -------------------------------------------------------------------------------------------------------


def test_what_was_read_is_committed_every_interval(world: World) -> None:
    """While poll() is called; up to the last record that it returned."""
    reader = world.owner({"enable.auto.commit": True, "auto.commit.interval.ms": 100})
    reader.read(20 - len(reader.records))
    eventually(lambda: (reader.poll(), world.committed() == {0: 10, 1: 10})[1], "an automatic commit")


def test_the_record_in_hand_is_not_committed(world: World) -> None:
    """However long it takes: only the next poll() says that it is done."""
    reader = world.owner({"enable.auto.commit": True, "auto.commit.interval.ms": 50, "fetch.min.bytes": 1})
    record = reader.read(1)[-1]
    threading.Event().wait(1.5)  # Longer than the interval, and than the attendant's.
    assert world.committed().get(number_of(record), 0) <= offset_of(record)
    eventually(lambda: (reader.poll(0), world.committed().get(number_of(record), 0) > offset_of(record))[1], "done")


def test_a_record_whose_handling_raised_comes_again(world: World) -> None:
    """Leaving the with block by an exception commits nothing more, and what a poll committed does not cover it."""
    config = {"enable.auto.commit": True, "auto.commit.interval.ms": 50}
    with pytest.raises(BadRecordError) as caught:
        handle_seven(Consumer(world.config(config)), world.topic)
    reader = world.owner()
    eventually(lambda: (reader.poll(), caught.value.args in reader.places_read)[1], "the same record")


class BadRecordError(Exception):
    """Its arguments are the record's partition and offset."""


def handle_seven(consumer: Consumer, topic: str) -> None:
    """And fail with the eighth."""
    with consumer:
        consumer.subscribe([topic])
        for count, message in enumerate(consumer):
            if count == 7:
                raise BadRecordError(number_of(message), offset_of(message))


def test_leaving_the_block_in_peace_commits_everything(world: World) -> None:
    """All that was read, before the partitions are given back."""
    config = {"enable.auto.commit": True, "auto.commit.interval.ms": 60_000}
    with Consumer(world.config(config)) as consumer:
        consumer.subscribe([world.topic])
        for _, _ in zip(range(20), consumer, strict=False):
            pass
    assert world.committed() == {0: 10, 1: 10}


# --- ownership -------------------------------------------------------------------------------------------------------


def test_a_commit_after_the_revoke_is_refused_here(world: World) -> None:
    """Blocking or not, as an error that both libraries' users understand; the new owner's offset stays."""
    outcomes: list[Outcome] = []
    old = world.owner(with_outcomes(outcomes))
    old.read(20 - len(old.records))
    new = world.join()
    world.settle(old, new)
    record = next(r for r in old.records if number_of(r) in new.owned)
    assert old.consumer.owner_epoch(record) is None
    with pytest.raises(NotOwnedError) as caught:
        old.consumer.commit(record, asynchronous=False)
    assert isinstance(caught.value, KafkaException)
    assert caught.value.args[0].code() == KafkaError._ASSIGNMENT_LOST
    old.consumer.commit(record)
    eventually(lambda: (old.poll(), outcomes)[1], "an outcome")
    assert [error.code() for error, _, _ in outcomes if error] == [KafkaError._ASSIGNMENT_LOST]
    assert world.committed() == {}


def test_commits_go_on_while_members_come_and_go(world: World) -> None:
    """Each rebalance makes epochs stale under commits of a partition that stays; all of them are accepted in the end."""
    reader = world.owner()
    kept = min(reader.owned)
    stop, errors = threading.Event(), list[BaseException]()

    def commit() -> int:
        for offset in range(1, 100_000):
            if stop.is_set():
                return offset - 1
            try:
                reader.consumer.commit(offsets=[world.place(kept, offset)], asynchronous=False)
            except KafkaException as error:
                errors.append(error)
        return -1

    with in_thread(commit) as last:
        for _ in range(3):
            come_and_go(world, reader)
        stop.set()
    assert errors == []
    assert world.committed() == {kept: last[0]}


def come_and_go(world: World, reader: Reader) -> None:
    other = world.join()
    world.settle(reader, other)
    other.consumer.close()
    world.settle(reader)
