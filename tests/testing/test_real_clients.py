"""Clients of other libraries on an embedded broker: each produces, shares a group, is rebalanced, commits and leaves."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import threading
from collections.abc import Awaitable, Iterator
from typing import IO, Any, Protocol, Self, TypeVar

import aiokafka
import confluent_kafka
import kafka as kafka_python
import pytest
from kafka.admin import NewPartitions, NewTopic

from membership_client.consumer import Consumer
from membership_client.testing import EmbeddedKafka, cached_kafka_jars, find_java
from membership_client.testing.jvm import Jvm

pytestmark = [pytest.mark.deep, pytest.mark.kafka, pytest.mark.timeout(400)]

T = TypeVar("T")

PATIENCE_S = 120.0
PARTITIONS = 4
QUICK = {"group.consumer.heartbeat.interval.ms": 200, "group.consumer.assignment.interval.ms": 0}
GROUP = "shop"


@pytest.fixture
def embedded() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(topics={"orders": PARTITIONS}, settings=QUICK) as cluster:
        yield cluster


class Reader(Protocol):
    """A member of the group."""

    def read(self) -> list[str]:
        """The records that came within a tenth of a second."""

    def commit(self) -> None:
        """Commit the records that were read."""

    def close(self) -> None: ...


class Client(Protocol):
    """The functions of one library."""

    def produce(self, values: list[str]) -> None: ...

    def join(self) -> Reader: ...


# --- librdkafka, and the same with our membership --------------------------------------------------------------------


class ConfluentReader:
    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer
        consumer.subscribe(["orders"])

    def read(self) -> list[str]:
        return [message.value().decode() for message in self._consumer.consume(100, 0.1)]

    def commit(self) -> None:
        with contextlib.suppress(confluent_kafka.KafkaException):  # Nothing was read yet.
            self._consumer.commit(asynchronous=False)

    def close(self) -> None:
        self._consumer.close()


class Confluent:
    made_by: Any = confluent_kafka.Consumer
    protocol = "consumer"

    def __init__(self, servers: str) -> None:
        self._servers = servers

    def produce(self, values: list[str]) -> None:
        producer = confluent_kafka.Producer({"bootstrap.servers": self._servers})
        for number, value in enumerate(values):
            producer.produce("orders", value, partition=number % PARTITIONS)
        assert producer.flush(PATIENCE_S) == 0

    def join(self) -> Reader:
        config = {"bootstrap.servers": self._servers, "group.id": GROUP, "group.protocol": self.protocol}
        more = {"heartbeat.interval.ms": 200} if self.protocol == "classic" else {}
        return ConfluentReader(
            self.made_by({**config, **more, "auto.offset.reset": "earliest", "enable.auto.commit": False})
        )


class ConfluentClassic(Confluent):
    protocol = "classic"


class Ours(Confluent):
    made_by = Consumer


class OursClassic(ConfluentClassic):
    made_by = Consumer


# --- kafka-python ----------------------------------------------------------------------------------------------------


class KafkaPythonReader:
    def __init__(self, servers: str) -> None:
        self._consumer = kafka_python.KafkaConsumer(
            "orders",
            bootstrap_servers=servers,
            group_id=GROUP,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=200,
        )

    def read(self) -> list[str]:
        return [record.value.decode() for records in self._consumer.poll(100).values() for record in records]

    def commit(self) -> None:
        self._consumer.commit()

    def close(self) -> None:
        self._consumer.close()


class KafkaPython:
    def __init__(self, servers: str) -> None:
        self._servers = servers

    def produce(self, values: list[str]) -> None:
        producer = kafka_python.KafkaProducer(bootstrap_servers=self._servers)
        for number, value in enumerate(values):
            producer.send("orders", value.encode(), partition=number % PARTITIONS)
        producer.close()

    def join(self) -> Reader:
        return KafkaPythonReader(self._servers)


# --- aiokafka --------------------------------------------------------------------------------------------------------


class LoopThread:
    """An event loop that runs all the time, as an application's does: aiokafka sends heartbeats on it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, awaitable: Awaitable[T]) -> T:
        return asyncio.run_coroutine_threadsafe(_awaited(awaitable), self._loop).result(PATIENCE_S)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()


async def _awaited(awaitable: Awaitable[T]) -> T:
    return await awaitable


