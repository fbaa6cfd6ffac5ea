"""Consume, transform, produce, in transactions, until killed: a process for tests.

Takes one JSON argument: `servers`, `group`, `source`, `target`, `transactional_id`, and `halt`, a phase and the number of
the transaction that stops in it until a line comes in; `more` is configuration for both clients, `batch` the size of a
transaction. Prints a JSON line for all that happens, and where it stands when it gets SIGUSR1.
"""

from __future__ import annotations

import faulthandler
import itertools
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition

from membership_client import Consumer

BATCH = 25
DELIVERY_S = 30.0
"""Brokers that end a transaction for its age can leave a producer waiting for ever: who waits longer begins anew."""


def say(kind: str, **facts: Any) -> None:
    os.write(1, (json.dumps({"kind": kind, **facts}) + "\n").encode())


def insist(step: Callable[[], object]) -> None:
    """A step of a transaction may take longer than a call waits, if the brokers are away: the same call goes on with it."""
    while True:
        try:
            step()
        except KafkaException as error:
            if not error.args[0].retriable():
                raise
        else:
            return


class Transformer:
    """Make one output record of every input record, or read it again."""

    def __init__(self, task: dict[str, Any]) -> None:
        self._target: str = task["target"]
        self._halt = tuple(task["halt"] or ())
        self._batch = task.get("batch", BATCH)
        self._number = itertools.count()
        common = {"bootstrap.servers": task["servers"], "log_level": 0, **task.get("more", {})}
        config = {"group.id": task["group"], "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        self._consumer = Consumer(common | config)
        self._producing = common | {"transactional.id": task["transactional_id"]}
        self._producer = self._new_producer()
        self._consumer.subscribe([task["source"]])

    def _new_producer(self) -> Producer:
        producer = Producer(self._producing)
        # A predecessor's transaction ends here, if it died in one.
        insist(producer.init_transactions)
        return producer

    def run(self) -> None:
        while True:
            batch = self._consumer.consume(self._batch, 0.2)
            if batch:
                self._transform(batch, next(self._number))

    def _transform(self, batch: list[Message], number: int) -> None:
        self._producer.begin_transaction()
        self._reach("begun", number)
        for message in batch:
            assert message.error() is None, message.error()
            self._producer.produce(self._target, message.value())
        if self._producer.flush(DELIVERY_S):
            self._begin_anew(batch, "not delivered")
            return
        self._reach("produced", number)
        try:
            who = self._consumer.consumer_group_metadata()
            # Once, and not by insist(): after a stop of brokers four producers waited here for minutes on a busy machine.
            self._producer.send_offsets_to_transaction(_ends(batch), who, DELIVERY_S)
            self._reach("sent", number)
            insist(self._producer.commit_transaction)
        except KafkaException as refusal:
            if not (refusal.args[0].txn_requires_abort() or refusal.args[0].retriable()):
                raise
            self._begin_anew(batch, refusal.args[0].name())
        else:
            self._reach("committed", number)

    def _begin_anew(self, batch: list[Message], why: str) -> None:
        """What is still ours is read again; what is not, its new owner reads."""
        try:
            insist(self._producer.abort_transaction)
        except KafkaException as end:
            # A transaction that brokers have ended for its age can be the end of a producer; who is fenced has a successor.
            if not end.args[0].fatal() or end.args[0].code() == KafkaError._FENCED:
                raise
            self._producer = self._new_producer()
        ours = {(place.topic, place.partition) for place in self._consumer.assignment()}
        for place in _starts(batch):
            if (place.topic, place.partition) in ours:
                self._consumer.seek(place)
        say("refused", code=why)

    def _reach(self, phase: str, number: int) -> None:
        say(phase)
        if (phase, number) == self._halt:
            say("halted")
            sys.stdin.readline()


def _starts(batch: list[Message]) -> list[TopicPartition]:
    """The first offset of each partition: the batch is reversed, so that earlier records replace later ones."""
    return list({message.partition(): _place(message, 0) for message in reversed(batch)}.values())


def _ends(batch: list[Message]) -> list[TopicPartition]:
    """The offset after the last record of each partition."""
    return list({message.partition(): _place(message, 1) for message in batch}.values())


def _place(message: Message, after: int) -> TopicPartition:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    return confluent_kafka.TopicPartition(topic, partition, offset + after)


if __name__ == "__main__":
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    Transformer(json.loads(sys.argv[1])).run()
