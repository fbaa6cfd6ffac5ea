"""Pauses reading while much work waits. The bug: only the newest partitions are resumed, and the others never read again."""

import pytest

from membership_client.testing import StoryError, explore

MOST_WAITING = 3


class Queue:
    def __init__(self, consumer, process):
        self.consumer = consumer
        self.process = process
        self.waiting = []
        self.assigned = []
        self.paused = False

    def on_assign(self, consumer, partitions):
        self.assigned += partitions  # What is new: the others stay.
        if self.paused:
            consumer.pause(partitions)

    def on_gone(self, consumer, partitions):
        self.assigned = [p for p in self.assigned if p not in partitions]
        gone = {(p.topic, p.partition) for p in partitions}
        self.waiting = [m for m in self.waiting if (m.topic(), m.partition()) not in gone]

    def run(self):
        self.consumer.subscribe(["orders"], on_assign=self.on_assign, on_revoke=self.on_gone, on_lost=self.on_gone)
        try:
            while True:
                # Not `self.waiting += consume(...)`: Python would read the list before on_gone, inside consume, replaces it.
                messages = self.consumer.consume(5, timeout=0.0 if self.waiting else 1.0)
                self.waiting += messages
                if len(self.waiting) >= MOST_WAITING and not self.paused:
                    self.consumer.pause(self.assigned)
                    self.paused = True
                elif self.waiting:
                    self.work(self.waiting.pop(0))
                elif self.paused:
                    self.consumer.resume(self.assigned)
                    self.paused = False
        finally:
            self.consumer.close()

    def work(self, message):
        self.process(message)
        self.consumer.commit(message, asynchronous=False)


class QueueWithBug(Queue):
    def on_assign(self, consumer, partitions):
        self.assigned = partitions  # Right for the eager protocol, where each rebalance assigns everything anew.
        if self.paused:
            consumer.pause(partitions)


CONFIG = {"enable.auto.commit": False, "auto.offset.reset": "earliest"}


def program(instance):
    Queue(instance.consumer(CONFIG), instance.processed).run()


def program_with_bug(instance):
    QueueWithBug(instance.consumer(CONFIG), instance.processed).run()


def test_no_story_breaks_it():
    explore(program, seeds=10)


def test_the_bug_is_found():
    with pytest.raises(StoryError, match="is missing in the output"):
        explore(program_with_bug)
