"""Where partitions begin and end, asked of the brokers for all partitions at once."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from typing import Any

import confluent_kafka
from confluent_kafka import IsolationLevel, KafkaException
from confluent_kafka.admin import AdminClient, OffsetSpec

from membership_client import ConfigError, ConnectionProblem, TopicPartition

_TIMEOUT_S = 30.0
_AGAIN_S = 0.2
_EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]

logger = logging.getLogger("membership_client_spark")


class Watermarks:
    """Blocks while it asks. A partition without a leader is left out of the result, and logged."""

    def __init__(self, clients: Mapping[str, Any], *, only_committed: bool) -> None:
        self._config = {**clients, "log_level": 0}
        self._admin = AdminClient(self._config)
        self._troubled: dict[TopicPartition, str] = {}
        self._ends_seen = IsolationLevel.READ_COMMITTED if only_committed else IsolationLevel.READ_UNCOMMITTED

    def partitions(self, topics: Iterable[str]) -> frozenset[TopicPartition]:
        """All partitions of the topics. ConfigError for a topic that does not exist."""
        try:
            found = {topic: self._admin.list_topics(topic, timeout=_TIMEOUT_S).topics[topic] for topic in topics}
        except KafkaException as error:
            raise ConnectionProblem(f"The topics cannot be looked up: {error}.") from error
        if missing := sorted(topic for topic, known in found.items() if known.error):
            raise ConfigError(f"There is no topic {', '.join(missing)}. Create it, or correct topics.")
        return frozenset(TopicPartition(topic, number) for topic, known in found.items() for number in known.partitions)

    def begins(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offset that was not deleted."""
        return self._ask(places, _EARLIEST, IsolationLevel.READ_UNCOMMITTED)

    def ends(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset after the last one that may be read."""
        return self._ask(places, _LATEST, self._ends_seen)

    def all_ends(self, places: frozenset[TopicPartition]) -> dict[TopicPartition, int]:
        """As `ends`, for each of them. ConnectionProblem if one has no leader for 30 s."""
        give_up_at = time.monotonic() + _TIMEOUT_S
        while (found := self.ends(places)).keys() != places:
            if time.monotonic() > give_up_at:
                missing = ", ".join(map(str, sorted(places - found.keys())))
                raise ConnectionProblem(
                    f"No leader told within {_TIMEOUT_S:g} s where these partitions end: {missing}."
                )
            time.sleep(_AGAIN_S)
        return found

    def last_ends(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """As `ends`, with the records of open transactions."""
        return self._ask(places, _LATEST, IsolationLevel.READ_UNCOMMITTED)

    def _ask(
        self, places: Iterable[TopicPartition], which: OffsetSpec, isolation: IsolationLevel
    ) -> dict[TopicPartition, int]:
        wanted = {confluent_kafka.TopicPartition(*place): which for place in places}
        if not wanted:
            return {}
        answers = self._admin.list_offsets(wanted, isolation_level=isolation, request_timeout=_TIMEOUT_S)
        found, troubled = dict[TopicPartition, int](), dict[TopicPartition, str]()
        for answered, answer in answers.items():
            place = TopicPartition(answered.topic, answered.partition)
            try:
                found[place] = answer.result().offset
            except KafkaException as error:
                troubled[place] = str(error)
        self._note_problems(troubled)
        return found

    def _note_problems(self, troubled: dict[TopicPartition, str]) -> None:
        """Logs each problem once, and makes a new client: the old one may never learn of new leaders."""
        for place in sorted(troubled.keys() - self._troubled.keys()):
            logger.warning("the offsets of %s cannot be looked up: %s", place, troubled[place])
        self._troubled = troubled
        if troubled:
            self._admin = AdminClient(self._config)
