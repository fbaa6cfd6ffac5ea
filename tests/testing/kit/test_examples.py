"""The examples of the test kit: their bugs are found, and the right versions pass."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import confluent_kafka
import pytest

from membership_client import Consumer
from membership_client.testing import KafkaGroup, VirtualGroup

EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "testing").glob("test_*.py"))
FIRST = {"test_on_embedded_kafka", "test_in_virtual_time"}
LISTENERS = [path for path in EXAMPLES if path.stem not in FIRST]


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_eight() -> None:
    """The documentation says so."""
    assert len(LISTENERS) == 8


@pytest.mark.parametrize("path", LISTENERS, ids=lambda path: path.stem)
def test_the_bug_is_found(path: Path) -> None:
    """A hundred stories are enough."""
    load(path).test_the_bug_is_found()


@pytest.mark.parametrize("path", LISTENERS, ids=lambda path: path.stem)
def test_the_right_version_passes(path: Path) -> None:
    """No check fails in the stories that the example plays."""
    load(path).test_no_story_breaks_it()


@pytest.mark.parametrize("consumer", [Consumer, confluent_kafka.Consumer])
def test_the_first_story(kafka_group: KafkaGroup, consumer: Any) -> None:
    """It is the one in the documentation, with both libraries."""
    load(_named("test_on_embedded_kafka")).test_a_second_instance_takes_over(kafka_group, consumer)


def test_the_story_of_a_fence(kafka_group: KafkaGroup) -> None:
    """It is the second one of that page."""
    load(_named("test_on_embedded_kafka")).test_a_member_that_is_fenced_comes_back(kafka_group)


@pytest.mark.parametrize(
    "name", ["test_a_crash_loses_no_record", "test_a_process_that_stood_still_has_lost_its_partitions"]
)
def test_a_story_in_virtual_time(virtual_group: VirtualGroup, name: str) -> None:
    """It is on that page, too."""
    getattr(load(_named("test_in_virtual_time")), name)(virtual_group)


def _named(name: str) -> Path:
    (found,) = (path for path in EXAMPLES if path.stem == name)
    return found
