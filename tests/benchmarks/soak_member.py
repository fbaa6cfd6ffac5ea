"""Consumers in a process of their own, each on a thread, until SIGTERM: for `soak.py`.

Takes one JSON argument, a list of `name`, `config`, `topic`, `diary`. Each consumer appends a JSON line to its diary for
every callback, every stretch of records and every accepted commit (`report`, if it was an automatic one), with the time of
the clock that all processes share.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, Message

from membership_client import CallbackContext, Consumer

Places = list[confluent_kafka.TopicPartition]
BATCH = 40


class Life:
    """One consumer."""

    def __init__(self, task: dict[str, Any]) -> None:
        self._task = task
        self._commits = not task["config"].get("enable.auto.commit", True)
        self._file = os.open(task["diary"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def live(self, leaves: threading.Event) -> None:
        hears = {} if self._commits else {"on_commit": self._on_commit}
        with Consumer(self._task["config"], **hears) as consumer:
            hooks = (self._hook("assign"), self._hook("revoke"), self._hook("lost"))
            consumer.subscribe([self._task["topic"]], *hooks)
            while not leaves.is_set():
                self._read(consumer)
        self.note("closed", [])

    def _read(self, consumer: Consumer) -> None:
        began_at, age_s = time.monotonic(), consumer.snapshot.heartbeat_age_s
        if self.note_read(self._take(consumer), began_at, age_s) and self._commits:
            self._commit(consumer)

    def _take(self, consumer: Consumer) -> list[Message]:
        return consumer.consume(BATCH, 0.2)

    def note_read(self, batch: list[Message], began_at: float, age_s: float | None) -> bool:
        """Whether there were records. `began_at` is when they were asked for, `age_s` that of the last heartbeat then."""
        at = time.monotonic()
        read = _stretches([message for message in batch if message.error() is None])
        facts = {"at": at, "began_at": began_at, "confirmed_at": 0.0 if age_s is None else began_at - age_s}
        for partition, first, count in read:
            self.note("read", [partition], **facts, offset=first, count=count)
        return bool(read)

    def _commit(self, consumer: Consumer) -> None:
        """A refusal means that others will read these records again."""
        began_at = time.monotonic()
        with contextlib.suppress(KafkaException):
            for place in consumer.commit(asynchronous=False) or []:
                self.note("commit", [place.partition], began_at=began_at, offset=place.offset)

    def _on_commit(self, error: KafkaError | None, places: Places) -> None:
        for place in places if error is None else []:
            self.note("report", [place.partition], offset=place.offset)

    def _hook(self, kind: str) -> Callable[[Consumer, Places, CallbackContext], None]:
        def hook(consumer: Consumer, places: Places, context: CallbackContext) -> None:
            if kind == "revoke" and self._commits:
                self._commit(consumer)
            self.note(kind, [place.partition for place in places], epoch=context.epoch)

        return hook

    def note(self, kind: str, partitions: list[int], **facts: Any) -> None:
        """One write, so that a kill leaves whole lines."""
        line = {"at": time.monotonic(), "kind": kind, "partitions": partitions, **facts}
        os.write(self._file, (json.dumps(line) + "\n").encode())


def _stretches(batch: list[Message]) -> list[tuple[int, int, int]]:
    """Partition, first offset and count of records that follow each other, in the order in which they came."""
    found: list[tuple[int, int, int]] = []
    newest: dict[int, int] = {}
    for message in batch:
        number, offset = message.partition(), message.offset()
        assert number is not None
        assert offset is not None
        _, first, count = found[newest[number]] if number in newest else (number, offset, 0)
        if count and first + count == offset:
            found[newest[number]] = (number, first, count + 1)
        else:
            newest[number] = len(found)
            found.append((number, offset, 1))
    return found


def _live_or_die(life: Life, leaves: threading.Event) -> None:
    """One that fails takes its process along, as in most deployments."""
    try:
        life.live(leaves)
    except BaseException:  # noqa: BLE001 - it is told, and the process ends
        traceback.print_exc()
        os._exit(3)


def main() -> None:
    leaves = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: leaves.set())
    lives = [Life(task) for task in json.loads(sys.argv[1])]
    threads = [threading.Thread(target=_live_or_die, args=(life, leaves)) for life in lives]
    for thread in threads:
        thread.start()
    for thread in threads:
        # In slices: a signal that another thread was given is handled when this one wakes.
        while thread.is_alive():
            thread.join(1.0)


if __name__ == "__main__":
    main()
