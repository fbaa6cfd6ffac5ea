"""A group of processes that transform a topic in transactions: starting, killing and stopping them, counting what came."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from membership_client.testing import guard
from tests.consumer.helpers import World
from tests.integration.members import PATIENCE_S, eventually
from tests.records import await_outputs

_ROOT = Path(__file__).parents[2]

Halt = tuple[str, int]
"""In which phase of which transaction a process stops until it is told to go on, or is killed."""


class Process:
    """One `transformer.py`."""

    def __init__(self, task: dict[str, Any]) -> None:
        self.said: list[dict[str, Any]] = []
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("transformer.py")), json.dumps(task)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(_ROOT)},
        )
        guard.watch_process(self._process.pid)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in tuple(self.said) if line["kind"] == kind]

    @property
    def halted(self) -> bool:
        return bool(self.all("halted"))

    @property
    def killed(self) -> bool:
        """True once it is dead, by our hand."""
        code = self._process.poll()
        assert code in {None, -signal.SIGKILL}, f"ended by itself, with code {code}"
        return code is not None

    def suspend(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Both: wake up, and leave the phase it halted in."""
        self._process.send_signal(signal.SIGCONT)
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        """SIGKILL, however it stands; may be repeated."""
        self._process.kill()
        self._process.wait(PATIENCE_S)
        self._reader.join()
        guard.forget_process(self._process.pid)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.said.append(json.loads(line))


class Transforming:
    """Of a world's topic into another; the input grows as the test wants it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.target = f"{world.topic}-transformed"
        self.inputs: list[bytes] = []
        self.processes: list[Process] = []
        world.group.admin.create_topic(self.target)
        self._producer = Producer({"bootstrap.servers": world.bootstrap_servers, "log_level": 0})

    def start(self, halt: Halt | None = None, transactional_id: str | None = None) -> Process:
        task = {
            "servers": self.world.bootstrap_servers,
            "group": self.world.group.id,
            "source": self.world.topic,
            "target": self.target,
            "transactional_id": transactional_id or uuid.uuid4().hex,
            "halt": halt,
        }
        self.processes.append(Process(task))
        return self.processes[-1]

    def feed(self, count: int) -> None:
        """So many more records to each partition, none like another."""
        for number in range(count * self.world.partitions):
            value = f"record {len(self.inputs)}".encode()
            self.inputs.append(value)
            self._producer.produce(self.world.topic, value, partition=number % self.world.partitions)
        self._producer.flush()

    @property
    def left(self) -> int:
        """How many records the group has not committed yet."""
        return len(self.inputs) - sum(self.world.committed().values())

    def await_all_done(self) -> None:
        eventually(lambda: self.left == 0, "all input is processed")

    def await_outputs(self) -> Counter[bytes | None]:
        """Of all input."""
        self.await_all_done()
        return await_outputs(self.world.bootstrap_servers, self.target, len(self.inputs))

    def close(self) -> None:
        for process in self.processes:
            process.kill()
