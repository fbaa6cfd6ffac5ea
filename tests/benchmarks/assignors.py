"""A leader's work: a thousand members, a thousand topics, beside Java's assignors on the same bytes.

CPU of the thread that assigns: what a leader's heartbeats wait for, and what a busy machine does not change much. Java's
compiler and collector have threads of their own, which do not count.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from membership_client.core.assignors.registry import BUILT_IN
from membership_client.net.consumer_blobs import SubscriptionReader, encode_subscription
from membership_client.subscriptions import MemberSubscription, TopicLayout
from tests.benchmarks.figures import Figure, Limit
from tests.benchmarks.stage import Sizes, Stage
from tests.peers.java_assignors import JavaAssignors, Said
from tests.peers.jvm import PeerJvm

# A subscription to a thousand topics is a thousand strings in every one of a thousand members.
_JVM = ("-XX:TieredStopAtLevel=4", "-Xmx2g")


@dataclass(frozen=True)
class _Rebalance:
    what: str
    members: Sequence[MemberSubscription]


def measure(stage: Stage, sizes: Sizes) -> list[Figure]:
    members, topics, partitions = sizes.assigned
    layouts = {f"topic-{number:04}": TopicLayout(partitions) for number in range(topics)}
    group = [MemberSubscription(member_id=_member_id(n), topics=frozenset(layouts)) for n in range(members)]
    figures = []
    for name in BUILT_IN:
        # A JVM for each, which has compiled for that one only.
        with PeerJvm(_JVM) as jvm:
            java = JavaAssignors(jvm)
            for rebalance in _rebalances(name, group, layouts):
                stage.say(f"{name}, {rebalance.what}: {members} members, {topics} topics of {partitions} partitions")
                figures.append(_figure(name, rebalance, layouts, java, sizes))
    return figures


def _member_id(number: int) -> str:
    """As brokers make them: their order says nothing."""
    return f"consumer-{number * 7919 % 10_007:05}-{number}"


def _rebalances(
    name: str, group: Sequence[MemberSubscription], layouts: Mapping[str, TopicLayout]
) -> Iterator[_Rebalance]:
    yield _Rebalance("first assignment", group)
    if "sticky" in name:
        plan = BUILT_IN[name].assign(group, layouts)
        held = [replace(member, owned=frozenset(plan[member.member_id]), generation=1) for member in group]
        yield _Rebalance("one leaves, one joins", [*held[1:], replace(group[0], member_id="newcomer")])


def _figure(
    name: str, rebalance: _Rebalance, layouts: Mapping[str, TopicLayout], java: JavaAssignors, sizes: Sizes
) -> Figure:
    said = _said(name, rebalance.members)
    ours, theirs = _ours(name, said, layouts), _java(name, said, layouts, java)
    # In turn, so that both meet the same machine; the first half is for Java's compiler.
    pairs = [(ours(), theirs()) for _ in range(2 * sizes.rounds)][sizes.rounds :]
    ours_ms, java_ms = (1000 * statistics.median(column) for column in zip(*pairs, strict=True))
    return Figure(
        name=f"{name}, {rebalance.what}",
        unit="ms",
        values={"ours": ours_ms, "java": java_ms},
        how=f"CPU of a plan for {len(rebalance.members)} members, median of {sizes.rounds} after as many",
        limit=Limit(1 if "sticky" in name else 3, of_java=True),
    )


def _said(name: str, members: Sequence[MemberSubscription]) -> list[Said]:
    """Who holds the same says the same, which need not be written a thousand times."""
    written = {member.owned: member for member in members}
    data = {owned: encode_subscription(member, name) for owned, member in written.items()}
    return [(member.member_id, None, data[member.owned]) for member in members]


def _ours(name: str, said: Sequence[Said], layouts: Mapping[str, TopicLayout]) -> Callable[[], float]:
    reader = SubscriptionReader(name)
    read = [reader.read(*member) for member in said]
    assign = BUILT_IN[name].assign

    def plan() -> float:
        began_at = time.thread_time()
        assign(read, layouts)
        return time.thread_time() - began_at

    return plan


def _java(
    name: str, said: Sequence[Said], layouts: Mapping[str, TopicLayout], java: JavaAssignors
) -> Callable[[], float]:
    group, cluster = java.group(said), java.cluster(layouts)

    def plan() -> float:
        assignor = java.assignor(name)
        began_at = java.cpu_s()
        made = assignor.assign(cluster, group)
        spent_s = java.cpu_s() - began_at
        # Or the JVM keeps it for us as long as it lives.
        made._detach()
        return spent_s

    return plan
