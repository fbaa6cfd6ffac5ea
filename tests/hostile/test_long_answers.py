"""Answers that are made to take long: what no broker would say is refused by its size, and the rest is read in time."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from membership_client.core import events
from membership_client.net import codec
from membership_client.net.reader import MOST_ITEMS, Undecodable
from membership_client.types import Offset, TopicPartition
from tests.net import answers
from tests.net.test_classic_codec import join, joined
from tests.net.test_reader import HEARTBEAT, varint

TOPIC = UUID(int=10)
PARTITIONS = 50_000


def test_what_a_large_group_needs_is_read() -> None:
    """A member of 50,000 partitions, its offsets, and a topic that has them all."""
    assignment = answers.heartbeat(assignment=[(TOPIC, range(PARTITIONS))])
    accepted, _ = codec.decode(HEARTBEAT, 1, answers.payload(assignment))
    assert isinstance(accepted, events.HeartbeatAccepted)
    assert accepted.assignment is not None
    assert len(accepted.assignment) == PARTITIONS
    places = [TopicPartition("orders", number) for number in range(PARTITIONS)]
    offsets = answers.offsets_fetched(dict.fromkeys(places, (5, 2, "", 0)))
    request = events.FetchOffsets(group_id="g", member_id="m", epoch=4, partitions=frozenset(places))
    fetched, _ = codec.decode(request, 9, answers.payload(offsets))
    assert isinstance(fetched, events.OffsetsFetched)
    assert fetched.offsets == dict.fromkeys(places, Offset(5, leader_epoch=2))


def test_a_long_answer_to_a_short_question_is_refused_unread() -> None:
    """Thirty megabytes of empty topics held the membership thread for up to half a minute."""
    empty = answers.payload(answers.heartbeat(assignment=[]))
    count = 30 * 2**20 // 18
    payload = empty[:-3] + varint(count + 1) + (TOPIC.bytes + b"\x01\0") * count + b"\0\0"
    with pytest.raises(Undecodable, match="ConsumerGroupHeartbeat has"):
        codec.decode(HEARTBEAT, 1, payload)


@pytest.mark.parametrize("count", [MOST_ITEMS + 1, 5_000_000])
def test_a_list_that_nobody_has_is_refused_unread(count: int) -> None:
    """Millions of members of five bytes each fit into what a leader may be told."""
    nobody: Any = joined(9, members=())
    payload = answers.payload(nobody)[:-2] + varint(count + 1) + b"\x02a\0\x01\0" * count + b"\0"
    with pytest.raises(Undecodable, match=f"it announces {count} elements"):
        codec.decode(join(), 9, payload)


def test_tagged_fields_without_end_are_refused() -> None:
    """They are two bytes each, and mean nothing to us."""
    payload = answers.payload(answers.heartbeat())[:-1] + varint(1000) + b"\x63\0" * 1000
    with pytest.raises(Undecodable, match="1000 tagged fields"):
        codec.decode(HEARTBEAT, 1, payload)
