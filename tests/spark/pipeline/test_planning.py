"""Where reading starts, and what an epoch is made of."""

from __future__ import annotations

import pytest

from membership_client import Offset, TopicPartition
from membership_client_spark.errors import NoOffsetError, OffsetBeyondEndError, OffsetsGoneError
from membership_client_spark.pipeline.planning import next_ranges
from membership_client_spark.pipeline.positions import after_deletion, check_within, is_reached, start_of
from membership_client_spark.pipeline.ranges import OffsetRange

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def test_the_sink_is_believed_when_it_is_ahead_of_the_group() -> None:
    """A driver ended between publishing and committing."""
    assert start_of(P0, 20, 10, low=0, high=100, reset="latest") == 20


def test_the_group_is_believed_when_it_is_ahead_of_the_sink() -> None:
    """Another member had the partition, and the records are in its output."""
    assert start_of(P0, 20, 30, low=0, high=100, reset="latest") == 30
    assert start_of(P0, None, 30, low=0, high=100, reset="latest") == 30


def test_without_either_the_user_decided() -> None:
    """As auto.offset.reset says."""
    assert start_of(P0, None, None, low=5, high=100, reset="earliest") == 5
    assert start_of(P0, None, None, low=5, high=100, reset="latest") == 100
    with pytest.raises(NoOffsetError, match="t-0, which has offsets 5 to 100"):
        start_of(P0, None, None, low=5, high=100, reset="error")


def test_nothing_waits_where_all_is_committed_or_nothing_was_ever_written() -> None:
    """A run of available_now then joins no group; it took five to seven seconds to find nothing."""
    done, empty = {P0: Offset(7)}, {P0: 0, P1: 0}
    assert is_reached({P0: 7, P1: 0}, {P0: 3, P1: 0}, done, "latest")
    assert is_reached(empty, empty, {}, "earliest")


def test_anything_else_is_looked_at_by_members() -> None:
    """Records that wait, a commit beyond the end, records that are gone but may be in a sink, and a missing offset."""
    begins = {P0: 0}
    assert not is_reached({P0: 8}, begins, {P0: Offset(7)}, "latest")
    assert not is_reached({P0: 6}, begins, {P0: Offset(7)}, "latest")
    assert not is_reached({P0: 5}, {P0: 5}, {}, "latest")
    assert not is_reached({P0: 0}, begins, {}, "error")


def test_deleted_records_are_jumped_over_only_if_the_user_wants_it() -> None:
    """And never when nothing is missing."""
    assert after_deletion(P0, 7, low=7, high=9, reset="error") == 7
    assert after_deletion(P0, 3, low=7, high=9, reset="earliest") == 7
    assert after_deletion(P0, 3, low=7, high=9, reset="latest") == 9
    with pytest.raises(OffsetsGoneError, match="t-0 should go on at 3, but begins at 7"):
        after_deletion(P0, 3, low=7, high=9, reset="error")


def test_a_position_beyond_the_end_is_an_error() -> None:
    """At the end is where readers stand who have read everything."""
    check_within(P0, 9, 9)
    with pytest.raises(OffsetBeyondEndError, match="t-0 should go on at 10, but ends at 9"):
        check_within(P0, 10, 9)


def test_ranges_go_from_positions_to_ends() -> None:
    """In order, without those that have nothing new or whose end is not known."""
    positions = {P1: 5, P0: 3, TopicPartition("u", 0): 1}
    assert next_ranges(positions, {P0: 10, P1: 5}, None, 0) == (OffsetRange("t", 0, 3, 10),)
    assert next_ranges(positions, {P0: 10, P1: 12}, 2, 0) == (OffsetRange("t", 0, 3, 4), OffsetRange("t", 1, 5, 6))
