"""The fake's classic groups against real ones: the same requests in the same order get the same answers, field by field."""

from __future__ import annotations

import contextlib

import pytest

from membership_client.core.events import Refused
from membership_client.testing import EmbeddedKafka, KafkaCluster
from tests.conformance.classic_differences import CLASSIC_DIFFERENCES, ClassicDifference
from tests.conformance.classic_lines import FakeLine, RealLine, Told
from tests.conformance.classic_plays import FULL_PLAYS, PLAYS, Play
from tests.conformance.conftest import ROOM

pytestmark = pytest.mark.kafka

PAUSES_S = (0.3, 1.0, 3.0)
"""Requests of several members must reach the broker in the order of the script: on a busy machine it takes longer."""


def on_the_fake(play: Play, max_size: int | None = None) -> list[Told]:
    line = FakeLine(max_size)
    play(line)
    return line.account()


def on_a_broker(play: Play, cluster: KafkaCluster | EmbeddedKafka, pause_s: float) -> list[Told]:
    with contextlib.ExitStack() as stack:
        line = RealLine(cluster.bootstrap_servers, stack, pause_s)
        play(line)
        return line.account()


def agree(play: Play, cluster: KafkaCluster, max_size: int | None = None) -> None:
    """What may be due to the order in which requests arrived is played again, more slowly."""
    expected, seen = on_the_fake(play, max_size), list[Told]()
    for pause_s in PAUSES_S:
        seen = on_a_broker(play, cluster, pause_s)
        if seen == expected:
            break
    assert seen == expected


@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.__name__)
def test_the_fake_answers_as_a_broker_does(kafka: KafkaCluster, play: Play) -> None:
    """To every member, from its first request to its last."""
    agree(play, kafka)


@pytest.mark.parametrize("play", FULL_PLAYS, ids=lambda play: play.__name__)
def test_the_fake_is_full_when_a_broker_is(small_kafka: KafkaCluster, play: Play) -> None:
    """It refuses whom a broker would refuse, a static member that comes back included."""
    agree(play, small_kafka, ROOM)


@pytest.mark.parametrize("difference", CLASSIC_DIFFERENCES, ids=lambda difference: difference.name)
def test_a_known_difference_of_classic_groups_still_exists(kafka: KafkaCluster, difference: ClassicDifference) -> None:
    """The broker refuses with the code that is listed, and the fake does not; what no longer shows is to be struck off."""
    seen, expected = on_a_broker(difference.shown_by, kafka, PAUSES_S[-1]), on_the_fake(difference.shown_by)
    assert seen[:-1] == expected[:-1]
    assert seen[-1].answer == Refused(difference.broker_refuses)
    assert not isinstance(expected[-1].answer, Refused)
