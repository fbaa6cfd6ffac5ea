"""Counts orders per customer, with a checkpoint of counts and offset together. The bug: old counts are kept in memory."""

from collections import Counter

import pytest
from confluent_kafka import TopicPartition

from membership_client.testing import StoryError, explore, no_commit_after_loss, nothing_processed_after_revoke


class Counts:
    """Where to go on is part of the checkpoint, so nothing is committed to Kafka."""

    def __init__(self, owner, consumer, process, checkpoints):
        self.owner = owner
        self.consumer = consumer
        self.process = process
        self.checkpoints = checkpoints
        self.counts = {}
        self.next_offset = {}

    def on_assign(self, consumer, partitions):
        for partition in partitions:
            self.load(partition.partition)
        starts = [TopicPartition(p.topic, p.partition, self.next_offset[p.partition]) for p in partitions]
        consumer.incremental_assign(starts)

    def load(self, number):
        counts, offset, _ = self.checkpoints.get(number, (Counter(), 0, None))
        self.counts[number], self.next_offset[number] = Counter(counts), offset
        self.checkpoints[number] = counts, offset, self.owner  # From now on, no other member may write it.

    def on_revoke(self, consumer, partitions):
        for partition in partitions:
            self.save(partition.partition)

    def on_lost(self, consumer, partitions):
        """The checkpoint belongs to another member now. What we have in memory is thrown away by the next `load`."""

    def save(self, number):
        _, _, owner = self.checkpoints[number]
        if owner is self.owner:  # Otherwise this process was away, and another member has taken the partition over.
            self.checkpoints[number] = Counter(self.counts[number]), self.next_offset[number], self.owner

    def run(self):
        self.consumer.subscribe(["orders"], on_assign=self.on_assign, on_revoke=self.on_revoke, on_lost=self.on_lost)
        try:
            while True:
                message = self.consumer.poll(1.0)
                if message is not None:
                    self.take(message)
        finally:
            self.consumer.close()

    def take(self, message):
        number = message.partition()
        self.process(message)
        self.counts[number][message.key()] += 1
        self.next_offset[number] = message.offset() + 1
        if message.offset() % 5 == 4:
            self.save(number)


class CountsWithBug(Counts):
    def load(self, number):
        counts, offset, _ = self.checkpoints.get(number, (Counter(), 0, None))
        self.counts.setdefault(number, Counter(counts))  # Kept since the last time: records count twice.
        self.next_offset[number] = offset
        self.checkpoints[number] = counts, offset, self.owner


CONFIG = {"enable.auto.commit": False, "auto.offset.reset": "earliest"}


def program(instance):
    checkpoints = instance.durable.setdefault("checkpoints", {})
    Counts(instance, instance.consumer(CONFIG), instance.processed, checkpoints).run()


def program_with_bug(instance):
    checkpoints = instance.durable.setdefault("checkpoints", {})
    CountsWithBug(instance, instance.consumer(CONFIG), instance.processed, checkpoints).run()


def counts_are_right(history):
    counted = sum((counts for counts, *_ in history.durable["checkpoints"].values()), Counter())
    assert counted == Counter(record.key for record in history.records), "The counts are wrong."


CHECKS = [nothing_processed_after_revoke, no_commit_after_loss, counts_are_right]


def test_no_story_breaks_it():
    explore(program, checks=CHECKS, seeds=10)


def test_the_bug_is_found():
    with pytest.raises(StoryError, match="counts"):
        explore(program_with_bug, checks=CHECKS)
