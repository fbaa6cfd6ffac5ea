"""The page's programs are run, and its table is complete."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer

from membership_client import Security
from tests.security.secure_kafka import SCRAM_PASSWORD, SecureKafka, make_token

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "security.md").read_text()


def test_every_key_is_documented() -> None:
    """No other key is in the table."""
    keys = [row.split("|")[1] for row in PAGE.splitlines() if row.startswith(("| `s", "| `o", "| `e", "| `h"))]
    assert {key for cell in keys for key in re.findall(r"`([a-z._]+)`", cell)} == Security.KEYS


@pytest.mark.kafka
@pytest.mark.parametrize("program", re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
def test_the_programs_run(program: str, secured: SecureKafka) -> None:
    """They get an address, an authority and a topic that exist."""
    topic = secured.new_topic()
    producer = Producer({"bootstrap.servers": secured.cluster.bootstrap_servers})
    producer.produce(topic, b"two pears")
    producer.flush()
    for said, meant in (
        ("broker.example:9093", secured.at("SASLTLS")["bootstrap.servers"]),
        ("/etc/kafka/ca.pem", str(secured.certificates.authority)),
        ('"orders"', repr(topic)),
        ('"shop"', repr(topic)),
    ):
        program = program.replace(said, meant)
    secrets = {"KAFKA_PASSWORD": SCRAM_PASSWORD, "KAFKA_TOKEN": make_token()}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | secrets,
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    assert topic in done.stdout or "cimpl.Message" in done.stdout
