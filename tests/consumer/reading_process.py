"""A consumer in a process of its own, to be stopped, killed and signalled by tests.

Takes one JSON argument: `config`, `topic`, `style` (how it reads and commits) and `diary`, a file to which it appends
a JSON line for every callback and every record, with the time of the machine's clock that all processes share.
SIGUSR1 has it keep the interpreter to itself until there is a line of input.
"""

from __future__ import annotations

import asyncio
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

from membership_client import CallbackContext, Consumer, aio

Places = list[confluent_kafka.TopicPartition]


class Diary:
    """Each line is one write, so that a kill leaves whole lines."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, kind: str, partitions: list[int], at: float | None = None, **facts: Any) -> None:
        line = {"at": time.monotonic() if at is None else at, "kind": kind, "partitions": partitions, **facts}
        os.write(self._file, (json.dumps(line) + "\n").encode())

    def on_assign(self, _: Any, places: Places, context: CallbackContext) -> None:
        self.note("assign", [place.partition for place in places], epoch=context.epoch)

    def on_revoke(self, _: Any, places: Places) -> None:
        self.note("revoke", [place.partition for place in places])

    def on_lost(self, _: Any, places: Places) -> None:
        self.note("lost", [place.partition for place in places])

    def records(self, consumer: Consumer | aio.Consumer, messages: list[Message]) -> None:
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


def read_until(going: list[int], config: dict[str, Any], topic: str, style: str, diary: Diary) -> None:
    read, commit = STYLES[style]

    def on_revoke(consumer: Consumer, places: Places) -> None:
        if commit is not never:
            at_once(consumer, [])
        diary.on_revoke(consumer, places)

    with Consumer({**config, "enable.auto.commit": commit is never}) as consumer:
        consumer.subscribe([topic], diary.on_assign, on_revoke, diary.on_lost)
        while not going:
            messages = read(consumer)
            diary.records(consumer, messages)
            if messages:
                commit(consumer, messages)


BUSY_LOOP = "asyncio on a busy loop"


async def read_on_a_busy_loop(going: list[int], config: dict[str, Any], topic: str, diary: Diary) -> None:
    """Records are ready for the coroutine long before it is its turn."""
    async with aio.Consumer(config) as consumer:
        consumer.subscribe([topic], diary.on_assign, diary.on_revoke, diary.on_lost)
        others = asyncio.create_task(keep_busy())
        while not going:
            diary.records(consumer, await consumer.getmany(max_records=100))
        others.cancel()


async def keep_busy() -> None:
    while True:
        time.sleep(0.05)  # noqa: ASYNC251 - as others' work would
        await asyncio.sleep(0)


def main() -> None:
    task = json.loads(sys.argv[1])
    diary, config, topic, style = Diary(task["diary"]), task["config"], task["topic"], task["style"]
    going: list[int] = []
    signal.signal(signal.SIGTERM, lambda *_: going.append(1))
    signal.signal(signal.SIGUSR1, lambda *_: hold_the_interpreter())
    if style == BUSY_LOOP:
        asyncio.run(read_on_a_busy_loop(going, config, topic, diary))
    else:
        read_until(going, config, topic, style, diary)
    diary.note("closed", [])


if __name__ == "__main__":
    main()
