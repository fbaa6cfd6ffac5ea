"""What consume() cannot work with is refused on the driver, by a sentence, before anything is started."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from membership_client import ConfigError, Consumer
from membership_client_spark import consume, epochs
from membership_client_spark.arguments import check_consumer

CONFIG = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g"}


@pytest.fixture
def spark() -> Any:
    """Nothing but settings is asked for before the arguments are checked."""
    return SimpleNamespace(
        conf=SimpleNamespace(get=lambda name, default=None: {"spark.master": "local[4]"}.get(name, default))
    )


def test_the_check_leaves_no_trace_on_the_driver(tmp_path: Path) -> None:
    """An audit would take it for the trace of a member."""
    check_consumer(Consumer, CONFIG | {"trace.file": str(tmp_path / "slot.jsonl")})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("argument", "value", "says"),
    [
        ("topics", "orders", "topics must be a list"),
        ("topics", [], "topics must be a list"),
        ("topics", ["orders", ""], "topics must be a list"),
        ("topics", ["orders", 5], "topics must be a list"),
        ("topics", None, "topics must be a list"),
        ("topics", ["or ders"], "'or ders' is not the name of a topic"),
        ("topics", ["orders", "x" * 250], "is not the name of a topic"),
        ("topics", ["^(orders"], "The pattern .* is broken"),
        ("max_records", "x", "max_records must be a whole number, at least 1, not 'x'"),
        ("max_records", 0, "max_records must be a whole number"),
        ("max_records", 2.5, "max_records must be a whole number"),
        ("grace_s", "x", "grace_s must be a number of seconds"),
        ("grace_s", math.nan, "grace_s must be a number of seconds"),
        ("grace_s", math.inf, "grace_s must be a number of seconds"),
        ("grace_s", -1, "grace_s must be a number of seconds"),
        ("records", "pandas", "records must be one of arrow, messages, not 'pandas'"),
        ("slots", 0, "slots must be a whole number"),
        ("slots", "2", "slots must be a whole number"),
        ("slots", True, "slots must be a whole number"),
        ("name", None, "name must be a string"),
        ("name", "", r"name: The name is empty; .* restarts\.$"),
        ("name", "a b", r"name: group.instance.id 'a b-1' is not legal: .*[^.]\.$"),
        ("handle", 5, "handle must be a function of a batch and its slot"),
        ("config", None, "config must be a mapping"),
        ("config", CONFIG | {"group.idd": "g"}, "group.idd"),
        ("config", CONFIG | {"session.timeout.ms": -5}, "session.timeout.ms"),
        ("config", CONFIG | {"fetch.min.bytes": "many"}, "fetch.min.bytes"),
    ],
)
def test_what_cannot_work_is_refused_at_once(spark: Any, argument: str, value: object, says: str) -> None:
    """It used to be found on executors, by a slot that was submitted again and again, for ever."""
    given: dict[str, Any] = {"slots": 2, "name": "clerk", "config": CONFIG, "topics": ["orders"], "handle": print}
    with pytest.raises(ConfigError, match=says):
        consume(spark, **(given | {argument: value}))


@pytest.mark.parametrize("topics", [["or ders"], ["orders", "^orders.*"]])
def test_epochs_refuse_what_is_not_the_name_of_a_topic(spark: Any, topics: list[str]) -> None:
    """Patterns as well: an epoch's ranges are of topics that are known by name. It used to end the pipeline's thread."""
    with pytest.raises(ConfigError, match="is not the name of a topic"):
        epochs(spark, print, config=CONFIG, topics=topics, name="clerk", slots=2)
