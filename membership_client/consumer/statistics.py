"""librdkafka's statistics, with what it does not know because our member is the one in the group: offsets, lag, the group."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from membership_client.consumer.buffer import Buffer, Place
from membership_client.consumer.pending_offsets import PendingOffsets
from membership_client.core.events import RunCallback
from membership_client.core.machine import Step
from membership_client.types import MemberState, Snapshot, TopicPartition
from membership_client.values import dataclass

logger = logging.getLogger("membership_client")

_NO_OFFSET = -1001
_NO_LAG = -1

_JOIN_STATES = {
    MemberState.JOINING: "wait-join",
    MemberState.RECONCILING: "wait-assign-call",
    MemberState.ACK: "steady",
    MemberState.STABLE: "steady",
}
"""The states by librdkafka's names; all other states are "init" there."""

_ENDED = {MemberState.FATAL, MemberState.UNSUBSCRIBED}


Positions = Mapping[Place, int | None]


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the numbers come from. `snapshot` returns None without a subscription."""

    snapshot: Callable[[], Snapshot | None]
    buffer: Buffer
    pending: PendingOffsets


class Statistics:
    """Fills in librdkafka's statistics and calls the application's `stats_cb`. A text that it cannot read is passed on unchanged."""

    def __init__(self, tell: Callable[[str], object], *, auto_store: bool, read_committed: bool) -> None:
        self._sources: Sources | None = None
        self._tell = tell
        self._auto_store = auto_store
        self._end = "ls_offset" if read_committed else "hi_offset"
        """The field with the end of a partition for this consumer, from which librdkafka counts lag."""
        self._since: dict[str, float] = {}
        self._rebalances = 0
        self._reason = ""
        self._warned = False

    def read_from(self, snapshot: Callable[[], Snapshot | None], buffer: Buffer, pending: PendingOffsets) -> None:
        """Until this is called, texts are passed on as librdkafka wrote them."""
        self._sources = Sources(snapshot, buffer, pending)

    def __call__(self, text: str) -> object:
        return self._tell(self._filled(text))

    def on_step(self, step: Step) -> None:
        """Count rebalances as librdkafka does, one for each callback. Called on the membership thread."""
        if step.after.state is not step.before.state:
            self._since["state"] = step.at
        for effect in step.effects:
            if isinstance(effect, RunCallback):
                self._rebalances += 1
                self._reason = str(effect.cause)
                self._since["rebalance"] = step.at

    # --- where librdkafka tells its statistics -----------------------------------------------------------------------

    def _filled(self, text: str) -> str:
        sources = self._sources
        if sources is None:
            return text
        try:
            found = json.loads(text)
            self._fill_partitions(found.get("topics", {}), sources)
            if "cgrp" in found and (snapshot := sources.snapshot()) is not None:
                found["cgrp"] |= self._group(snapshot)
            return json.dumps(found, separators=(",", ":"))
        except Exception:  # An error in the statistics must not keep an application from reading.
            if not self._warned:
                self._warned = True
                logger.warning("Statistics are passed on as librdkafka wrote them, without lag.", exc_info=True)
            return text

    def _fill_partitions(self, topics: Mapping[str, Any], sources: Sources) -> None:
        waiting = sources.buffer.positions()
        for topic, told in topics.items():
            for name, numbers in told["partitions"].items():
                if name != "-1":  # librdkafka's entry for messages without a partition.
                    self._fill(TopicPartition(topic, int(name)), numbers, waiting, sources.pending)

    def _fill(
        self, partition: TopicPartition, numbers: dict[str, Any], waiting: Positions, pending: PendingOffsets
    ) -> None:
        read = waiting.get(partition, numbers["app_offset"])
        read = _NO_OFFSET if read is None else read
        told = read if self._auto_store else pending.stored(partition, _NO_OFFSET)
        committed = pending.committed(partition, numbers["committed_offset"])
        end = numbers[self._end]
        numbers["app_offset"] = read
        numbers["stored_offset"] = told
        # "commited" is librdkafka's own misspelling, which programs may read.
        numbers["committed_offset"] = numbers["commited_offset"] = committed
        numbers["consumer_lag"], numbers["consumer_lag_stored"] = _lag(committed, end), _lag(told, end)

    def _group(self, snapshot: Snapshot) -> dict[str, Any]:
        ended = snapshot.state in _ENDED
        return {
            "state": "term" if ended else "up" if snapshot.coordinator is not None else "query-coord",
            "stateage": self._age_ms("state"),
            "join_state": _JOIN_STATES.get(snapshot.state, "init"),
            "rebalance_age": self._age_ms("rebalance"),
            "rebalance_cnt": self._rebalances,
            "rebalance_reason": self._reason,
            "assignment_size": len(snapshot.owned),
        }

    def _age_ms(self, what: str) -> int:
        at = self._since.get(what)
        return 0 if at is None else max(0, int((time.monotonic() - at) * 1000))


def _lag(offset: int, end: int) -> int:
    """The lag as librdkafka counts it: -1 if one of the two is not known, or if the known end is before the offset."""
    return end - offset if 0 <= offset <= end else _NO_LAG
