"""A Fetch request, which waits until there are enough records, or its time is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from membership_client.core.error_codes import Code
from membership_client.testing.embedded.call import BrokerCall
from membership_client.testing.embedded.codes import BrokerCode
from membership_client.testing.embedded.log import PartitionLog
from membership_client.testing.embedded.timers import Timer
from membership_client.testing.embedded.wire import Fields

if TYPE_CHECKING:
    from membership_client.testing.embedded.cluster import Cluster

_TOPIC_ID_VERSION = 13
_READ_COMMITTED = 1
_MOST_BYTES = 16 * 2**20
"""The most bytes of records in one answer, even if the client accepts more."""


@dataclass(frozen=True, slots=True)
class _FetchRange:
    topic: Any
    """The partition's entry in the request."""
    partition: Any


class HeldFetch:
    """One Fetch. `begin()` answers at once, or watches the partitions until it can answer."""

    def __init__(self, cluster: Cluster, call: BrokerCall) -> None:
        self._cluster = cluster
        self._call = call
        self._committed = call.request.isolation_level == _READ_COMMITTED
        self._wanted = [_FetchRange(topic, each) for topic in call.request.topics for each in topic.partitions]
        self._logs: list[PartitionLog] = []
        self._timer: Timer | None = None

    def begin(self) -> None:
        wait_s = self._call.request.max_wait.total_seconds()
        if wait_s <= 0 or self._is_ready():
            self._answer()
            return
        self._logs = [log for each in self._wanted if (log := self._find(each)[0]) is not None]
        for log in self._logs:
            log.watchers.add(self._look)
        self._timer = self._cluster.timers.at(self._call.now + wait_s, lambda _: self._answer())

    def _look(self) -> None:
        """Called after a change in one of the partitions: answer if there is enough."""
        if self._is_ready():
            self._answer()

    def _answer(self) -> None:
        for log in self._logs:
            log.watchers.discard(self._look)
        if self._timer is not None:
            self._timer.cancel()
        self._call.reply({"responses": self._read()})

    # --- enough to answer? -------------------------------------------------------------------------------------------

    def _is_ready(self) -> bool:
        """Whether there are enough bytes, or an error for the client."""
        missing: int = self._call.request.min_bytes
        if missing <= 0:
            return True
        for each in self._wanted:
            log, code = self._find(each)
            if log is None or code:
                return True
            before = log.stable_end if self._committed else log.end
            missing -= log.bytes_after(each.partition.fetch_offset, before=before, enough=missing)
            if missing <= 0:
                return True
        return False

    def _find(self, wanted: _FetchRange) -> tuple[PartitionLog | None, int]:
        topics = self._cluster.topics
        by_id = self._call.version >= _TOPIC_ID_VERSION
        topic = topics.find_by_id(wanted.topic.topic_id) if by_id else topics.find(wanted.topic.topic)
        if topic is None and by_id:
            return None, Code.UNKNOWN_TOPIC_ID
        log, code = self._cluster.find_log(topic, wanted.partition.partition, self._call.node_id)
        if log is not None and not log.start <= wanted.partition.fetch_offset <= log.end:
            return log, BrokerCode.OFFSET_OUT_OF_RANGE
        return log, code

    # --- the answer --------------------------------------------------------------------------------------------------

    def _read(self) -> list[Fields]:
        room = min(_MOST_BYTES, getattr(self._call.request, "max_bytes", _MOST_BYTES))
        answers: list[Fields] = []
        is_first = True
        for topic in self._call.request.topics:
            partitions = []
            for partition in topic.partitions:
                fields, size = self._read_partition(_FetchRange(topic, partition), room, is_first)
                partitions.append(fields)
                room -= size
                is_first = is_first and not size
            names = {name: getattr(topic, name) for name in ("topic", "topic_id") if hasattr(topic, name)}
            answers.append({**names, "partitions": partitions})
        return answers

    def _read_partition(self, wanted: _FetchRange, room: int, is_first: bool) -> tuple[Fields, int]:
        log, code = self._find(wanted)
        index = wanted.partition.partition
        if log is None or code:
            end = -1 if log is None else log.end
            failed = {"partition_index": index, "error_code": code, "high_watermark": end, "last_stable_offset": end}
            return {**failed, "log_start_offset": -1 if log is None else log.start, "records": b""}, 0
        offset = wanted.partition.fetch_offset
        before = log.stable_end if self._committed else log.end
        most = min(room, wanted.partition.partition_max_bytes)
        records = b"".join(log.read(offset, most, before=before, at_least_one=is_first))
        fields = {
            "partition_index": index,
            "high_watermark": log.end,
            "last_stable_offset": log.stable_end,
            "log_start_offset": log.start,
            "aborted_transactions": self._aborted(log, offset, before),
            "records": records,
        }
        return fields, len(records)

    def _aborted(self, log: PartitionLog, offset: int, before: int) -> list[Fields] | None:
        if not self._committed:
            return None
        found = log.aborted_between(offset, before)
        return [{"producer_id": each.producer_id, "first_offset": each.first_offset} for each in found]
