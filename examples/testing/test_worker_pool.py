"""Records of one key in order, keys in parallel on threads. The bug: a revoke does not wait for the threads."""

from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from confluent_kafka import TopicPartition

from membership_client.testing import StoryError, explore

LANES = 3


class Pool:
    def __init__(self, consumer, process):
        self.consumer = consumer
        self.process = process
        self.lanes = [ThreadPoolExecutor(1) for _ in range(LANES)]
        self.running = {}

    def submit(self, message):
        lane = self.lanes[sum(message.key()) % LANES]
        work = self.running.setdefault((message.topic(), message.partition()), {})
        work[message.offset()] = lane.submit(self.process, message)

    def commit_done(self):
        """Up to the first record that is not done."""
        offsets = []
        for (topic, number), work in self.running.items():
            end = None
            for offset in sorted(work):
                if not work[offset].done():
                    break
                end = offset + 1
                del work[offset]
            if end is not None:
                offsets.append(TopicPartition(topic, number, end))
        if offsets:
            self.consumer.commit(offsets=offsets, asynchronous=False)

    def on_revoke(self, consumer, partitions):
        for partition in partitions:
            wait(self.running.get((partition.topic, partition.partition), {}).values())
        self.commit_done()

    def on_lost(self, consumer, partitions):
        for partition in partitions:
            gone = self.running.pop((partition.topic, partition.partition), {}).values()
            wait([work for work in gone if not work.cancel()])

    def run(self):
        self.consumer.subscribe(["orders"], on_revoke=self.on_revoke, on_lost=self.on_lost)
        try:
            while True:
                message = self.consumer.poll(0.5)
                if message is not None:
                    self.submit(message)
                self.commit_done()
        finally:
            self.consumer.close()
            for lane in self.lanes:
                lane.shutdown()


class PoolWithBug(Pool):
    def on_revoke(self, consumer, partitions):
        self.commit_done()  # The threads go on with the rest, beside the next owner.
        for partition in partitions:
            self.running.pop((partition.topic, partition.partition), None)


CONFIG = {"enable.auto.commit": False, "auto.offset.reset": "earliest"}


def program(instance):
    Pool(instance.consumer(CONFIG), instance.processed).run()


def program_with_bug(instance):
    PoolWithBug(instance.consumer(CONFIG), instance.processed).run()


def test_no_story_breaks_it():
    explore(program, seeds=10)


def test_the_bug_is_found():
    with pytest.raises(StoryError, match="processed after its partition was revoked"):
        explore(program_with_bug)
