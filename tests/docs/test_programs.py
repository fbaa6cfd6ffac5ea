"""The programs of docs/migrating.md and docs/frameworks.md, run on an embedded broker."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Producer

from membership_client import TopicPartition
from membership_client.testing import EmbeddedKafka

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def kafka() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(topics={"orders": 1}) as started:
        yield started


def program_of(page: str, kafka: EmbeddedKafka) -> str:
    (block,) = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    return str(block).replace("localhost:9092", kafka.bootstrap_servers)


def test_a_program_with_only_its_import_changed(kafka: EmbeddedKafka) -> None:
    """It polls once, and closes."""
    told = subprocess.run(
        [sys.executable, "-c", program_of("migrating.md", kafka)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert told.stdout == "None\n"


def test_a_consumer_that_lives_as_long_as_a_web_application(kafka: EmbeddedKafka) -> None:
    """It commits what it reads while requests could be served, and is closed with the application."""
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
