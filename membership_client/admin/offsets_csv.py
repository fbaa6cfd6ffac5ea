"""Offsets in the CSV format of kafka-consumer-groups: one line `topic,partition,offset` for each partition."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping

from membership_client.arguments import checked_instance, checked_offsets, checked_text, shown
from membership_client.errors import ConfigError
from membership_client.types import TopicPartition

_DIGITS = re.compile(r"[0-9]{1,19}")
"""An int64 has at most 19 digits."""


def write_csv(offsets: Mapping[TopicPartition, int]) -> str:
    text = io.StringIO()
    rows = ((*partition, offset.offset) for partition, offset in sorted(checked_offsets(offsets).items()))
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def read_csv(text: str, group_id: str) -> dict[TopicPartition, int]:
    """Offsets of the group. With four columns the first is the group, and lines of other groups are ignored.

    Raises:
        ConfigError: a line cannot be read, or names a partition a second time.
    """
    offsets: dict[TopicPartition, int] = {}
    checked_text("group_id", group_id)
    for number, row in enumerate(_rows(text), start=1):
        if not row or (len(row) == 4 and row[0] != group_id):
            continue
        partition, offset = _parse(row[-3:], number)
        if partition in offsets:
            raise ConfigError(f"Line {number} names {partition} a second time.")
        offsets[partition] = offset
    return offsets


def _rows(text: object) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(checked_instance("text", text, str))))
    except csv.Error as error:
        raise ConfigError(f"This is not CSV: {error}.") from None


def _parse(row: list[str], number: int) -> tuple[TopicPartition, int]:
    cells = [cell.strip() for cell in row]
    if len(cells) != 3 or not cells[0] or not all(map(_DIGITS.fullmatch, cells[1:])):
        raise ConfigError(f"Line {number} is not topic,partition,offset: {shown(','.join(row))}.")
    try:
        ((partition, offset),) = checked_offsets({(cells[0], int(cells[1])): int(cells[2])}).items()
    except ConfigError as error:
        raise ConfigError(f"Line {number}: {error}") from None
    return partition, offset.offset
