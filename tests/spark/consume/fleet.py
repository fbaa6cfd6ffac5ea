"""A job under test, seen from outside: its driver, its diaries, its group at the broker, and records that keep coming."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from confluent_kafka import KafkaError, Message, Producer

from membership_client.admin import GroupAdmin, GroupView
from membership_client.testing import KafkaCluster
from membership_client.testing.admin import ClusterAdmin
from membership_client.trace import Section, read_trace
from tests.integration.members import eventually
from tests.spark.clusters.driver_process import PATIENCE_S, DriverProcess
from tests.spark.clusters.logs import tail
from tests.spark.clusters.processes import is_running
from tests.spark.clusters.sessions import SessionSettings

PROGRAM = Path(__file__).with_name("consuming.py")
PARTITIONS = 4
Placed = tuple[int, int]
"""A record: its partition and its offset."""


class Fleet:
    """A topic and a group of its own, records all the time until it is paused, and drivers that consume them."""

    def __init__(
        self,
        kafka: KafkaCluster,
        directory: Path,
        settings: SessionSettings,
        slots: int = 2,
        config: Mapping[str, Any] | None = None,
        *,
        program: Path = PROGRAM,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.group = f"fleet-{uuid.uuid4().hex[:8]}"
        self.directory = directory / "diaries"
        self.directory.mkdir()
        self.slots = slots
        self._program = program
        self._patience_s = patience_s
        self.admin = ClusterAdmin(kafka.bootstrap_servers)
        self.admin.create_topic(self.group, PARTITIONS)
        self.set_session(300.0)
        self.kafka = kafka
        self.home = directory
        self._settings = settings
        own = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": self.group, "auto.offset.reset": "earliest"}
        self._config = {**own, "trace.file": str(directory / "trace.jsonl"), **(config or {})}
        self._drivers: list[DriverProcess] = []
        self._source = Source(kafka.bootstrap_servers, self.group)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for driver in self._drivers:
            driver.stop()
        self._source.stop()

    def logs(self) -> list[Path]:
        """Of all drivers."""
        return [log for driver in self._drivers for log in driver.logs()]

    @property
    def driver(self) -> DriverProcess:
        """The newest."""
        return self._drivers[-1]

    def start(self, settings: SessionSettings | None = None, **arguments: Any) -> DriverProcess:
        """Another driver of the same job; nothing is awaited."""
        given = {"slots": self.slots, "name": "slot", "config": self._config, "topics": [self.group], "grace_s": 6.0}
        task = {"diaries": str(self.directory), "consume": {**given, **arguments}}
        place = self.home / f"driver-{len(self._drivers) + 1}"
        self._drivers.append(DriverProcess(self._program, settings or self._settings, place, task))
        return self.driver

    def running(self) -> dict[int, dict[str, Any]]:
        """Steady, under a driver that is started if the last one's job has ended; how the slots stand."""
        if (
            not self._drivers
            or not is_running(self.driver.pid)
            or self.driver.all("failed")
            or self.driver.all("stopped")
        ):
            self.start()
        return self.wait_steady()

    # --- how it stands -----------------------------------------------------------------------------------------------

    def progress(self) -> dict[int, dict[str, Any]]:
        """As the newest driver last reported it."""
        told = self.driver.all("progress")
        return {one["slot"]: one for one in told[-1]["slots"]} if told else {}

    def wait_steady(self, slots: int | None = None) -> dict[int, dict[str, Any]]:
        """Waits until all slots are stable and share all partitions; how they stand then."""

        def steady() -> dict[int, dict[str, Any]] | None:
            assert is_running(self.driver.pid), f"the driver ended:\n{tail(self.driver.log_file)}"
            now = self.progress()
            whole = sum(len(one["partitions"]) for one in now.values()) == PARTITIONS
            stable = all(one["state"] == "stable" and one["partitions"] for one in now.values())
            return now if whole and stable and len(now) == (slots or self.slots) else None

        found = eventually(steady, "every slot stable, every partition owned", self._patience_s)
        assert found is not None
        return found

    def wait_restarted(self, slot: int, before: dict[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
        """Waits until another incarnation has the slot and all is steady again; how they stand then."""
        eventually(
            lambda: self.progress()[slot]["incarnation"] != before[slot]["incarnation"],
            f"slot {slot} again",
            PATIENCE_S,
        )
        return self.wait_steady()

    def epoch(self) -> int:
        """The group's, at the broker: every rebalance raises it."""
        return self.admin.group_epoch(self.group)

    def quiet_epoch(self, seconds: float) -> int:
        """One that has not risen for so long: what made the group rebalance so far does not any more."""

        def quiet() -> int | None:
            epoch = self.epoch()
            time.sleep(seconds)
            return epoch if self.epoch() == epoch else None

        found = eventually(quiet, f"no rebalance for {seconds} s", PATIENCE_S)
        assert found is not None
        return found

    def view(self) -> GroupView:
        """The group with its members and its committed offsets, as its coordinator has them."""
        with GroupAdmin(self.kafka.bootstrap_servers) as admin:
            return admin.describe(self.group)

    def trace(self, slot: int) -> list[Section]:
        """What the slot's members wrote down, one section for each incarnation; two that live at once have two files."""
        return [life for path in sorted(self.home.glob(f"trace-{slot}.jsonl*")) for life in read_trace(path)]

    def refused_commits(self, slot: int) -> list[str]:
        """The errors that the slot's members got for commits, one text for each."""
        entries = (entry for life in self.trace(slot) for entry in life.entries)
        return [entry["detail"] for entry in entries if entry.get("note") == "commit refused"]

    def farewell(self, slot: int, incarnation: str) -> tuple[str, str] | None:
        """How this incarnation closed, by its own account: the mode of its leave, and the reason; None if it did not."""
        who = f"slot-{slot}@{incarnation}"
        (life,) = [one for one in self.trace(slot) if one.header["start"]["config"]["client_id"] == who]
        closes = (entry["event"] for entry in life.entries if entry.get("event", {}).get("is") == "Close")
        return next(((event["mode"], event["reason"]) for event in closes), None)

    def classic_rebalances(self) -> int:
        """How often the coordinator of a classic group has begun one."""
        return self.kafka.log().count(f"Preparing to rebalance group {self.group} ")

    def set_session(self, seconds: float) -> None:
        """How long the group waits for a static member to come back."""
        settings = {"consumer.session.timeout.ms": int(seconds * 1000), "consumer.heartbeat.interval.ms": 500}
        self.admin.set_group_config(self.group, **settings)

    # --- what came of the records ------------------------------------------------------------------------------------

    def deliveries(self, instance: str = "*") -> Counter[Placed]:
        """How often each record was handed to a handler, of any incarnation or of the one named `<slot>@<incarnation>`."""
        return self._noted(instance, done=False)

    def _noted(self, instance: str, *, done: bool) -> Counter[Placed]:
        notes = (
            json.loads(line)
            for diary in self.directory.glob(f"{instance}.jsonl")
            for line in diary.read_text().splitlines()
        )
        return Counter(
            (partition, offset) for note in notes if note["done"] is done for partition, offset in note["places"]
        )

    def assert_nothing_lost(self) -> None:
        """Waits until a handler was done with each record that was produced so far; one that raised was not."""
        produced = self._source.produced()
        everything = f"all of {len(produced)} records"
        eventually(lambda: produced <= self._noted("*", done=True).keys(), everything, PATIENCE_S)

    def produced(self) -> set[Placed]:
        """All that the broker has confirmed so far."""
        return self._source.produced()

    def hold(self, slot: int) -> None:
        """The slot's handler does not return until released; returns when it holds a batch."""
        held = self.directory / f"held-{slot}"
        held.unlink(missing_ok=True)
        (self.directory / f"hold-{slot}").touch()
        eventually(held.exists, f"slot {slot} holds a batch", PATIENCE_S)

    def release(self, slot: int) -> None:
        (self.directory / f"hold-{slot}").unlink()

    def wait_produced(self, records: int) -> None:
        """Waits until this many more records are there."""
        enough = len(self._source.produced()) + records
        eventually(lambda: len(self._source.produced()) >= enough, f"{records} more records", PATIENCE_S)


def is_undisturbed(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """The same incarnation of a slot with the same partitions; how fast it goes does not matter."""
    return all(after[fact] == before[fact] for fact in before if fact not in {"rate", "lag"})


class Source:
    """Produces to every partition in turn, fifty records a second, until stopped."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 0})
        self._topic = topic
        self._produced: set[Placed] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def produced(self) -> set[Placed]:
        """All that the broker has confirmed so far."""
        return set(self._produced.copy())

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        number = 0
        while not self._ended.wait(0.02):
            number += 1
            self._producer.produce(
                self._topic, b"record %d" % number, partition=number % PARTITIONS, on_delivery=self._on_delivery
            )
            self._producer.poll(0)
        self._producer.flush()

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        assert error is None
        assert partition is not None
        assert offset is not None
        self._produced.add((partition, offset))
