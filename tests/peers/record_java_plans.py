"""Records what Kafka's own assignors plan for some groups, for tests without a JVM: `python -m tests.peers.record_java_plans`.

Only plans that do not depend on the order of Java's hash maps are kept. Java's sticky assignors order static
members by their member ids, which change with each restart, and ours by instance ids: these are not compared.
"""

from __future__ import annotations

from random import Random

from membership_client.core.assignors.registry import BUILT_IN
from tests.core.assignors.changes import changed
from tests.core.assignors.groups import Group, Shares, random_group, unnamed
from tests.core.assignors.recorded import FILE, Recorded, written
from tests.peers.java_assignors import JavaAssignors, leaves_a_choice
from tests.peers.jvm import PeerJvm

GROUPS = 80
_PREFIXES = ("", "x", "ab", "wor", "long")


def main() -> None:
    with PeerJvm() as jvm:
        java = JavaAssignors(jvm)
        records = [_record(java, group) for seed in range(GROUPS) for group in _groups(java, seed)]
    FILE.write_text("".join(f"{written(record)}\n" for record in records if record.plans))


def _groups(java: JavaAssignors, seed: int) -> list[Group]:
    """One that begins, and one whose members hold what an earlier plan gave them; every other with racks."""
    random = Random(seed)
    first = random_group(random, static=seed % 4 == 0, racks=seed % 2 == 1, at_least=2)
    return [first, changed(random, first.holding(java.assign("sticky", first.members, first.topics), 1))]


def _record(java: JavaAssignors, group: Group) -> Recorded:
    is_static = any(member.instance_id for member in group.members)
    names = [name for name in BUILT_IN if "sticky" not in name or not (is_static or leaves_a_choice(group))]
    found = {name: _plans(java, name, group) for name in names}
    return Recorded(group, {name: plans[0] for name, plans in found.items() if all(plan == plans[0] for plan in plans)})


def _plans(java: JavaAssignors, name: str, group: Group) -> list[Shares]:
    """With other names of topics as well: then Java's hash maps have another order."""
    others = [(prefix, group.renamed(prefix)) for prefix in _PREFIXES]
    return [unnamed(java.assign(name, other.members, other.topics), prefix) for prefix, other in others]


if __name__ == "__main__":
    main()
