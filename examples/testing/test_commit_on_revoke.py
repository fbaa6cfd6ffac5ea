"""Commits every five records and when a partition is revoked. The bug: partitions that are lost are committed, too."""

import pytest
from confluent_kafka import TopicPartition

from membership_client.testing import StoryError, explore


class Orders:
    def __init__(self, consumer, process):
        self.consumer = consumer
        self.process = process
        self.done = {}

    def on_revoke(self, consumer, partitions):
        offsets = [self.done.pop(p) for p in partitions if p in self.done]
        if offsets:
            consumer.commit(offsets=offsets, asynchronous=False)

    def on_lost(self, consumer, partitions):
        for partition in partitions:  # Others own them: what we know of them is worth nothing.
            self.done.pop(partition, None)

    def subscribe(self):
        self.consumer.subscribe(["orders"], on_revoke=self.on_revoke, on_lost=self.on_lost)

    def run(self):
        self.subscribe()
        try:
            while True:
                message = self.consumer.poll(1.0)
                if message is None:
                    continue
                self.process(message)
                self.done[partition_of(message)] = partition_of(message, message.offset() + 1)
                if message.offset() % 5 == 4:
                    self.consumer.commit(offsets=list(self.done.values()))
        finally:
            self.consumer.close()


class OrdersWithBug(Orders):
    def subscribe(self):
        # Without on_lost, confluent-kafka calls on_revoke for lost partitions, and that commits.
        self.consumer.subscribe(["orders"], on_revoke=self.on_revoke)


def partition_of(message, *offset):
    return TopicPartition(message.topic(), message.partition(), *offset)


CONFIG = {"enable.auto.commit": False, "auto.offset.reset": "earliest"}


def program(instance):
    Orders(instance.consumer(CONFIG), instance.processed).run()


def program_with_bug(instance):
    OrdersWithBug(instance.consumer(CONFIG), instance.processed).run()


def test_no_story_breaks_it():
    explore(program, seeds=10)


def test_the_bug_is_found():
    with pytest.raises(StoryError, match="committed after its partition was revoked or lost"):
        explore(program_with_bug)
