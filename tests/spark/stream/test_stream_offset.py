"""What a stream's checkpoint has of a batch: JSON that Spark compares as text."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as some

from membership_client import TopicPartition
from membership_client_spark.pipeline.ranges import OffsetRange
from membership_client_spark.stream.offsets import StreamOffset

PLACES = some.builds(TopicPartition, some.sampled_from(["orders", "bills", "a.b"]), some.integers(0, 30))
ENDS = some.dictionaries(PLACES, some.integers(0, 2**62), max_size=8)


@given(ENDS, some.data())
def test_an_offset_is_the_same_text_again_and_again(ends: dict[TopicPartition, int], data: some.DataObject) -> None:
    """Spark takes another text for new records: an idle query would run batches without end."""
    started = data.draw(some.lists(some.sampled_from(sorted(ends)), unique=True)) if ends else []
    offset = StreamOffset(batch=7, ends=ends, starts={p: ends[p] // 2 for p in started}, topic_ids={"orders": "Zx"})
    text = json.dumps(offset.to_json())
    assert StreamOffset.from_json(json.loads(text)) == offset
    assert json.dumps(StreamOffset.from_json(json.loads(text)).to_json()) == text


def test_the_next_batch_keeps_what_it_does_not_read() -> None:
    """Partitions of other members stay where they were; ids of new topics are added."""
    first = StreamOffset(batch=1, ends={TopicPartition("orders", 0): 5}, topic_ids={"orders": "Zx"})
    (piece,) = ranges = (OffsetRange("bills", 3, 2, 9),)
    second = first.after(ranges, {"bills": "Qy"})
    assert (second.batch, second.ranges) == (2, (piece,))
    assert second.ends == {TopicPartition("orders", 0): 5, TopicPartition("bills", 3): 9}
    assert second.topic_ids == {"orders": "Zx", "bills": "Qy"}
    assert second.after((), {}).ranges == ()


def test_the_offsets_are_written_as_sparks_own_source_writes_them() -> None:
    """What reads a query's progress finds topic, partition and next offset."""
    offset = StreamOffset(ends={TopicPartition("orders", 10): 4, TopicPartition("orders", 2): 0})
    assert offset.to_json()["offsets"] == {"orders": {"2": 0, "10": 4}}
