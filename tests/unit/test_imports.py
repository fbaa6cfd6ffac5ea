"""What importing a public class loads: nothing that a program may never need, or that a member loads later."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import sys
before = set(sys.modules)
from membership_client import {name}
print(*set(sys.modules) - before)
"""

HEAVY = {
    "asn1crypto",
    "difflib",
    "email",
    "http",
    "hypothesis",  # kio loads it where it is installed, for its own tests.
    "importlib.metadata",
    "kio",
    "multiprocessing",
    "opentelemetry",
    "pathlib",
    "scramp",
    "tempfile",
    "tenacity",
    "unittest",
    "urllib.request",
    "zipfile",
    "membership_client.admin",
    "membership_client.aio",
    "membership_client.core.assignors.sticky",
    "membership_client.debugger",
    "membership_client.net.codec",
    "membership_client.telemetry",
    "membership_client.testing",
    "membership_client.trace.format",
    "membership_client.trace.reading",
}
"""Each takes a millisecond or more, most of them ten to two hundred; with what is in them."""

ONLY_FOR_CONSUMER = {"asyncio", "confluent_kafka", "ssl", "membership_client.consumer"}
"""What confluent-kafka loads for itself."""


def _loaded_by(name: str) -> set[str]:
    command = [sys.executable, "-c", _PROGRAM.format(name=name)]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


@pytest.mark.parametrize(("name", "heavy"), [("Consumer", HEAVY), ("GroupMember", HEAVY | ONLY_FOR_CONSUMER)])
def test_importing_a_class_loads_nothing_heavy(name: str, heavy: set[str]) -> None:
    """Programs start often, and many that import a consumer end without making one; the slow parts come with the first."""
    loaded = _loaded_by(name)
    assert "membership_client.client" in loaded
    assert sorted(loaded & heavy) == []
