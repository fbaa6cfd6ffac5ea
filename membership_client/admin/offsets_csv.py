"""Offsets as Kafka's own tool writes and reads them: `topic,partition,offset`, a line each."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from membership_client.errors import ConfigError
from membership_client.types import TopicPartition


def write_csv(offsets: Mapping[TopicPartition, int]) -> str:
    text = io.StringIO()
    rows = ((partition.topic, partition.partition, offset) for partition, offset in sorted(offsets.items()))
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def read_csv(text: str, group_id: str) -> dict[TopicPartition, int]:
    """Also with the group as a first column, as the tool writes several groups; other groups' lines are passed over.

    Raises:
        ConfigError: names the line that is none, or says a partition twice.
    """
    offsets: dict[TopicPartition, int] = {}
    for number, row in enumerate(csv.reader(io.StringIO(text)), start=1):
        if not row or (len(row) == 4 and row[0] != group_id):
            continue
        partition, offset = _parse(row[-3:], number)
        if partition in offsets:
            raise ConfigError(f"Line {number} names {partition} a second time.")
        offsets[partition] = offset
    return offsets


def _parse(row: list[str], number: int) -> tuple[TopicPartition, int]:
    cells = [cell.strip() for cell in row]
    if len(cells) != 3 or not cells[0] or not cells[1].isdecimal() or not cells[2].isdecimal():
        raise ConfigError(f"Line {number} is not topic,partition,offset: {','.join(row)!r}.")
    return TopicPartition(cells[0], int(cells[1])), int(cells[2])
