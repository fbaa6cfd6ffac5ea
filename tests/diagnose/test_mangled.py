"""Traces that somebody else has been at: refused with the line, or diagnosed; never anything else."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest

from membership_client.core.events import Heartbeat, Refused
from membership_client.debugger.commands.diagnose_command import report
from membership_client.debugger.commands.replay_command import replay
from membership_client.debugger.diagnose import findings_of
from membership_client.debugger.model.timeline import groups_of
from membership_client.trace import Section, TraceError
from tests.diagnose.traces import Recorded, sections_of
from tests.simulation.generate import script_of

WRONG: tuple[Any, ...] = (None, "x", -1, 1e300, float("inf"), [], {}, {"is": "Tick"}, True, [1], "0-3")


def told(sections: list[Section]) -> str:
    groups = groups_of(sections, 2.0)
    return "\n".join(report(groups, [finding for group in groups for finding in findings_of(group)]))


def mangle(chance: random.Random, value: Any) -> Any:
    """Something deep inside is not what it was."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        key = chance.choice(list(value))
        value[key] = mangle(chance, value[key])
        return value
    if isinstance(value, list) and value and chance.random() < 0.8:
        index = chance.randrange(len(value))
        value[index] = mangle(chance, value[index])
        return value
    return chance.choice(WRONG)


@pytest.fixture(scope="module")
def whole() -> list[Section]:
    return sections_of(script_of(7))


@pytest.mark.parametrize("seed", range(60))
def test_a_value_that_is_wrong_is_refused_or_does_not_matter(whole: list[Section], seed: int) -> None:
    """In a header, in a step, as deep as it goes."""
    chance = random.Random(seed)
    sections = copy.deepcopy(whole)
    section = chance.choice(sections)
    mangle(chance, section.header if chance.random() < 0.2 else chance.choice(section.entries))
    assert f"{section.path}, line " in refusal_of(lambda: told(sections)) or told(sections)
    # A replay goes through more of it, and refused some with a traceback.
    assert f"{section.path}, line " in refusal_of(lambda: replay(section)) or replay(section).steps


def refusal_of(ask: Callable[[], object]) -> str:
    """Empty where there is none."""
    try:
        ask()
    except TraceError as refusal:
        return str(refusal)
    return ""


@pytest.mark.parametrize("wrong", [wrong for wrong in WRONG if wrong != float("inf")])
def test_a_note_may_say_anything(wrong: Any) -> None:
    """What cannot be understood of it is left out. An infinite number is no JSON, and never gets into a trace."""
    member = Recorded.named("a", **{"max.poll.interval.ms": 20_000}).owning(0).polls()
    member.stays_stable(12.0)
    member.note("in hand", records=wrong)
    member.note("warning", budget="POLL", call=wrong, spent=wrong, limit=wrong, thread=wrong, stack=wrong)
    member.stays_stable(7.0)
    member.advance(2.0)
    assert "POLL_INTERVAL_EXCEEDED" in told([member.section()])


def test_a_trace_cannot_steer_the_terminal() -> None:
    """What a broker said is shown as letters."""
    member = Recorded.named("a").owning(0).stays_stable(20.0)
    member.advance(5.0)
    member.answer(Heartbeat, Refused(25, "\x1b[2J gone"))
    shown = told([member.section()])
    assert "\x1b" not in shown
    assert "[2J gone" in shown
