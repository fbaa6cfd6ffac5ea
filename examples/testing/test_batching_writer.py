"""Writes records in batches, and commits after each. The bug: a revoke commits what is still in the batch."""

import time

import pytest
from confluent_kafka import TopicPartition

from membership_client.testing import StoryError, explore

BATCH = 5
LONGEST_S = 1.0


class Writer:
    def __init__(self, consumer, write):
        self.consumer = consumer
        self.write = write
        self.batch = []
        self.began = time.monotonic()

    def flush(self):
        for message in self.batch:
            self.write(message)
        ends = {(m.topic(), m.partition()): m.offset() + 1 for m in self.batch}
        self.batch, self.began = [], time.monotonic()
        if ends:
            offsets = [TopicPartition(topic, number, offset) for (topic, number), offset in ends.items()]
            self.consumer.commit(offsets=offsets, asynchronous=False)

    def on_revoke(self, consumer, partitions):
        self.flush()

    def on_lost(self, consumer, partitions):
        gone = {(p.topic, p.partition) for p in partitions}
        self.batch = [m for m in self.batch if (m.topic(), m.partition()) not in gone]

    def run(self):
        self.consumer.subscribe(["orders"], on_revoke=self.on_revoke, on_lost=self.on_lost)
        try:
            while True:
                message = self.consumer.poll(0.2)
                if message is not None:
                    self.batch.append(message)
                if len(self.batch) >= BATCH or time.monotonic() - self.began > LONGEST_S:
                    self.flush()
        finally:
            self.consumer.close()


class WriterWithBug(Writer):
    def on_revoke(self, consumer, partitions):
        gone = {(p.topic, p.partition) for p in partitions}
        positions = [p for p in consumer.position(partitions) if p.offset >= 0]
        if positions:
            consumer.commit(offsets=positions, asynchronous=False)  # The position is behind the records of the batch...
        self.batch = [m for m in self.batch if (m.topic(), m.partition()) not in gone]  # ...which are never written.


CONFIG = {"enable.auto.commit": False, "auto.offset.reset": "earliest"}


def program(instance):
    Writer(instance.consumer(CONFIG), instance.processed).run()


def program_with_bug(instance):
    WriterWithBug(instance.consumer(CONFIG), instance.processed).run()


def test_no_story_breaks_it():
    explore(program, seeds=10)


def test_the_bug_is_found():
    with pytest.raises(StoryError, match="is missing in the output"):
        explore(program_with_bug)
