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
LIBRDKAFKA = {
    "0018": 1,
    "0045": 1,
    "0089": 1,
    "0102": 9,
    "0106": 2,
    "0113": 18,
    "0147": 9,
    "0148": 4,
    "0153": 1,
}
"""How many lines each of its tests about groups has: one for what its cases look at, and one per protocol if it is run under both."""
LIBRDKAFKA_CASES = {"0147": 27, "0148": 10}
"""How many cases those tests have that list them one by one; the others run a few scenarios in many ways."""
COUNTS = {
    "kafka membership manager": 89,
    "kafka heartbeat manager": 27,
    "librdkafka": sum(LIBRDKAFKA.values()),
    "kafka classic coordinator": 22,
    "kafka classic static members": 8,
    "kafka system tests": 17,
    "in no suite": 10,
}
"""How many scenarios each suite has: the test methods of Kafka's classes, and what librdkafka's tests look at.

Of the classic coordinator those about identity, size, reasons and leaving count; the rest is about its threads.
What no suite of the three has is at the end: their makers know of it, and so do we.
"""


@functools.cache
def found_in(path: str) -> frozenset[str]:
    """What pytest finds there: helpers are no tests."""
    tree = ast.parse((ROOT / path).read_text())
    functions = (node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(name for name in functions if name.startswith("test_"))


def named_in(row: dict[str, Any]) -> list[str]:
    """The tests that show it."""
    return row["tests"] if "tests" in row else [row["test"]] if "test" in row else []


def test_no_scenario_is_missing() -> None:
    """Each suite is numbered from 1 without a gap, to the number of scenarios it has."""
    for suite, count in COUNTS.items():
        numbers = [row["number"] for row in SCENARIOS if row["suite"] == suite]
        assert numbers == list(range(1, count + 1))
    assert Counter(row["suite"] for row in SCENARIOS) == COUNTS


def test_every_test_of_librdkafka_about_groups_is_here() -> None:
    """With as many lines as are counted for it, and with all of its cases where these are known."""
    rows = [row for row in SCENARIOS if row["suite"] == "librdkafka"]
    assert Counter(row["title"][:4] for row in rows) == LIBRDKAFKA
    cases = Counter[str]()
    for row in rows:
        cases[row["title"][:4]] += row.get("cases", 0)
    assert +cases == LIBRDKAFKA_CASES


@pytest.mark.parametrize("row", SCENARIOS, ids=lambda row: f"{row['suite']} {row['number']}")
def test_each_scenario_is_tested_or_struck_out_with_a_reason(row: dict[str, Any]) -> None:
    """One or the other, never both, never neither."""
    assert len({"test", "tests", "struck"} & row.keys()) == 1
    assert named_in(row) or len(row["struck"]) > 20
    for test in named_in(row):
        path, _, name = test.partition("::")
        assert name in found_in(path)
