"""A member with a trace, in a process of its own, that misbehaves as told.

Its argument is JSON: `config`, `topic`, `consumes` (a Consumer and not a GroupMember), `slow` (seconds that a callback of
each kind takes), `fails` (callbacks that raise), `fails_from` (the first partition for which they do), `work_s` (seconds
that a record takes; one whose value is `poison` takes `poison_s`), `close_s` (seconds that a close may take), `clock_s`
(by how much its clock is fast), `host` (what it takes for its host's name). Lines of its input are commands.
It prints a line for every change of state.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import sys
import threading
import time
from typing import Any

from membership_client import Consumer, GroupMember, MembershipError, RebalanceListener, TopicPartition
from membership_client.core.machine import Step


def say(kind: str, **facts: Any) -> None:
    os.write(1, (json.dumps({"kind": kind, **facts}) + "\n").encode())


class Misbehaving(RebalanceListener):
    def __init__(self, task: dict[str, Any]) -> None:
        self._slow: dict[str, float] = task["slow"]
        self._fails: list[str] = task["fails"]
        self._fails_from: int = task["fails_from"]

    def on_partitions_assigned(self, partitions: tuple[TopicPartition, ...]) -> None:  # type: ignore[override]
        self._behave("assigned", partitions)

    def on_partitions_revoked(self, partitions: tuple[TopicPartition, ...]) -> None:  # type: ignore[override]
        self._behave("revoked", partitions)

    def on_partitions_lost(self, partitions: tuple[TopicPartition, ...]) -> None:  # type: ignore[override]
        self._behave("lost", partitions)

    def _behave(self, kind: str, partitions: tuple[TopicPartition, ...]) -> None:
        say(kind, partitions=partitions)
        if partitions and kind in self._slow:
            flush_to_the_database(self._slow[kind])
        if kind in self._fails and any(number >= self._fails_from for _, number in partitions):
            raise ConnectionRefusedError("customer 4711 could not be loaded")


def flush_to_the_database(seconds: float) -> None:
    """A name that a diagnosis can be expected to show."""
    threading.Event().wait(seconds)


def say_state(step: Step) -> None:
    member = step.after
    if member.state is not step.before.state or member.owned is not step.before.owned:
        say(
            "state",
            state=member.state.name,
            owned=sorted(member.owned.named(member.names)),
            member=member.identity.member_id,
        )


def hold_the_interpreter(seconds: float) -> None:
    """As a long call into C would, for exactly that long: work hard, and give no other thread a chance."""
    ends_at, interval_s = time.monotonic() + seconds, sys.getswitchinterval()
    used_s = time.process_time()
    sys.setswitchinterval(seconds * 2)
    while time.monotonic() < ends_at:
        pass
    sys.setswitchinterval(interval_s)
    say("blocked", cpu_share=(time.process_time() - used_s) / seconds)


def hold_the_interpreter_in_c(seconds: int) -> None:
    """As an extension that waits without releasing the interpreter's lock: no processor is used."""
    ctypes.PyDLL(None).sleep(seconds)
    say("blocked", cpu_share=0.0)


def obey(member: GroupMember, line: str, close_s: float) -> None:
    command, _, argument = line.strip().partition(" ")
    if command == "block":
        hold_the_interpreter(float(argument))
    elif command == "block-in-c":
        hold_the_interpreter_in_c(int(argument))
    elif command == "subscribe":
        member.subscribe(argument.split())
    elif command == "clock":
        pretend_to_be("", float(argument))
        say("clock")
    elif command == "commit":
        commit(member, argument)
    elif command == "close":
        say("closed", report=str(member.close(reason=argument or None, timeout_s=close_s)))


def commit(member: GroupMember, partition: str) -> None:
    topic, _, number = partition.rpartition("-")
    try:
        member.commit({TopicPartition(topic, int(number)): 1})
    except MembershipError as error:
        say("refused", error=type(error).__name__)


def run_member(task: dict[str, Any]) -> None:
    listener = Misbehaving(task)
    member = GroupMember(task["config"], listener=listener, observers=[say_state])
    member.subscribe([task["topic"]])
    for line in sys.stdin:
        obey(member, line, task["close_s"])
    os._exit(0)  # Its input ended: whatever it was to do is done.


def run_consumer(task: dict[str, Any]) -> None:
    consumer = Consumer({"auto.offset.reset": "earliest", "error_cb": lambda _: None, "log_level": 0} | task["config"])
    consumer.subscribe([task["topic"]], listener=Misbehaving(task))
    state = None
    while True:
        if (now := (consumer.snapshot.state.name, len(consumer.snapshot.owned))) != state:
            state = now
            say("state", state=now[0], owned=sorted(consumer.snapshot.owned), member=consumer.memberid())
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            say("record", offset=message.offset(), member=consumer.memberid())
            charge_the_customer(message, task["poison_s"] if message.value() == b"poison" else task["work_s"])


def charge_the_customer(message: object, seconds: float) -> None:
    """A name that a diagnosis can be expected to show."""
    threading.Event().wait(seconds)


def pretend_to_be(host: str, clock_s: float) -> None:
    """On another machine, whose clock is fast."""
    now = time.time
    time.time = lambda: now() + clock_s
    if host:
        socket.gethostname = lambda: host


if __name__ == "__main__":
    the_task = json.loads(sys.argv[1])
    pretend_to_be(the_task["host"], the_task["clock_s"])
    (run_consumer if the_task["consumes"] else run_member)(the_task)
