"""Plans that Kafka's own assignors made, as lines of JSON; `python -m tests.peers.record_java_plans` writes them anew."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import TopicPartition
from tests.core.assignors.groups import Group, Shares

FILE = Path(__file__).with_name("java_plans.jsonl")


@dataclass(frozen=True)
class Recorded:
    """A group, and what each assignor gave its members."""

    group: Group
    plans: Mapping[str, Shares]


def written(record: Recorded) -> str:
    """The case of one line."""
    members = [
        [m.member_id, m.instance_id, sorted(m.topics), m.rack, sorted(m.owned), m.generation]
        for m in record.group.members
    ]
    topics = {
        topic: [layout.partitions, [sorted(racks) for racks in layout.racks]]
        for topic, layout in record.group.topics.items()
    }
    plans = {
        name: {member: sorted(share) for member, share in plan.items() if share} for name, plan in record.plans.items()
    }
    return json.dumps({"members": members, "topics": topics, "plans": plans}, separators=(",", ":"))


def recorded() -> list[Recorded]:
    return [_read(json.loads(line)) for line in FILE.read_text().splitlines()]


def _read(line: dict[str, Any]) -> Recorded:
    members = tuple(
        MemberSubscription(
            member_id=member_id,
            instance_id=instance_id,
            topics=frozenset(topics),
            rack=rack,
            owned=_partitions(owned),
            generation=generation,
        )
        for member_id, instance_id, topics, rack, owned, generation in line["members"]
    )
    topics = {
        topic: TopicLayout(count, tuple(map(frozenset, racks))) for topic, (count, racks) in line["topics"].items()
    }
    plans = {
        name: {m.member_id: _partitions(plan.get(m.member_id, [])) for m in members}
        for name, plan in line["plans"].items()
    }
    return Recorded(Group(members, topics), plans)


def _partitions(pairs: list[list[Any]]) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(topic, number) for topic, number in pairs)