class AiokafkaReader:
    def __init__(self, servers: str) -> None:
        self._loop = LoopThread()
        self._consumer = self._loop.run(self._made(servers))

    async def _made(self, servers: str) -> Any:
        consumer = aiokafka.AIOKafkaConsumer(
            "orders",
            bootstrap_servers=servers,
            group_id=GROUP,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=200,
        )
        await consumer.start()
        return consumer

    def read(self) -> list[str]:
        found = self._loop.run(self._consumer.getmany(timeout_ms=100))
        return [record.value.decode() for records in found.values() for record in records]

    def commit(self) -> None:
        self._loop.run(self._consumer.commit())

    def close(self) -> None:
        self._loop.run(self._consumer.stop())
        self._loop.stop()


class Aiokafka:
    def __init__(self, servers: str) -> None:
        self._servers = servers

    def produce(self, values: list[str]) -> None:
        asyncio.run(self._produce(values))

    async def _produce(self, values: list[str]) -> None:
        async with aiokafka.AIOKafkaProducer(bootstrap_servers=self._servers) as producer:
            for number, value in enumerate(values):
                await producer.send_and_wait("orders", value.encode(), partition=number % PARTITIONS)

    def join(self) -> Reader:
        return AiokafkaReader(self._servers)


@pytest.mark.parametrize("client", [Confluent, ConfluentClassic, Ours, OursClassic, KafkaPython, Aiokafka])
def test_a_python_client_takes_it_for_kafka(embedded: EmbeddedKafka, client: type[Any]) -> None:
    """Records are produced, a rebalance loses none, all are committed, and others notice a leave at once."""
    library: Client = client(embedded.bootstrap_servers)
    early, late = [f"early-{number}" for number in range(20)], [f"late-{number}" for number in range(20)]
    library.produce(early)
    first = library.join()
    read_all(embedded, [first], early)
    second = library.join()
    share(embedded, [first, second])
    library.produce(late)
    read_all(embedded, [first, second], late)
    first.close()
    share(embedded, [second])
    second.close()
    embedded.wait_for(lambda: embedded.describe(GROUP).state == "Empty", PATIENCE_S)


def read_all(embedded: EmbeddedKafka, readers: list[Reader], values: list[str]) -> None:
    """Wait until these records have been read and committed."""
    found: set[str] = set()

    def turn() -> bool:
        for reader in readers:
            found.update(reader.read())
        return set(values) <= found

    embedded.wait_for(turn, PATIENCE_S)
    for reader in readers:
        reader.commit()
    assert embedded.committed(GROUP) == embedded.end_offsets("orders")


