"""A consumer in a process of its own, to be stopped, killed and signalled by tests.

Takes one JSON argument: `config`, `topic`, `style` (how it reads and commits) and `diary`, a file to which it appends
a JSON line for every callback and every record, with the time of the machine's clock that all processes share.
SIGUSR1 has it keep the interpreter to itself until there is a line of input.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaException, Message

from membership_client import CallbackContext, Consumer

Places = list[confluent_kafka.TopicPartition]


class Diary:
    """Each line is one write, so that a kill leaves whole lines."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, kind: str, partitions: list[int], at: float | None = None, **facts: Any) -> None:
        line = {"at": time.monotonic() if at is None else at, "kind": kind, "partitions": partitions, **facts}
        os.write(self._file, (json.dumps(line) + "\n").encode())

    def records(self, consumer: Consumer, messages: list[Message]) -> None:
        """All were handed out now, should the process be stopped while it writes."""
        handed_out_at = time.monotonic()
        for message in messages:
            assert message.error() is None, message.error()
            number = message.partition()
            assert number is not None
            epoch = consumer.owner_epoch(message)
            self.note("record", [number], handed_out_at, offset=message.offset(), epoch=epoch)


def poll(consumer: Consumer) -> list[Message]:
    message = consumer.poll(0.2)
    return [] if message is None else [message]


def consume(consumer: Consumer) -> list[Message]:
    return consumer.consume(40, 0.2)


def never(consumer: Consumer, messages: list[Message]) -> None:
    """It commits by itself."""


def each(consumer: Consumer, messages: list[Message]) -> None:
    for message in messages:
        consumer.commit(message)


def at_once(consumer: Consumer, messages: list[Message]) -> None:
    """A refusal means that others will read these records again."""
    with contextlib.suppress(KafkaException):
        consumer.commit(asynchronous=False)


Read = Callable[[Consumer], list[Message]]
Commit = Callable[[Consumer, list[Message]], None]
STYLES: dict[str, tuple[Read, Commit]] = {
    "poll and auto-commit": (poll, never),
    "poll and commit each": (poll, each),
    "consume and auto-commit": (consume, never),
    "consume and commit at once": (consume, at_once),
}


def hold_the_interpreter() -> None:
    """Calls into a PyDLL keep the lock that all threads need."""
    ctypes.PyDLL(None).read(sys.stdin.fileno(), ctypes.create_string_buffer(1), 1)


def main() -> None:
    task = json.loads(sys.argv[1])
    diary, (read, commit) = Diary(task["diary"]), STYLES[task["style"]]

    def on_assign(_: Consumer, places: Places, context: CallbackContext) -> None:
        diary.note("assign", [place.partition for place in places], epoch=context.epoch)

    def on_revoke(consumer: Consumer, places: Places) -> None:
        if commit is not never:
            at_once(consumer, [])
        diary.note("revoke", [place.partition for place in places])

    def on_lost(_: Consumer, places: Places) -> None:
        diary.note("lost", [place.partition for place in places])

    going: list[int] = []
    signal.signal(signal.SIGTERM, lambda *_: going.append(1))
    signal.signal(signal.SIGUSR1, lambda *_: hold_the_interpreter())
    with Consumer({**task["config"], "enable.auto.commit": commit is never}) as consumer:
        consumer.subscribe([task["topic"]], on_assign, on_revoke, on_lost)
        while not going:
            messages = read(consumer)
            diary.records(consumer, messages)
            if messages:
                commit(consumer, messages)
    diary.note("closed", [])


if __name__ == "__main__":
    main()
