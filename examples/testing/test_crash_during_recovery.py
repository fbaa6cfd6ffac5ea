"""A journal of what must still be sent, read again after a crash. The bug: a second crash, while it is read, loses the rest."""

import time

import pytest

from membership_client.testing import Crash, Join, StoryError, at_least_once_in, explore


class Mails:
    """Mails are sent after the commit, so what the commit has promised is in the journal first."""

    def __init__(self, consumer, journal, sent):
        self.consumer = consumer
        self.journal = journal
        self.sent = sent

    def send(self, value):
        time.sleep(0.2)
        self.sent.append(value)

    def on_assign(self, consumer, partitions):
        for partition in partitions:
            self.recover(self.journal.setdefault(partition.partition, []))

    def recover(self, unsent):
        while unsent:
            self.send(unsent[0])
            unsent.pop(0)  # Only now: a crash before it sends the mail twice, which is better than never.

    def run(self):
        self.consumer.subscribe(["orders"], on_assign=self.on_assign)
        try:
            while True:
                messages = self.consumer.consume(5, 1.0)
                for message in messages:
                    self.journal[message.partition()].append(message.value())
                    self.consumer.commit(message, asynchronous=False)
                for number in {message.partition() for message in messages}:
                    self.recover(self.journal[number])
        finally:
            self.consumer.close()


class MailsWithBug(Mails):
    def recover(self, unsent):
        values = list(unsent)
        unsent.clear()
        for value in values:
            self.send(value)


CONFIG = {"enable.auto.commit": False, "auto.offset.reset": "earliest"}


def program(instance):
    Mails(
        instance.consumer(CONFIG), instance.durable.setdefault("journal", {}), instance.durable.setdefault("sent", [])
    ).run()


def program_with_bug(instance):
    MailsWithBug(
        instance.consumer(CONFIG), instance.durable.setdefault("journal", {}), instance.durable.setdefault("sent", [])
    ).run()


def sent(durable):
    return durable["sent"]


def test_no_story_breaks_it():
    explore(program, events=[Join, Crash], checks=[at_least_once_in(sent)], seeds=10)


def test_the_bug_is_found():
    with pytest.raises(StoryError, match="is missing in the output"):
        explore(program_with_bug, events=[Join, Crash], checks=[at_least_once_in(sent)])
