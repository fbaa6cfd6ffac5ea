"""More stories for the right versions of the examples: a check that fails here is a bug of the kit or of an example."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from membership_client.testing import explore
from tests.testing.kit.test_examples import LISTENERS, load

pytestmark = pytest.mark.deep


@pytest.mark.parametrize("path", LISTENERS, ids=lambda path: path.stem)
def test_the_right_version_passes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No check fails in fifty more stories."""
    module = load(path)

    @functools.wraps(explore)
    def explore_more(program: Any, **given: Any) -> None:
        explore(program, **{**given, "seeds": range(100, 150)})

    monkeypatch.setattr(module, "explore", explore_more)
    module.test_no_story_breaks_it()
