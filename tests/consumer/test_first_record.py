"""Between the first assignment and the first record nobody waits for a timer."""

from __future__ import annotations

import logging

import pytest

from tests.consumer.helpers import World

pytestmark = pytest.mark.kafka


def test_the_fetcher_knows_a_topic_before_it_is_told_to_fetch_it(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """It looked for unknown topics once a second, so every start cost half a second to one and a half."""
    caplog.set_level(logging.DEBUG, "fetcher")
    reader = world.join({"debug": "topic", "logger": logging.getLogger("fetcher")})
    world.produce(1)
    reader.read(4)
    said = [record.getMessage() for record in caplog.records if record.name == "fetcher"]
    assert any("Start fetch" in line for line in said)
    assert not [line for line in said if "no current leader" in line]
