"""The fake coordinator behaves as Kafka 4.3.1: the same requests get the same answers, field by field.

`pytest tests/conformance --scripts N` plays more scripts than by default, `--script SEED` that one.
"""

from __future__ import annotations

import pytest

from tests.conformance.differences import DIFFERENCES, Difference
from tests.conformance.generate import script_of
from tests.conformance.play import Run, play
from tests.conformance.report import describe_mismatch, told, transcript
from tests.conformance.script import Script
from tests.conformance.situations import CHANGES, FULL, SITUATIONS, Situation
from tests.conformance.stage import Stage
from tests.conformance.tally import Tally

pytestmark = pytest.mark.kafka

SCRIPTS_PER_TEST = 10
_FULL_SCRIPTS = 5
_MOST_ATTEMPTS = 5


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per handful of scripts, or the one that was asked for."""
    if "first" not in metafunc.fixturenames:
        return
    seed, count = metafunc.config.getoption("script"), metafunc.config.getoption("scripts")
    firsts = range(0, count, SCRIPTS_PER_TEST)
    pieces = [(seed, seed + 1)] if seed is not None else [(at, min(count, at + SCRIPTS_PER_TEST)) for at in firsts]
    metafunc.parametrize(("first", "end"), pieces, ids=[f"{first}-{end - 1}" for first, end in pieces])


def agree(script: Script, stage: Stage) -> Run:
    """Plays it and insists that both players agree. What a busy machine drew out beyond a timeout is played again."""
    for _ in range(_MOST_ATTEMPTS):
        run = play(script, stage.pair)
        if not run.mismatch:
            return run
        if run.busy_s < script.terms.most_busy_s:
            pytest.fail(describe_mismatch(run, stage.pair), pytrace=False)
    return pytest.fail(
        f"this machine is too slow to play {script.name} in {script.terms.most_busy_s:g} s", pytrace=False
    )


def agree_on(situation: Situation, stage: Stage) -> None:
    run = agree(situation.script, stage)
    answers = [exchange.broker for exchange in run.exchanges if not isinstance(exchange.request, str)]
    assert told(answers[-1], run.names).startswith(situation.ends), transcript(run)


def test_random_scripts_are_answered_alike(first: int, end: int, stage: Stage, tally: Tally) -> None:
    """Whatever a few members ask in whatever order, both coordinators say the same and end with the same group."""
    for seed in range(first, end):
        tally.count(agree(script_of(seed), stage))


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.script.name)
def test_a_situation_is_answered_alike(situation: Situation, stage: Stage) -> None:
    """The classic situations of a group end as they are known to end, on both."""
    agree_on(situation, stage)


@pytest.mark.parametrize("situation", CHANGES, ids=lambda situation: situation.script.name)
def test_topics_that_change_are_answered_alike(situation: Situation, stage: Stage) -> None:
    """Both notice with the next heartbeat that a topic grew, went or came, and count another of the same name as another."""
    agree_on(situation, stage)


@pytest.mark.parametrize("situation", FULL, ids=lambda situation: situation.script.name)
def test_a_full_group_is_answered_alike(situation: Situation, small_stage: Stage) -> None:
    """Both refuse whom they have no room for, in the same words."""
    agree_on(situation, small_stage)


def test_random_scripts_of_a_full_group_are_answered_alike(small_stage: Stage) -> None:
    """Members that find no room, and those that find some later, hear the same from both."""
    for seed in range(_FULL_SCRIPTS):
        agree(script_of(seed), small_stage)


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda difference: difference.name)
def test_a_known_difference_still_exists(difference: Difference, stage: Stage) -> None:
    """A difference that no longer shows is to be struck off the list."""
    run = play(difference.shown_by, stage.pair, (difference,))
    assert run.known == (difference,), transcript(run)
    assert not run.mismatch, transcript(run)
