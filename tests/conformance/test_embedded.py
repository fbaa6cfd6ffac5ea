"""An embedded broker behaves as Kafka 4.3.1 through its socket, too: the scripts of the fake, on two brokers.

What may differ is in `differences.py`, for both; the embedded broker has no differences of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from membership_client.testing import EmbeddedKafka, KafkaCluster
from tests.conformance.classic_differences import CLASSIC_DIFFERENCES, ClassicDifference
from tests.conformance.classic_plays import FULL_PLAYS, PLAYS, Play
from tests.conformance.conftest import ROOM
from tests.conformance.generate import script_of
from tests.conformance.situations import CHANGES, FULL, SITUATIONS, Situation
from tests.conformance.stage import EmbeddedStage
from tests.conformance.tally import Tally
from tests.conformance.test_classic import PAUSES_S, on_a_broker
from tests.conformance.test_conformance import agree, agree_on

pytestmark = pytest.mark.kafka

SEEDS = range(1000, 1010)
"""Others than the fake's own tests play."""


@pytest.fixture(scope="module")
def embedded_stage(kafka: KafkaCluster) -> Iterator[EmbeddedStage]:
    """With the settings of the broker that the whole run shares."""
    with EmbeddedKafka() as embedded:
        yield EmbeddedStage(kafka.bootstrap_servers, embedded)


@pytest.fixture(scope="module")
def small_embedded() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(settings={"group.consumer.max.size": ROOM, "group.max.size": ROOM}) as embedded:
        yield embedded


@pytest.fixture(scope="module")
def small_embedded_stage(small_kafka: KafkaCluster, small_embedded: EmbeddedKafka) -> EmbeddedStage:
    return EmbeddedStage(small_kafka.bootstrap_servers, small_embedded, max_size=ROOM)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_scripts_are_answered_alike(seed: int, embedded_stage: EmbeddedStage, tally: Tally) -> None:
    """Whatever a few members ask in whatever order, both brokers say the same and describe the same group."""
    tally.count(agree(script_of(seed), embedded_stage))


@pytest.mark.parametrize("situation", [*SITUATIONS, *CHANGES], ids=lambda situation: situation.script.name)
def test_a_situation_is_answered_alike(situation: Situation, embedded_stage: EmbeddedStage) -> None:
    """The classic situations of a group end as they are known to end, also when topics change."""
    agree_on(situation, embedded_stage)


@pytest.mark.parametrize("situation", FULL, ids=lambda situation: situation.script.name)
def test_a_full_group_is_answered_alike(situation: Situation, small_embedded_stage: EmbeddedStage) -> None:
    """Both refuse whom they have no room for, in the same words."""
    agree_on(situation, small_embedded_stage)


def on_both(play: Play, embedded: EmbeddedKafka, kafka: KafkaCluster) -> None:
    """What may be due to the order in which requests arrived is played again, more slowly."""
    for pause_s in PAUSES_S:
        with contextlib.suppress(AssertionError):
            return compare(play, embedded, kafka, pause_s)
    return compare(play, embedded, kafka, PAUSES_S[-1])


def compare(play: Play, embedded: EmbeddedKafka, kafka: KafkaCluster, pause_s: float) -> None:
    assert on_a_broker(play, embedded, pause_s) == on_a_broker(play, kafka, pause_s)


@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.__name__)
def test_a_classic_group_is_answered_alike(play: Play, kafka: KafkaCluster) -> None:
    """To every member, from its first request to its last."""
    with EmbeddedKafka(topics={"orders": 1}) as embedded:
        on_both(play, embedded, kafka)


@pytest.mark.parametrize("play", FULL_PLAYS, ids=lambda play: play.__name__)
def test_a_full_classic_group_is_answered_alike(
    play: Play, small_embedded: EmbeddedKafka, small_kafka: KafkaCluster
) -> None:
    """Both refuse whom they have no room for, a static member that comes back included."""
    on_both(play, small_embedded, small_kafka)


@pytest.mark.parametrize("difference", CLASSIC_DIFFERENCES, ids=lambda difference: difference.name)
def test_what_the_fake_leaves_out_the_embedded_broker_has(difference: ClassicDifference, kafka: KafkaCluster) -> None:
    """The differences of the fake's classic groups are about what only a whole broker knows."""
    with EmbeddedKafka(topics={"orders": 1}) as embedded:
        on_both(difference.shown_by, embedded, kafka)
