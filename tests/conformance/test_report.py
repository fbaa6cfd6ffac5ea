"""A difference between two coordinators is found, made short and told; two fakes stand in for fake and broker."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from membership_client.testing.fake_topics import FakeTopic
from tests.conformance.fake_player import FakePlayer, settings_of
from tests.conformance.generate import script_of
from tests.conformance.names import Names
from tests.conformance.play import Pair, play
from tests.conformance.report import describe_mismatch, told, transcript
from tests.conformance.script import TOPICS, Script
from tests.conformance.situations import CHANGES, Situation

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
    fake, twin = (FakePlayer(NAMES.group_id, tuple(NAMES.topics.values()), settings) for _ in range(2))

    def resize(names: Names, symbol: str, partitions: int) -> FakeTopic | None:
        topic_id = names.topics[symbol].topic_id if symbol in names.topics else uuid4()
        topic = FakeTopic(names.prefix + symbol, topic_id, partitions) if partitions else None
        twin.learn(names.prefix + symbol, topic)
        return topic

    yield Pair(NAMES, fake, twin, resize)


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


@pytest.mark.parametrize("situation", CHANGES, ids=lambda situation: situation.script.name)
def test_twins_agree_on_topics_that_change(situation: Situation) -> None:
    """Both know the same topic after each change, by the same id, and end as a broker does."""
    run = play(situation.script, twins)
    assert not run.mismatch
    answers = [exchange.broker for exchange in run.exchanges if not isinstance(exchange.request, str)]
    assert told(answers[-1], run.names).startswith(situation.ends), transcript(run)


def test_a_mismatch_is_told_as_a_short_story() -> None:
    """Only what leads to it is left, and both answers stand side by side where they differ."""
    run = play(script_of(SEED), strangers)
    assert run.mismatch
    text = describe_mismatch(run, strangers)
    assert len(text.splitlines()) < 20, text
    assert "fake:   accepted at" in text
    assert "broker: refused FENCED_MEMBER_EPOCH: The consumer group member has a smaller member epoch (0)" in text
