"""Offsets as Kafka's own tool writes and reads them: `topic,partition,offset`, a line each."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping

from membership_client.arguments import checked_instance, checked_offsets, checked_text, shown
from membership_client.errors import ConfigError
from membership_client.types import TopicPartition

_DIGITS = re.compile(r"[0-9]{1,19}")
"""Of an int64 at most."""


def write_csv(offsets: Mapping[TopicPartition, int]) -> str:
    text = io.StringIO()
    rows = ((*partition, offset.offset) for partition, offset in sorted(checked_offsets(offsets).items()))
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def read_csv(text: str, group_id: str) -> dict[TopicPartition, int]:
    """Also with the group as a first column, as the tool writes several groups; other groups' lines are passed over.

    Raises:
        ConfigError: names the line that is none, or says a partition twice.
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