def share(embedded: EmbeddedKafka, readers: list[Reader]) -> None:
    """Wait until the readers have equal shares of the partitions."""

    def turn() -> bool:
        for reader in readers:
            assert not reader.read()
        return shares(embedded) == [PARTITIONS // len(readers)] * len(readers)

    embedded.wait_for(turn, PATIENCE_S)


def shares(embedded: EmbeddedKafka) -> list[int]:
    return [len(member.current) for member in embedded.describe(GROUP).members]


def test_kafka_python_administers_it(embedded: EmbeddedKafka) -> None:
    """Topics are created, grown and deleted; groups are listed, described and deleted."""
    admin = kafka_python.KafkaAdminClient(bootstrap_servers=embedded.bootstrap_servers)
    try:
        admin.create_topics([NewTopic("bills", 2, 1)])
        admin.create_partitions({"bills": NewPartitions(5)})
        (described,) = admin.describe_topics(["bills"])
        assert len(described["partitions"]) == 5
        admin.delete_topics(["bills"])
        assert admin.list_topics() == ["orders"]
        library = KafkaPython(embedded.bootstrap_servers)
        library.produce(["value"])
        reader = library.join()
        read_all(embedded, [reader], ["value"])
        reader.close()
        assert [group["group_id"] for group in admin.list_groups()] == [GROUP]
        assert admin.describe_groups([GROUP])[GROUP]["group_state"] == "Empty"
        assert sum(one.offset for one in admin.list_group_offsets(GROUP)[GROUP].values()) == 1
        admin.delete_groups([GROUP])
        assert admin.list_groups() == []
    finally:
        admin.close()


def test_transactions_of_aiokafka(embedded: EmbeddedKafka) -> None:
    """Records and offsets appear together, and nothing of an aborted transaction."""
    embedded.create_topic("out")
    Aiokafka(embedded.bootstrap_servers).produce([f"value-{number}" for number in range(8)])
    found = asyncio.run(_transformed(embedded))
    assert sorted(found) == [f"VALUE-{number}" for number in range(8)]
    assert sum(embedded.committed(GROUP).values()) == 8


async def _transformed(embedded: EmbeddedKafka) -> list[str]:
    """The records that a reader of committed records gets, after all were transformed and one more transaction was aborted."""
    servers = {"bootstrap_servers": embedded.bootstrap_servers}
    more = {"auto_offset_reset": "earliest", "isolation_level": "read_committed"}
    async with (
        aiokafka.AIOKafkaConsumer("orders", group_id=GROUP, enable_auto_commit=False, **servers, **more) as consumer,
        aiokafka.AIOKafkaProducer(transactional_id="upper", **servers) as producer,
    ):
        done = 0
        while done < 8:
            for partition, records in (await consumer.getmany(timeout_ms=100)).items():
                async with producer.transaction():
                    for record in records:
                        await producer.send("out", record.value.upper())
                    await producer.send_offsets_to_transaction({partition: records[-1].offset + 1}, GROUP)
                done += len(records)
        with contextlib.suppress(KeyError):
            async with producer.transaction():
                await producer.send_and_wait("out", b"never")
                raise KeyError
        async with producer.transaction():
            await producer.send("out", b"")
    async with aiokafka.AIOKafkaConsumer("out", **servers, **more) as reader:
        found: list[str] = []
        while "" not in found:
            batches = (await reader.getmany(timeout_ms=100)).values()
            found += [record.value.decode() for records in batches for record in records]
    return [value for value in found if value]


# --- Kafka's console tools -------------------------------------------------------------------------------------------


class Tool:
    """A program of Kafka, as a process that ends with its `with` block."""

    def __init__(self, name: str, *arguments: str) -> None:
        java, jars = find_java(), cached_kafka_jars()
        assert java
        assert jars
        command = Jvm(java, tuple(jars), ("-Dorg.apache.logging.log4j.level=OFF",)).command(
            f"org.apache.kafka.tools.{name}", *arguments
        )
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines: list[str] = []
        self._reading = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reading.start()

    def _read(self, output: IO[str]) -> None:
        self.lines.extend(line.strip() for line in output)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def feed(self, lines: list[str]) -> None:
        """Write all of its input. Returns when it has ended."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n".join(lines))
        self._process.stdin.close()
        assert self._process.wait(PATIENCE_S) == 0
        self._reading.join(PATIENCE_S)

    def end(self) -> None:
        """End it as by Ctrl-C. Returns when it has ended."""
        self._process.terminate()
        self._process.wait(PATIENCE_S)
        self._reading.join(PATIENCE_S)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_kafkas_console_tools_take_it_for_kafka(embedded: EmbeddedKafka, protocol: str) -> None:
    """A producer and two consumers share a group; kafka-consumer-groups and kafka-topics describe and delete both."""
    servers = ["--bootstrap-server", embedded.bootstrap_servers]
    wanted = {"group.protocol": protocol, "auto.offset.reset": "earliest", "auto.commit.interval.ms": "100"}
    wanted |= {"heartbeat.interval.ms": "200"} if protocol == "classic" else {}
    properties = [part for name, value in wanted.items() for part in ("--command-property", f"{name}={value}")]
    consumer = ("consumer.ConsoleConsumer", *servers, "--topic", "orders", "--group", GROUP, *properties)

    with Tool(*consumer) as first:
        embedded.wait_for(lambda: shares(embedded) == [PARTITIONS], PATIENCE_S)
        with Tool(*consumer) as second:
            embedded.wait_for(lambda: shares(embedded) == [PARTITIONS // 2] * 2, PATIENCE_S)
            with Tool("ConsoleProducer", *servers, "--topic", "orders") as producer:
                producer.feed([f"value-{number}" for number in range(40)])
            end = embedded.end_offsets("orders")
            assert sum(end.values()) == 40
            embedded.wait_for(lambda: sum(embedded.committed(GROUP).values()) == 40, PATIENCE_S)
            first.end()
            embedded.wait_for(lambda: shares(embedded) == [PARTITIONS], PATIENCE_S)
        assert sorted(first.lines + second.lines) == sorted(f"value-{number}" for number in range(40))
    embedded.wait_for(lambda: embedded.describe(GROUP).state == "Empty", PATIENCE_S)

    groups, topics = ("consumer.group.ConsumerGroupCommand", *servers), ("TopicCommand", *servers)
    assert told_by(*groups, "--list") == [GROUP]
    assert any(GROUP in line and "orders" in line for line in told_by(*groups, "--describe", "--group", GROUP))
    told_by(*groups, "--delete", "--group", GROUP)
    assert embedded.committed(GROUP) == {}
    assert any(f"PartitionCount: {PARTITIONS}" in line for line in told_by(*topics, "--describe", "--topic", "orders"))
    told_by(*topics, "--delete", "--topic", "orders")
    assert told_by(*topics, "--list") == []


def told_by(*command: str) -> list[str]:
    """The output lines of a tool that needs no input."""
    with Tool(*command) as tool:
        tool.feed([])
    return [line for line in tool.lines if line]
