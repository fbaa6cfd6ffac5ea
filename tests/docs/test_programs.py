"""Programs of the pages that have no tests of their own, run on an embedded broker."""

from __future__ import annotations

import asyncio
import itertools
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Producer

from membership_client import Consumer, TopicPartition
from membership_client.cli.program import main
from membership_client.testing import EmbeddedKafka

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture
def kafka() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(topics={"orders": 1}) as started:
        yield started


def blocks_of(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


def program_of(page: str, kafka: EmbeddedKafka) -> str:
    (block,) = blocks_of(DOCS / page)
    return block.replace("localhost:9092", kafka.bootstrap_servers)


def test_a_program_with_only_its_import_changed(kafka: EmbeddedKafka) -> None:
    """The program polls once, and closes."""
    told = subprocess.run(
        [sys.executable, "-c", program_of("migrating.md", kafka)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert told.stdout == "None\n"


def test_a_consumer_that_lives_as_long_as_a_web_application(kafka: EmbeddedKafka) -> None:
    """It commits while requests could be served, and is closed with the application."""
    names: dict[str, Any] = {}
    config = '"auto.offset.reset": "earliest", "group.id"'
    exec(program_of("frameworks.md", kafka).replace('"group.id"', config), names)
    app = SimpleNamespace(state=SimpleNamespace())
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce("orders", b"two pears")
    producer.flush()

    async def serve() -> None:
        async with names["lifespan"](app):
            await asyncio.to_thread(kafka.wait_for, lambda: kafka.committed("shop") == {TopicPartition("orders", 0): 1})
            assert app.state.consumer.health().ready

    asyncio.run(serve())
    assert kafka.describe("shop").members == ()


class Invoicing:
    """The program of docs/exactly-once.md in a process, which can be killed and started again."""

    def __init__(self, kafka: EmbeddedKafka) -> None:
        self.kafka = kafka
        self._command = [sys.executable, str(ROOT / "examples" / "exactly_once.py"), kafka.bootstrap_servers, "till-0"]

    def work_and_die(self, orders: int) -> None:
        """Writes orders, waits until their offsets are committed, and kills the process."""
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap_servers})
        for number in range(orders):
            producer.produce("orders", str(number))
        producer.flush()
        wanted = self.kafka.end_offsets("orders")
        with subprocess.Popen(self._command) as process:
            try:
                self.kafka.wait_for(lambda: self.kafka.committed("invoicing") == wanted, 60)
            finally:
                process.kill()


def test_every_order_has_one_invoice() -> None:
    """This holds even if the process was killed: its replacement begins after the last transaction."""
    settings = {"group.consumer.session.timeout.ms": 3000, "group.consumer.heartbeat.interval.ms": 200}
    with EmbeddedKafka(topics={"orders": 1, "invoices": 1}, settings=settings) as kafka:
        invoicing = Invoicing(kafka)
        invoicing.work_and_die(5)
        invoicing.work_and_die(5)
        config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "reader", "auto.offset.reset": "earliest"}
        with Consumer({**config, "isolation.level": "read_committed"}) as reader:
            reader.subscribe(["invoices"])
            values = [message.value() for message in itertools.islice(reader, 10)]
            assert values == 2 * [f"invoice for {number}".encode() for number in range(5)]
            assert reader.poll(1.0) is None


def test_the_first_program_of_the_testing_page() -> None:
    """The embedded broker fences its member."""
    exec(blocks_of(DOCS / "testing.md")[0], {})


def test_the_asynchronous_program_of_the_testing_page_passes_its_exploration() -> None:
    """It runs together with the last block."""
    names: dict[str, Any] = {}
    *others, exploration = blocks_of(DOCS / "testing.md")
    (program,) = (block for block in others if "async def program" in block)
    exec(program + exploration.replace("seeds=100", "seeds=3"), names)
    names["test_no_story_breaks_it"]()


SHOWN = re.compile(r"<!-- (examples/\S+) -->\n```python\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("page", [ROOT / "README.md", *DOCS.glob("*.md")], ids=lambda page: page.stem)
def test_what_a_page_shows_of_an_example_is_in_the_example(page: Path) -> None:
    """The text is the same letter by letter; tests run the examples."""
    assert [name for name, block in SHOWN.findall(page.read_text()) if block not in (ROOT / name).read_text()] == []


RUN_BY = {
    "README": "tests/docs/test_docs.py",
    "admin": "tests/admin/test_page.py",
    "audit": "tests/spark/audit/test_page.py",
    "debugging": "tests/diagnose/test_page.py",
    "exactly-once": "tests/docs/test_programs.py",
    "frameworks": "tests/docs/test_programs.py",
    "guide": "tests/docs/test_docs.py",
    "kubernetes": "tests/operations/pods.py",
    "migrating": "tests/docs/test_programs.py",
    "migrating-protocols": "tests/admin/test_page.py",
    "operations": "tests/packaging/test_extras.py",
    "security": "tests/security/test_page.py",
    "spark": "tests/spark/consume/test_page.py",
    "spark-pipeline": "tests/spark/pipeline/test_page.py",
    "spark-stream": "tests/spark/stream/test_stream_page.py",
    "start": "tests/docs/test_start.py",
    "telemetry": "tests/docs/test_docs.py",
    "testing": "tests/docs/test_programs.py",
}
"""Which test runs the Python of each page."""


def test_the_python_of_every_page_is_run() -> None:
    """A new page needs a test; the tests name the pages whose programs they run."""
    pages = [ROOT / "README.md", *DOCS.glob("*.md")]
    assert {page.stem for page in pages if blocks_of(page)} == RUN_BY.keys()
    assert [page for page, test in RUN_BY.items() if f"{page}.md" not in (ROOT / test).read_text()] == []


COMMAND = re.compile(r"^\$ (?:bin/)?membership-client (.+)$", re.MULTILINE)


@pytest.mark.parametrize("page", [ROOT / "README.md", *DOCS.glob("*.md")], ids=lambda page: page.stem)
def test_every_command_of_a_page_is_understood(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its words are subcommands, and its options are in the subcommand's help."""
    for line in COMMAND.findall(page.read_text()):
        words = shlex.split(line)
        subcommand = words[: 1 + (words[0] == "groups") + (words[1] in {"offsets", "config"})]
        with pytest.raises(SystemExit, match="0"):
            main([*subcommand, "--help"])
        told = capsys.readouterr().out
        assert [word for word in words if word.startswith("--") and word not in told] == [], line
