"""A partition of an embedded broker, without sockets: batches, sequences and transactions."""

from __future__ import annotations

import gzip
import struct

import pytest

from membership_client.testing.embedded.codes import BrokerCode
from membership_client.testing.embedded.log import PartitionLog
from membership_client.testing.embedded.records import CorruptRecordsError, split

_TRANSACTIONAL = 0x10
_GZIP = 1


def batch(
    count: int = 1, *, producer_id: int = -1, epoch: int = 0, sequence: int = 0, attributes: int = 0, first_ms: int = 0
) -> bytes:
    """Records with empty values, a millisecond apart, without a checksum, which embedded brokers do not compare."""
    records = b"".join(bytes([14, 0, 2 * number, 2 * number, 1, 0, 0, 0]) for number in range(count))
    body = gzip.compress(records) if attributes & _GZIP else records
    last = count - 1
    checked = struct.pack(">hiqqqhii", attributes, last, first_ms, first_ms + last, producer_id, epoch, sequence, count)
    return struct.pack(">qiibI", 0, 9 + len(checked) + len(body), -1, 2, 0) + checked + body


def offsets(log: PartitionLog, start: int = 0, most_bytes: int = 10_000, *, before: int | None = None) -> list[int]:
    """The first offsets of the batches that are read."""
    found = log.read(start, most_bytes, before=log.end if before is None else before, at_least_one=True)
    return [split(data)[0].base_offset for data in found]


def test_offsets_count_records() -> None:
    """A batch takes as many offsets as it has records, and is found by each of them."""
    log = PartitionLog()
    assert [log.append(batch(3)), log.append(batch(2))] == [(0, 0), (0, 3)]
    assert (log.end, offsets(log, 2), offsets(log, 3), offsets(log, 5)) == (5, [0, 3], [3], [])


def test_a_fetch_is_limited_by_size_but_never_starves() -> None:
    """The first batch is read even if it is larger than the limit."""
    log = PartitionLog()
    for _ in range(3):
        log.append(batch())
    assert offsets(log, 0, 1) == [0]
    assert offsets(log, 0, 2 * len(batch())) == [0, 1]
    assert log.read(0, 1, before=log.end, at_least_one=False) == []


def test_batches_come_once_and_in_order() -> None:
    """A batch that is sent again is not stored twice; a batch out of order, or of an old epoch, is refused."""
    log = PartitionLog()
    assert log.append(batch(2, producer_id=7)) == (0, 0)
    assert log.append(batch(1, producer_id=7, sequence=2)) == (0, 2)
    assert log.append(batch(2, producer_id=7)) == (0, 0)
    assert log.append(batch(1, producer_id=7, sequence=9)).code == BrokerCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.append(batch(1, producer_id=7, epoch=1)) == (0, 3)
    assert log.append(batch(1, producer_id=7, sequence=3)).code == BrokerCode.INVALID_PRODUCER_EPOCH
    assert log.end == 4


@pytest.mark.parametrize("committed", [True, False])
def test_an_open_transaction_holds_the_stable_end_back(committed: bool) -> None:
    """It does so until its marker is written; readers are told of aborted transactions."""
    log = PartitionLog()
    log.append(batch())
    log.append(batch(2, producer_id=7, attributes=_TRANSACTIONAL))
    log.append(batch())
    assert (log.stable_end, log.end) == (1, 4)
    log.end_transaction(7, 0, committed=committed)
    assert log.stable_end == log.end == 5
    assert log.aborted_between(0, 5) == ([] if committed else [(7, 1, 4)])
    (marker,) = split(log.read(4, 1, before=5, at_least_one=True)[0])
    assert (marker.is_control, marker.is_transactional, marker.count) == (True, True, 1)


@pytest.mark.parametrize("attributes", [0, _GZIP])
def test_a_record_is_found_by_its_time(attributes: int) -> None:
    """It is found in a batch that is compressed with gzip, too."""
    log = PartitionLog()
    log.append(batch(5, first_ms=100, attributes=attributes))
    log.append(batch(5, first_ms=200, attributes=attributes))
    assert [log.first_since(each) for each in (0, 103, 150, 204, 205)] == [(0, 100), (3, 103), (5, 200), (9, 204), None]
    assert log.newest() == (9, 204)


def test_what_is_deleted_cannot_be_read() -> None:
    """Only whole batches are deleted, and the start is the given offset."""
    log = PartitionLog()
    log.append(batch(3))
    log.append(batch(3))
    log.delete_before(4)
    assert (log.start, log.end, offsets(log, 4), log.size) == (4, 6, [3], len(batch(3)))
    log.drop_oldest()
    assert (log.start, log.end, log.size) == (6, 6, 0)


@pytest.mark.parametrize(
    "octets", [b"x", batch()[:-1], batch()[:16] + b"\1" + batch()[17:], b"\0" * 100], ids=["short", "cut", "old", "nil"]
)
def test_what_is_no_batch_is_corrupt(octets: bytes) -> None:
    """It is refused, and nothing is stored."""
    log = PartitionLog()
    with pytest.raises(CorruptRecordsError):
        split(octets)
    assert log.append(octets).code == BrokerCode.CORRUPT_MESSAGE
    assert log.append(batch() + batch()).code == BrokerCode.INVALID_RECORD
    assert log.end == 0
