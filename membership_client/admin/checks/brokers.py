"""Rules about brokers: whether any group may use KIP-848 on them, and whether this group may move to it, and back."""

from __future__ import annotations

from collections.abc import Iterator

from membership_client.admin.checks.facts import HEARTBEAT_API, GroupFacts
from membership_client.admin.checks.finding import Finding, FindingKind, Severity, blocker

_PROTOCOLS, _POLICY, _MAX_SIZE = (
    "group.coordinator.rebalance.protocols",
    "group.consumer.migration.policy",
    "group.consumer.max.size",
)
_WITHOUT_UPGRADE = "Or stop all members of the group, and start them with KIP-848: an empty group needs no upgrade, and keeps its offsets."


def of_brokers(facts: GroupFacts) -> Iterator[Finding]:
    """What prevents KIP-848 for every group."""
    if old := [broker.node for broker in facts.brokers if not broker.has(HEARTBEAT_API, 1)]:
        yield blocker(
            FindingKind.BROKERS_TOO_OLD,
            f"{_brokers(', '.join(str(node.node_id) for node in old))} not have KIP-848.",
            "Upgrade all brokers to Kafka 4.0 or later; until then the group stays classic.",
        )
        return
    # Kafka 4.0 and later always reports some feature; brokers of other makers may report none.
    if facts.features and facts.features.get("group.version", 0) < 1:
        yield blocker(
            FindingKind.FEATURE_OFF,
            "The cluster's feature group.version is at level 0, so coordinators refuse KIP-848 with UNSUPPORTED_VERSION.",
            "kafka-features.sh --bootstrap-server ... upgrade --feature group.version=1",
        )
    if off := facts.brokers_where(_PROTOCOLS, frozenset({"consumer"})):
        yield blocker(
            FindingKind.PROTOCOL_OFF,
            f"{_brokers(off)} not allow KIP-848: {_PROTOCOLS} does not contain consumer.",
            f"Set {_PROTOCOLS}=classic,consumer,streams on all brokers, or remove the key, and restart them one by one.",
        )
    if any(broker.settings is None for broker in facts.brokers):
        yield Finding(
            kind=FindingKind.NOT_CHECKED,
            severity=Severity.WARNING,
            sentence="Access to the settings of brokers is denied, so they were not checked.",
            advice="Repeat the check as a user with DESCRIBE_CONFIGS on the cluster.",
        )


def of_move(facts: GroupFacts) -> Iterator[Finding]:
    """What prevents a classic group from becoming a KIP-848 group while its members run."""
    if not facts.is_classic or not facts.view.members:
        return
    yield from _policy(facts)
    yield from _size(facts)


def _policy(facts: GroupFacts) -> Iterator[Finding]:
    if off := facts.brokers_where(_POLICY, frozenset({"bidirectional", "upgrade"})):
        yield blocker(
            FindingKind.UPGRADE_OFF,
            f"{_brokers(off)} not move classic groups with members to KIP-848: {_POLICY} forbids it.",
            f"Set {_POLICY}=bidirectional, the default, on all brokers, and restart them one by one. {_WITHOUT_UPGRADE}",
        )
    elif off := facts.brokers_where(_POLICY, frozenset({"bidirectional", "downgrade"})):
        yield Finding(
            kind=FindingKind.DOWNGRADE_OFF,
            severity=Severity.WARNING,
            sentence=f"{_brokers(off)} not move the group back to the classic protocol while it has members: {_POLICY} is upgrade.",
            advice=f"Set {_POLICY}=bidirectional until the roll is finished. Without it the way back is to stop all members first.",
        )


def _size(facts: GroupFacts) -> Iterator[Finding]:
    most, size = facts.least(_MAX_SIZE), len(facts.view.members)
    if most is None or size < most:
        return
    if size > most:
        yield blocker(
            FindingKind.GROUP_TOO_LARGE,
            f"The group has {size} members, and a KIP-848 group may have {most}: {_MAX_SIZE}. Coordinators refuse the move.",
            f"Raise {_MAX_SIZE} on all brokers, and restart them one by one.",
        )
    else:
        yield Finding(
            kind=FindingKind.NO_ROOM,
            severity=Severity.WARNING,
            sentence=f"The group has {size} members, as many as {_MAX_SIZE} allows: a member that starts before another has "
            "left is refused with GROUP_MAX_SIZE_REACHED.",
            advice=f"Raise {_MAX_SIZE} on all brokers, or stop each member before its replacement starts.",
        )


def _brokers(ids: str) -> str:
    return f"Brokers {ids} do" if "," in ids else f"Broker {ids} does"
