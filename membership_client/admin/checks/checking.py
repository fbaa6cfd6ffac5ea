"""Applies the rules that belong to a change, and sorts their findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from membership_client.admin.checks import brokers, client_rules, members
from membership_client.admin.checks.facts import JOIN_API, ClientFacts, GroupFacts
from membership_client.admin.checks.finding import ChangeTo, Finding, FindingKind, GroupCheck, Severity, blocker
from membership_client.admin.checks.patterns import of_pattern

_STATIC_JOIN_VERSION = 5
_DEFAULT_STRATEGIES = ("range", "cooperative-sticky")
_ORDER = list(Severity)


def check(facts: GroupFacts, to: ChangeTo) -> GroupCheck:
    """Check the facts for a change. Pure: the same facts give the same findings."""
    found = sorted(_RULES[to](facts), key=lambda finding: _ORDER.index(finding.severity))
    return GroupCheck(view=facts.view, to=to, findings=tuple(found), unchecked=tuple(_unchecked(facts)))


def _unchecked(facts: GroupFacts) -> Iterator[str]:
    if facts.client is None:
        yield "Keys and ACLs of the members: give their configuration."
    elif facts.client.rights is None:
        yield "ACLs of the members: the keys about security are refused."
    elif facts.client.rights.group is None:
        yield "ACLs of the members: the brokers do not report them."
    if facts.classic_members:
        yield "The versions of clients, and strategies that the group does not use: coordinators do not report them."


# --- to KIP-848 ------------------------------------------------------------------------------------------------------


def _to_consumer(facts: GroupFacts) -> Iterator[Finding]:
    yield from _barriers(facts)
    yield from members.of_clients(facts)
    yield from members.of_partners(facts)
    yield from members.of_static_members(facts)
    yield from client_rules.of_session(facts)
    yield from client_rules.of_assignor(facts)
    if facts.client is not None:
        yield from client_rules.of_keys(facts.client)
        yield from client_rules.of_protocol_keys(facts.client)
        yield from client_rules.of_rights(facts.client, to_consumer=True)
    for pattern in facts.patterns:
        yield from of_pattern(pattern, facts.topics)


def _barriers(facts: GroupFacts) -> Iterator[Finding]:
    """What prevents KIP-848 for the group with any configuration of its members."""
    yield from brokers.of_brokers(facts)
    yield from brokers.of_move(facts)
    yield from members.of_assignment(facts)


# --- to static membership --------------------------------------------------------------------------------------------


def _to_static(facts: GroupFacts) -> Iterator[Finding]:
    if any(not broker.has(JOIN_API, _STATIC_JOIN_VERSION) for broker in facts.brokers):
        yield blocker(
            FindingKind.BROKERS_TOO_OLD,
            "Some brokers are older than Kafka 2.3, which static membership needs.",
            "Upgrade the brokers.",
        )
    yield from members.of_instance_ids(facts)
    yield from _full(facts)
    if facts.client is not None:
        yield from _keys_of_static(facts, facts.client)
    if not facts.is_classic:
        yield from members.of_static_members(facts)


def _keys_of_static(facts: GroupFacts, client: ClientFacts) -> Iterator[Finding]:
    yield from client_rules.of_keys(client)
    yield from client_rules.of_session_bounds(facts)
    yield from client_rules.of_rights(client, to_consumer=not facts.is_classic)
    if client.member is not None and client.member.group_instance_id is None:
        yield blocker(
            FindingKind.NO_INSTANCE_ID,
            "The configuration has no group.instance.id, so its member is dynamic.",
            "Give each process an id of its own that its replacement has, too: see membership_client.identity.",
        )


def _full(facts: GroupFacts) -> Iterator[Finding]:
    key = "group.max.size" if facts.is_classic else "group.consumer.max.size"
    most = facts.least(key)
    if most is not None and len(facts.view.members) >= most:
        yield Finding(
            kind=FindingKind.NO_ROOM,
            severity=Severity.WARNING,
            sentence=f"The group has {len(facts.view.members)} members, as many as {key} allows. Coordinators then refuse the "
            "restart of a static member as well (KIP-848: before Kafka 4.3), because it begins as another member.",
            advice=f"Raise {key} on all brokers.",
        )


# --- from another client to membership_client ------------------------------------------------------------------------


def _to_membership_client(facts: GroupFacts) -> Iterator[Finding]:
    if facts.client is not None:
        yield from client_rules.of_keys(facts.client)
        yield from client_rules.of_rights(facts.client, to_consumer=not facts.is_classic)
    protocol = facts.client.protocol if facts.client is not None else "auto"
    if not facts.is_classic or not facts.view.members:
        return
    barriers = [finding for finding in _barriers(facts) if finding.severity is Severity.BLOCKER]
    if protocol == "classic" or (barriers and protocol != "consumer"):
        yield from _strategies(facts)
    elif barriers:
        yield from barriers
    else:
        yield _moves(is_certain=facts.client is not None)


def _moves(*, is_certain: bool) -> Finding:
    return Finding(
        kind=FindingKind.MOVES_GROUP,
        severity=Severity.WARNING if is_certain else Severity.NOTE,
        sentence="Without group.protocol=classic the first process with membership_client moves the whole group to KIP-848.",
        advice="Set group.protocol=classic until all processes have moved; then check the group for KIP-848, and remove the key.",
    )


def _strategies(facts: GroupFacts) -> Iterator[Finding]:
    ours = facts.config.partition_assignment_strategy if facts.config is not None else _DEFAULT_STRATEGIES
    if not facts.view.assignor or facts.view.assignor in ours:
        return
    yield blocker(
        FindingKind.NO_COMMON_STRATEGY,
        f"The group assigns by {facts.view.assignor}, and the new member can assign by {', '.join(ours)}. The "
        "coordinator refuses it with INCONSISTENT_GROUP_PROTOCOL, unless all members have one of these, too.",
        f"Set partition.assignment.strategy={facts.view.assignor}.",
    )


_RULES: Mapping[ChangeTo, Callable[[GroupFacts], Iterator[Finding]]] = {
    "consumer": _to_consumer,
    "static": _to_static,
    "membership-client": _to_membership_client,
}
