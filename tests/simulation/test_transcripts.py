"""Golden transcripts: how each named situation goes, word for word, reviewed as a diff.

`pytest tests/simulation --update-transcripts` writes them anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulation.play import play
from tests.simulation.scenarios import SCENARIOS, Scenario
from tests.simulation.world import World

DIRECTORY = Path(__file__).with_name("transcripts")


def _text(scenario: Scenario) -> str:
    world = play(scenario.script)
    return "\n".join([scenario.what, "", *world.record.story(), "", *_ending(world)]) + "\n"


def _ending(world: World) -> list[str]:
    """The state of all members in the end."""
    return [
        f"{process.member_id}: {'' if process.alive else 'ended, '}{process.member.state.name}"
        f" at epoch {process.member.epoch}, owns {len(process.member.owned)}"
        for process in world.processes
    ]


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_the_story_is_as_it_was(name: str, pytestconfig: pytest.Config) -> None:
    """Under all the simulation's checks, and exactly as it was told the last time."""
    text, file = _text(SCENARIOS[name]), DIRECTORY / f"{name}.txt"
    if pytestconfig.getoption("update_transcripts"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def test_no_transcript_is_left_over() -> None:
    """Every file tells a scenario that exists."""
    assert sorted(file.stem for file in DIRECTORY.glob("*.txt")) == sorted(SCENARIOS)
