"""A difference between two coordinators is found, made short and told; two fakes stand in for fake and broker."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

from membership_client.testing.fake_topics import FakeTopic
from tests.conformance.fake_player import FakePlayer, settings_of
from tests.conformance.generate import script_of
from tests.conformance.names import Names
from tests.conformance.play import Pair, play
from tests.conformance.report import describe_mismatch
from tests.conformance.script import TOPICS, Script

SEED = 0
NAMES = Names(
    group_id="test-group",
    prefix="p-",
    topics={
        symbol: FakeTopic(f"p-{symbol}", UUID(int=number), partitions)
        for number, (symbol, partitions) in enumerate(TOPICS.items(), 1)
    },
)


@contextlib.contextmanager
def twins(script: Script) -> Iterator[Pair]:
    settings = settings_of(script.terms)
    yield Pair(NAMES, *(FakePlayer(NAMES.group_id, tuple(NAMES.topics.values()), settings) for _ in range(2)))


@contextlib.contextmanager
def strangers(script: Script) -> Iterator[Pair]:
    """The second is of an older Kafka, which fences a member that joins again."""
    with twins(script) as pair:
        settings = replace(settings_of(script.terms), rejoins_in_place=False)
        yield replace(pair, broker=FakePlayer(NAMES.group_id, tuple(NAMES.topics.values()), settings))


def test_the_same_seed_is_the_same_script() -> None:
    """A failure can be played again."""
    assert script_of(SEED) == script_of(SEED)
    assert script_of(SEED) != script_of(SEED + 1)


def test_twins_agree() -> None:
    """What is compared has nothing random in it: every step is played, and the group looked at in the end."""
    run = play(script_of(SEED), twins)
    assert not run.mismatch
    assert len(run.exchanges) > len(run.script.steps)


def test_a_mismatch_is_told_as_a_short_story() -> None:
    """Only what leads to it is left, and both answers stand side by side where they differ."""
    run = play(script_of(SEED), strangers)
    assert run.mismatch
    text = describe_mismatch(run, strangers)
    assert len(text.splitlines()) < 20, text
    assert "fake:   accepted at" in text
    assert "broker: refused FENCED_MEMBER_EPOCH: The consumer group member has a smaller member epoch (0)" in text
