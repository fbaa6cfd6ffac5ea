"""The examples of the test kit: the seeded bugs are found, and the right versions pass."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "testing").glob("test_*.py"))
LISTENERS = [path for path in EXAMPLES if path.stem != "test_on_embedded_kafka"]


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_eight() -> None:
    """As the documentation says."""
    assert len(LISTENERS) == 8


@pytest.mark.parametrize("path", LISTENERS, ids=lambda path: path.stem)
def test_the_bug_is_found(path: Path) -> None:
    """In one of a hundred stories at the latest."""
    load(path).test_the_bug_is_found()


@pytest.mark.parametrize("path", LISTENERS, ids=lambda path: path.stem)
def test_the_right_version_passes(path: Path) -> None:
    """No check fails in the stories that the example plays."""
    load(path).test_no_story_breaks_it()
