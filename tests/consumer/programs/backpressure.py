"""Pauses a partition while its queue is full, goes on polling, and resumes it once the queue is worked off."""
# ruff: noqa: T201 - printing is its job

import json
import sys
from collections import defaultdict, deque

import confluent_kafka
from confluent_kafka import Consumer

RECORDS = 300
FULL = 30


def main() -> None:
    servers, group, topic = sys.argv[1:]
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    queues: defaultdict[int, deque[int]] = defaultdict(deque)
    paused: set[int] = set()
    done: defaultdict[int, list[int]] = defaultdict(list)
    pauses = 0
    while sum(map(len, done.values())) < RECORDS:
        # With all of them paused this is how the program stays in the group.
        message = consumer.poll(1.5)
        if message is None:
            work_off(queues, done)
            consumer.resume([confluent_kafka.TopicPartition(topic, number) for number in paused])
            paused.clear()
            continue
        number, offset = message.partition(), message.offset()
        assert message.error() is None
        assert number is not None
        assert offset is not None
        assert number not in paused
        queues[number].append(offset)
        if len(queues[number]) >= FULL:
            consumer.pause([confluent_kafka.TopicPartition(topic, number)])
            paused.add(number)
            pauses += 1
    consumer.close()
    print(pauses, json.dumps(done, sort_keys=True))


def work_off(queues: defaultdict[int, deque[int]], done: defaultdict[int, list[int]]) -> None:
    for number, queue in queues.items():
        done[number] += queue
        queue.clear()


if __name__ == "__main__":
    main()
