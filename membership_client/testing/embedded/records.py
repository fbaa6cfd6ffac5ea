"""Record batches (format 2): their headers, and timestamps of records. Batches are stored as they came."""

from __future__ import annotations

import functools
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

_OFFSET = struct.Struct(">q")
_HEADER = struct.Struct(">qiibIhiqqqhii")
_CHECKED = struct.Struct(">hiqqqhii")
"""The position of the attributes. The checksum is of the bytes from there."""
_PREFIX = 12
"""The bytes of base offset and length, which the length does not count."""
_MAGIC = 2
_GZIP = 1
_CODEC, _TRANSACTIONAL, _CONTROL = 0x07, 0x10, 0x20
_CASTAGNOLI = 0x82F63B78


class CorruptRecordsError(ValueError):
    """The bytes are no record batches of format 2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    base_offset: int
    data: bytes
    attributes: int
    last_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    sequence: int
    count: int

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_delta + 1

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record. After the greatest int32 they start again at zero."""
        return (self.sequence + self.last_delta) & 0x7FFFFFFF

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & _CONTROL)

    def at(self, offset: int) -> Batch:
        """The same batch at another offset, which its checksum does not cover. Its leader epoch becomes 0."""
        data = _OFFSET.pack(offset) + self.data[8:12] + bytes(4) + self.data[16:]
        return replace(self, base_offset=offset, data=data)

    def first_since(self, timestamp: int) -> tuple[int, int]:
        """Offset and timestamp of the first record that is not older.

        Of compressed batches only gzip is read. In another compression all records count as having the first one's timestamp.
        """
        for delta, when in self._timestamps():
            if when >= timestamp:
                return self.base_offset + delta, when
        return self.base_offset, self.base_timestamp

    def _timestamps(self) -> Iterator[tuple[int, int]]:
        codec = self.attributes & _CODEC
        if codec not in {0, _GZIP}:
            return
        body = self.data[_HEADER.size :] if codec == 0 else zlib.decompress(self.data[_HEADER.size :], 31)
        at = 0
        for _ in range(self.count):
            length, start = _varint(body, at)
            # One byte of attributes comes first.
            timestamp_delta, after = _varint(body, start + 1)
            offset_delta, _ = _varint(body, after)
            yield offset_delta, self.base_timestamp + timestamp_delta
            at = start + length


def split(data: bytes) -> list[Batch]:
    """The batches that a producer sent. Raises CorruptRecordsError; checksums are not compared."""
    batches, at = [], 0
    while at < len(data):
        try:
            base, length, _, magic, _, *rest = _HEADER.unpack_from(data, at)
        except struct.error as error:
            raise CorruptRecordsError("a batch is shorter than its header") from error
        end = at + _PREFIX + length
        if magic != _MAGIC or length < _HEADER.size - _PREFIX or end > len(data):
            raise CorruptRecordsError(f"a batch of format {magic} announces {length} bytes of {len(data) - at}")
        batches.append(_batch(base, data[at:end], *rest))
        at = end
    return batches


def _batch(base: int, data: bytes, *rest: int) -> Batch:
    attributes, last_delta, base_timestamp, max_timestamp, producer_id, producer_epoch, sequence, count = rest
    return Batch(
        base_offset=base,
        data=data,
        attributes=attributes,
        last_delta=last_delta,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        sequence=sequence,
        count=count,
    )


def end_marker(producer_id: int, producer_epoch: int, timestamp: int, *, committed: bool) -> Batch:
    """The control batch with which a transaction ends in a partition."""
    key = struct.pack(">hh", 0, committed)
    value = struct.pack(">hi", 0, 0)
    # Attributes, timestamp delta, offset delta, key, value, no headers; all lengths are zigzag numbers of one byte.
    record = bytes([0, 0, 0, 2 * len(key)]) + key + bytes([2 * len(value)]) + value + b"\0"
    attributes = _TRANSACTIONAL | _CONTROL
    checked = _CHECKED.pack(attributes, 0, timestamp, timestamp, producer_id, producer_epoch, -1, 1)
    checked += bytes([2 * len(record)]) + record
    head = struct.pack(">qiibI", 0, 9 + len(checked), 0, _MAGIC, _crc32c(checked))
    return split(head + checked)[0]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag number with seven bits in each byte, and the position after it."""
    value = shift = 0
    while True:
        octet = data[at]
        at += 1
        value |= (octet & 0x7F) << shift
        if octet < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for octet in data:
        crc = _crc_table()[(crc ^ octet) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


@functools.cache
def _crc_table() -> list[int]:
    table = []
    for number in range(256):
        crc = number
        for _ in range(8):
            crc = (crc >> 1) ^ _CASTAGNOLI if crc & 1 else crc >> 1
        table.append(crc)
    return table
