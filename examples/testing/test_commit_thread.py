"""A thread commits twice a second what is done. The bug: it goes on with partitions that were revoked meanwhile."""

import contextlib
import threading

import pytest
from confluent_kafka import KafkaException, TopicPartition

from membership_client.testing import StoryError, explore


class Committer:
    def __init__(self, consumer, process):
        self.consumer = consumer
        self.process = process
        self.lock = threading.Lock()
        self.done = {}
        self.ended = threading.Event()

    def commit_regularly(self):
        while not self.ended.wait(0.5):
            with self.lock:  # Held while it commits: a revoke that began meanwhile waits for it.
                self.commit(list(self.done))

    def commit(self, places):
        offsets = [TopicPartition(*place, self.done.pop(place)) for place in places if place in self.done]
        if offsets:
            with contextlib.suppress(KafkaException):  # Removed from the group: the next owner reads them again.
                self.consumer.commit(offsets=offsets, asynchronous=False)

    def on_revoke(self, consumer, partitions):
        with self.lock:
            self.commit([(p.topic, p.partition) for p in partitions])

    def on_lost(self, consumer, partitions):
        with self.lock:
            for partition in partitions:
                self.done.pop((partition.topic, partition.partition), None)

    def run(self):
        self.consumer.subscribe(["orders"], on_revoke=self.on_revoke, on_lost=self.on_lost)
        thread = threading.Thread(target=self.commit_regularly)
        thread.start()
        try:
            while True:
                message = self.consumer.poll(1.0)
                if message is not None:
                    self.process(message)
                    with self.lock:
                        self.done[message.topic(), message.partition()] = message.offset() + 1
        finally:
            self.consumer.close()
            self.ended.set()
            thread.join()


class CommitterWithBug(Committer):
    def on_revoke(self, consumer, partitions):
        """The thread commits soon: but by then the partitions are another member's."""


CONFIG = {"enable.auto.commit": False, "auto.offset.reset": "earliest"}


def program(instance):
    Committer(instance.consumer(CONFIG), instance.processed).run()


def program_with_bug(instance):
    CommitterWithBug(instance.consumer(CONFIG), instance.processed).run()


def test_no_story_breaks_it():
    explore(program, seeds=10)


def test_the_bug_is_found():
    with pytest.raises(StoryError):
        explore(program_with_bug)
