"""Kafka's own kafka-consumer-groups, run as its users run it."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass

from membership_client.testing import cached_kafka_jars, find_java
from membership_client.testing.jvm import Jvm

_MAIN = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
_QUIET = "-Dorg.apache.logging.log4j.level=OFF"
Row = dict[str, str]


@dataclass(frozen=True)
class KafkaTool:
    bootstrap_servers: str

    def run(self, *arguments: str) -> str:
        """Run the tool, which must succeed; returns its output."""
        java, jars = find_java(), cached_kafka_jars()
        assert java, "Java was not found. Run scripts/test, which installs it."
        assert jars, "Kafka's jars were not found. Run scripts/test, which fetches them."
        command = Jvm(java, tuple(jars), (_QUIET,)).command(_MAIN, "--bootstrap-server", self.bootstrap_servers)
        done = subprocess.run([*command, *arguments], check=True, capture_output=True, text=True, timeout=120)
        return done.stdout

    def table(self, *arguments: str) -> list[Row]:
        """The rows of the tool's table by its column heads. A dash stands for nothing, as in our own output."""
        lines = [line for line in self.run(*arguments).splitlines() if line.strip()]
        # Two words in one cell are those of COORDINATOR (ID).
        head, *rows = [re.sub(r" +\((\w+)\)", r"(\1)", line).split() for line in lines if not line.startswith("Warn")]
        return [dict(zip(head, row, strict=True)) for row in rows]
