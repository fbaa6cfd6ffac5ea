"""Changes of a group between two rebalances."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from membership_client.subscriptions import MemberSubscription, TopicLayout
from tests.core.assignors.groups import RACKS, TOPICS, Group


def changed(random: Random, group: Group) -> Group:
    """The group after a random one of these changes. It has two members or more."""
    return random.choice([_left, _joined, _resubscribed, _grown])(random, group)


def _left(random: Random, group: Group) -> Group:
    gone = random.choice(group.members)
    return Group(tuple(member for member in group.members if member is not gone), group.topics)


def _joined(random: Random, group: Group) -> Group:
    like = random.choice(group.members)
    rack = random.choice(RACKS) if like.rack else None
    newcomers = [
        MemberSubscription(member_id=f"{n}new", topics=like.topics, rack=rack) for n in range(random.randint(1, 2))
    ]
    return Group((*group.members, *newcomers), group.topics)


def _resubscribed(random: Random, group: Group) -> Group:
    at = random.randrange(len(group.members))
    members = list(group.members)
    members[at] = replace(members[at], topics=frozenset(random.sample(TOPICS, random.randint(1, len(TOPICS)))))
    return Group(tuple(members), group.topics)


def _grown(random: Random, group: Group) -> Group:
    topic, layout = random.choice(sorted(group.topics.items(), key=lambda item: item[0]))
    more = random.randint(1, 4)
    racks = (*layout.racks, *[frozenset({random.choice(RACKS)})] * more) if layout.racks else ()
    return Group(group.members, {**group.topics, topic: TopicLayout(layout.partitions + more, racks)})
