"""The records that a test gives to a run: a number, or keys and values."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import TypeAlias

from membership_client.arguments import checked_items, checked_whole, shown
from membership_client.errors import ConfigError

Text: TypeAlias = bytes | str
Records: TypeAlias = int | Iterable[tuple[Text, Text]]

_MOST = 1_000_000
_KEYS = 7


def checked_records(records: Records, first: int = 0) -> tuple[tuple[bytes, bytes], ...]:
    """The records as keys and values. A number stands for different values, numbered from `first`. ConfigError for others."""
    if isinstance(records, Iterable):
        return checked_items("records", records, _checked_record)
    count = checked_whole("records", records, most=_MOST)
    return tuple((b"key-%d" % (number % _KEYS), b"value-%d" % number) for number in range(first, first + count))


def _checked_record(name: str, record: object) -> tuple[bytes, bytes]:
    if not isinstance(record, tuple) or len(record) != 2 or not all(isinstance(part, Text) for part in record):
        raise ConfigError(f"{name} is a pair of key and value, each a text or bytes, not {shown(record)}.")
    try:
        key, value = (part.encode() if isinstance(part, str) else part for part in record)
    except UnicodeEncodeError:
        raise ConfigError(f"{name} is a text that UTF-8 can encode, not {shown(record)}.") from None
    return key, value


def partition_of(key: bytes, partitions: int) -> int:
    """The partition of a record with this key. All records with one key are in one partition."""
    return zlib.crc32(key) % partitions
