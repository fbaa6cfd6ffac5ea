"""The table of the peers' scenarios is complete, and every test it names exists."""

from __future__ import annotations

import ast
import functools
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
SCENARIOS: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "peers.toml").read_text())["scenario"]
COUNTS = {
    "kafka membership manager": 89,
    "kafka heartbeat manager": 27,
    "librdkafka": 40,
    "kafka classic coordinator": 22,
    "kafka classic static members": 8,
    "kafka system tests": 17,
    "in no suite": 10,
}
"""How many scenarios each suite has: the test methods of Kafka's classes, and the groups of librdkafka's suite.

Of the classic coordinator those about identity, size, reasons and leaving count; the rest is about its threads.
What no suite of the three has is at the end: their makers know of it, and so do we.
"""


@functools.cache
def found_in(path: str) -> frozenset[str]:
    """What pytest finds there: helpers are no tests."""
    tree = ast.parse((ROOT / path).read_text())
    functions = (node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(name for name in functions if name.startswith("test_"))


def test_no_scenario_is_missing() -> None:
    """Each suite is numbered from 1 without a gap, to the number of scenarios it has."""
    for suite, count in COUNTS.items():
        numbers = [row["number"] for row in SCENARIOS if row["suite"] == suite]
        assert numbers == list(range(1, count + 1))
    assert Counter(row["suite"] for row in SCENARIOS) == COUNTS


@pytest.mark.parametrize("row", SCENARIOS, ids=lambda row: f"{row['suite']} {row['number']}")
def test_each_scenario_is_tested_or_struck_out_with_a_reason(row: dict[str, Any]) -> None:
    """One or the other, never both, never neither."""
    assert ("test" in row) != ("struck" in row)
    if "test" in row:
        path, _, name = row["test"].partition("::")
        assert name in found_in(path)
    else:
        assert len(row["struck"]) > 20
