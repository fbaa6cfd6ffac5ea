"""Rules about the configuration that a member will have, and about the rights of its user."""

from __future__ import annotations

from collections.abc import Iterator

from membership_client.admin.checks.facts import CLASSIC_SESSION_MS, SESSION_MS, ClientFacts, GroupFacts, words
from membership_client.admin.checks.finding import Finding, FindingKind, Severity, blocker
from membership_client.config import CLASSIC_ONLY
from membership_client.net.admin_requests import Operation

_ASSIGNORS = "group.consumer.assignors"


def of_keys(client: ClientFacts) -> Iterator[Finding]:
    """Keys that membership_client's Consumer refuses."""
    for problem in client.problems:
        yield blocker(
            FindingKind.KEY_REFUSED, f"The configuration is refused. {problem}", "Remove the key, or correct it."
        )


def of_protocol_keys(client: ClientFacts) -> Iterator[Finding]:
    """Keys of the classic protocol that are refused, or have no effect, under KIP-848."""
    if client.protocol == "classic":
        yield blocker(
            FindingKind.KEEPS_CLASSIC,
            "The configuration has group.protocol=classic, so a member with it stays classic.",
            "Set group.protocol=consumer, or remove the key.",
        )
        return
    for key in sorted(CLASSIC_ONLY.keys() & client.given):
        if client.protocol == "consumer":
            yield blocker(
                FindingKind.KEY_REFUSED,
                f"{key} is refused with group.protocol=consumer, by confluent-kafka, too: {CLASSIC_ONLY[key]}.",
                "Remove the key.",
            )
        else:
            yield Finding(
                kind=FindingKind.KEY_WITHOUT_EFFECT,
                severity=Severity.NOTE,
                sentence=f"{key} has no effect under KIP-848: {CLASSIC_ONLY[key]}.",
                advice="Remove the key when the group has moved.",
            )


def of_session(facts: GroupFacts) -> Iterator[Finding]:
    """A session of KIP-848 that is shorter than the one that was chosen for the classic protocol."""
    wanted, group = _session_ms(facts), facts.settings.get(SESSION_MS)
    if wanted is None or group is None or group.value is None or wanted <= group.value:
        return
    highest = group.highest or group.value
    raise_it = f"membership-client groups config set {facts.view.group_id} {SESSION_MS}={min(wanted, highest)}"
    yield Finding(
        kind=FindingKind.SESSION_SHORTER,
        severity=Severity.WARNING,
        sentence=f"The configuration has session.timeout.ms={wanted}; under KIP-848 the session of the group ends after "
        f"{group.value} ms. A member that is away for longer loses its partitions.",
        advice=raise_it
        + (
            f"; for more raise group.consumer.max.session.timeout.ms of the brokers, now {highest}"
            if wanted > highest
            else ""
        )
        + ".",
    )


def _session_ms(facts: GroupFacts) -> int | None:
    """The session timeout in the configuration; None if it is not set."""
    if facts.client is None or facts.config is None or CLASSIC_SESSION_MS not in facts.client.given:
        return None
    return facts.config.session_timeout_ms


def of_session_bounds(facts: GroupFacts) -> Iterator[Finding]:
    """A classic member's session that the brokers refuse."""
    wanted, limits = _session_ms(facts), facts.settings.get(CLASSIC_SESSION_MS)
    if wanted is None or limits is None or limits.lowest is None or limits.highest is None or not facts.is_classic:
        return
    if not limits.lowest <= wanted <= limits.highest:
        yield blocker(
            FindingKind.SESSION_REFUSED,
            f"session.timeout.ms={wanted} is outside of {limits.lowest} to {limits.highest}, which the brokers allow: they "
            "refuse the member with INVALID_SESSION_TIMEOUT.",
            "Choose a value between them, or change group.min.session.timeout.ms or group.max.session.timeout.ms of the brokers.",
        )


def of_assignor(facts: GroupFacts) -> Iterator[Finding]:
    """A server assignor that the brokers do not have."""
    wanted = facts.config.group_remote_assignor if facts.config is not None else None
    if wanted is not None and (without := facts.brokers_where(_ASSIGNORS, frozenset({wanted.lower()}))):
        known = sorted(frozenset().union(*(words((b.settings or {}).get(_ASSIGNORS, "")) for b in facts.brokers)))
        yield blocker(
            FindingKind.UNKNOWN_ASSIGNOR,
            f"The configuration has group.remote.assignor={wanted}, and brokers ({without}) have {', '.join(known)}: they "
            "refuse the member with UNSUPPORTED_ASSIGNOR.",
            "Choose one of these, or remove the key.",
        )


# --- what the user may do --------------------------------------------------------------------------------------------


def of_rights(client: ClientFacts, *, to_consumer: bool) -> Iterator[Finding]:
    """ACLs that are missing. A classic member can join without a right on its topics; only its fetches are refused."""
    if client.rights is None:
        return
    if client.rights.problem:
        yield blocker(
            FindingKind.CANNOT_CONNECT,
            f"With this configuration the cluster cannot be reached. {client.rights.problem}",
            "Correct bootstrap.servers and the keys about security.",
        )
        return
    if client.rights.group is not None and Operation.READ not in client.rights.group:
        yield blocker(
            FindingKind.GROUP_DENIED,
            "The user of the configuration has no READ on the group.",
            "Add the ACL: kafka-acls.sh --add --allow-principal User:... --operation Read --group ...",
        )
    for topic, operations in sorted(client.rights.topics.items()):
        if missing := {Operation.READ, Operation.DESCRIBE} - operations:
            yield _denied(topic, missing, to_consumer=to_consumer)


def _denied(topic: str, missing: set[Operation], *, to_consumer: bool) -> Finding:
    ends = to_consumer and Operation.DESCRIBE in missing
    return Finding(
        kind=FindingKind.TOPIC_DENIED,
        severity=Severity.BLOCKER if ends else Severity.WARNING,
        sentence=f"The user of the configuration has no {' and no '.join(sorted(o.name for o in missing))} on topic {topic}. "
        + (
            "Under KIP-848 the coordinator refuses all heartbeats of such a member with TOPIC_AUTHORIZATION_FAILED, also for its "
            "other topics; in the classic protocol only the fetches of this topic fail."
            if ends
            else "Its records cannot be read, in either protocol."
        ),
        advice=f"Add the ACL: kafka-acls.sh --add --allow-principal User:... --operation Read --topic {topic}",
    )
