"""What a broker says of a group of either protocol, asked through confluent-kafka and not through anything of ours."""

from __future__ import annotations

from dataclasses import dataclass

from confluent_kafka import ConsumerGroupState, KafkaException
from confluent_kafka.admin import AdminClient

from membership_client import TopicPartition

# A broker that has just started may leave the question unanswered; whoever waits for an answer asks again.
_TIMEOUT_S = 3.0
_NOBODY = {ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD}


@dataclass(frozen=True, slots=True)
class Described:
    """Is nothing under way, and who has what? A group that nobody ever joined has no members either."""

    settled: bool
    shares: dict[str, frozenset[TopicPartition]]


class Coordinator:
    def __init__(self, bootstrap_servers: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})

    def describe(self, group_id: str) -> Described:
        asked = self._admin.describe_consumer_groups([group_id], request_timeout=_TIMEOUT_S)[group_id]
        try:
            group = asked.result()
        except KafkaException:
            return Described(settled=False, shares={})
        shares = {member.member_id: _partitions(member.assignment.topic_partitions) for member in group.members}
        calm = _NOBODY if not shares else {ConsumerGroupState.STABLE}
        return Described(settled=group.state in calm, shares=shares)


def _partitions(told: list[object]) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(each.topic, each.partition) for each in told)  # type: ignore[attr-defined]
