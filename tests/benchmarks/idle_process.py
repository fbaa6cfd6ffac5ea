"""Idle members of one kind, and what they cost their process: `python -m tests.benchmarks.idle_process TASK`.

Nobody polls them once they own their partition, which they pause: what is left is membership alone.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import confluent_kafka

from membership_client import GroupMember, RebalanceListener
from tests.peers.confluent import config_of as confluent_config
from tests.peers.java import config_of as java_config
from tests.peers.jvm import PeerJvm
from tests.peers.peer import POLL_S, Seat

Join = Callable[[Seat], object]
"""Joins and returns, when the member owns its partition, what keeps it alive."""


class Usage(NamedTuple):
    cpu_s: float
    bytes: int


def main() -> None:
    task = json.loads(sys.argv[1])
    with contextlib.ExitStack() as stack:
        join, pid = prepare(task["kind"], stack)
        print(json.dumps(watch(task, join, pid)))  # noqa: T201 - the parent reads it
        sys.stdout.flush()
        # Nobody waits for two hundred goodbyes.
        os._exit(0)


def prepare(kind: str, stack: contextlib.ExitStack) -> tuple[Join, int]:
    """How to join, and the process that bears the cost."""
    if kind == "java":
        jvm = stack.enter_context(PeerJvm())
        return lambda seat: join_java(jvm, seat), jvm.pid
    return {"ours": join_ours, "confluent": join_confluent}[kind], os.getpid()


def watch(task: dict[str, Any], join: Join, pid: int) -> dict[str, float]:
    kept = [join(seat_of(task, 0))]
    first = usage(pid)
    kept += [join(seat_of(task, number)) for number in range(1, task["members"] + 1)]
    time.sleep(task["settle_s"])
    before = usage(pid)
    time.sleep(task["seconds"])
    after = usage(pid)
    return {"cpu_s": after.cpu_s - before.cpu_s, "bytes": after.bytes - first.bytes, "members": len(kept)}


def seat_of(task: dict[str, Any], number: int) -> Seat:
    group_id = f"{task['topic']}-{task['kind']}-{number}"
    return Seat(bootstrap_servers=task["bootstrap_servers"], group_id=group_id, topic=task["topic"])


def usage(pid: int) -> Usage:
    """As Linux counts it."""
    gc.collect()
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return Usage(ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE"))


def join_ours(seat: Seat) -> object:
    config = {"bootstrap.servers": seat.bootstrap_servers, "group.id": seat.group_id}
    # With a listener, as members have: its thread is part of the cost.
    member = GroupMember(config, listener=RebalanceListener())
    member.subscribe([seat.topic])
    member.wait_until(lambda snapshot: bool(snapshot.owned), timeout_s=60)
    return member


def join_confluent(seat: Seat) -> object:
    consumer = confluent_kafka.Consumer(confluent_config(seat))
    consumer.subscribe([seat.topic])
    while not (assigned := consumer.assignment()):
        consumer.poll(POLL_S)
    consumer.pause(assigned)
    return consumer


def join_java(jvm: PeerJvm, seat: Seat) -> object:
    consumer = jvm.java.org.apache.kafka.clients.consumer.KafkaConsumer(jvm.java.java.util.HashMap(java_config(seat)))
    consumer.subscribe([seat.topic])
    while not consumer.assignment().size():
        consumer.poll(jvm.java.java.time.Duration.ofMillis(int(1000 * POLL_S)))
    consumer.pause(consumer.assignment())
    return consumer


if __name__ == "__main__":
    main()
