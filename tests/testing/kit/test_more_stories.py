"""More stories for the right versions of the examples: a check that fails here is a bug of the kit or of an example."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from membership_client.testing import KafkaGroup, explore
from tests.testing.kit.programs import async_member, careful_async, member_alone
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


@pytest.mark.parametrize("program", [careful_async, member_alone, async_member])
def test_the_same_programs_run_on_an_embedded_broker(kafka_group: KafkaGroup, program: Any) -> None:
    """They pass the same checks with real sockets and clocks."""
    kafka_group.produce(12)
    kafka_group.join("a", program)
    kafka_group.wait_processed(12)
    kafka_group.join("b", program)
    kafka_group.wait_assigned("a", "b")
    kafka_group.produce(12)
    kafka_group.wait_processed(24)
    kafka_group.leave("a")
    kafka_group.wait_assigned("b")
    kafka_group.check()
