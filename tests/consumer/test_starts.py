"""Where partitions start: librdkafka is given numbers, because it looks up logical offsets later, by itself."""

from __future__ import annotations

import contextlib

import confluent_kafka
import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END

from membership_client.consumer.callback_queue import Call
from membership_client.consumer.committer import Committer
from membership_client.consumer.fetch_assignment import FetchAssignment
from membership_client.consumer.hooks import no_hook
from membership_client.consumer.librdkafka import Librdkafka, Reports
from membership_client.consumer.monitor import Inside, LibrdkafkaLock
from membership_client.consumer.pending_offsets import PendingOffsets
from membership_client.consumer.settings import settings_of
from membership_client.consumer.start_offsets import look_up
from membership_client.core.events import CallbackKind, RunCallback
from membership_client.types import Cause, CauseKind, Offset, TopicPartition
from tests.consumer.conftest import NewWorld
from tests.integration.members import PATIENCE_S

pytestmark = pytest.mark.kafka


def test_a_share_that_goes_at_once_and_comes_back_is_read_from_its_commit(new_world: NewWorld) -> None:
    """A bug that the soak found: it was read from the beginning again, by a look-up that outlived the first assignment."""
    world = new_world(partitions=2)
    world.produce(60)
    settings = settings_of(world.config())
    raw = confluent_kafka.Consumer(settings.fetcher)
    pending = PendingOffsets(raw.position, auto_store=True)
    committer = Committer(lambda *_: None, lambda _: {}, "unused")
    path = FetchAssignment(Librdkafka(raw, LibrdkafkaLock(Inside()), Reports()), pending, committer, settings)
    other, place = TopicPartition(world.topic, 0), TopicPartition(world.topic, 1)
    with contextlib.closing(raw):
        # Until a record of the topic came its leaders are unknown, so no broker is asked for an offset.
        path.assigned(_call(CallbackKind.ASSIGNED, other), {other: Offset(59)}, {}, no_hook)
        assert raw.poll(PATIENCE_S) is not None
        path.assigned(_call(CallbackKind.ASSIGNED, place), None, {}, no_hook)
        path.lost(_call(CallbackKind.LOST, place), no_hook)
        path.assigned(_call(CallbackKind.ASSIGNED, place), {place: Offset(40)}, {}, no_hook)
        read = [raw.poll(PATIENCE_S) for _ in range(20)]
        # The second look-up of librdkafka comes half a second after the first has been answered.
        assert raw.poll(2.0) is None
    assert [message.offset() for message in read if message] == list(range(40, 60))


def test_brokers_tell_where_a_partition_begins_and_ends(new_world: NewWorld) -> None:
    """For what was never committed; of topics that are not there, nothing is said."""
    world = new_world(partitions=1)
    world.produce(60)
    place, nowhere = TopicPartition(world.topic, 0), TopicPartition(f"{world.topic}-not-there", 0)
    with contextlib.closing(confluent_kafka.Consumer(settings_of(world.config()).fetcher)) as raw:
        first, last = (look_up(raw, [place], start) for start in (OFFSET_BEGINNING, OFFSET_END))
        assert look_up(raw, [nowhere], OFFSET_BEGINNING) == {}
    assert [found.offset for found in (first[place], last[place]) if found] == [0, 60]


def _call(kind: CallbackKind, place: TopicPartition) -> Call:
    cause = Cause(CauseKind.FENCED, "")
    wanted = RunCallback(
        call_id=1, kind=kind, partitions=(place,), epoch=1, cause=cause, deadline=None, provisional=False
    )
    return Call(wanted, lambda _: None)
