"""Rules about the members that a group has: their clients, their assignor, their instance ids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from membership_client.admin.checks.facts import SESSION_MS, GroupFacts
from membership_client.admin.checks.finding import Finding, FindingKind, Severity
from membership_client.admin.views import REBALANCING
from membership_client.identity.platforms import UnstableIdentityError, refuse_generated

_CLASSIC_CLIENT = re.compile(r"(kafka-python|aiokafka)-\d.*|kafkajs|sarama")
"""Default client ids of libraries without KIP-848. Other client ids say nothing about the library."""
_DEFAULT_SESSION_S = 45


def of_assignment(facts: GroupFacts) -> Iterator[Finding]:
    """Whether the classic assignment can be carried over."""
    assignor = facts.view.assignor
    if facts.view.state in REBALANCING:
        yield Finding(
            kind=FindingKind.REBALANCING,
            severity=Severity.WARNING,
            sentence=f"The group has been {facts.view.state} for some seconds. In this state the coordinator reports neither topics nor "
            "assignments of members.",
            advice="Repeat the check when the group is Stable. If it does not become Stable, run groups waiting.",
        )
    if owners := [member.name for member in facts.classic_members if member.has_assignor_data]:
        yield Finding(
            kind=FindingKind.ASSIGNOR_DATA,
            severity=Severity.BLOCKER,
            sentence=f"The assignor {assignor} wrote data of its own into the assignment, as custom assignors do, and "
            "confluent-kafka's cooperative-sticky. Coordinators move no such group to KIP-848.",
            advice="Have all members assign by range first (a roll of its own), or stop all members and start them with "
            "KIP-848: an empty group needs no upgrade, and keeps its offsets.",
            members=tuple(owners),
        )


def of_clients(facts: GroupFacts) -> Iterator[Finding]:
    """Members whose library has no KIP-848."""
    found = [member for member in facts.classic_members if _CLASSIC_CLIENT.fullmatch(member.client_id)]
    for client, count in sorted(Counter(member.client_id for member in found).items()):
        yield Finding(
            kind=FindingKind.CLIENT_IS_CLASSIC,
            severity=Severity.WARNING,
            sentence=f"{count} member{'s have' if count > 1 else ' has'} the client id {client}, the default of a library without KIP-848.",
            advice="Move these members to a client with KIP-848, such as membership_client. Until then the group has members "
            "of both protocols, which works, and is not finished.",
            members=tuple(member.name for member in found if member.client_id == client),
        )


def of_partners(facts: GroupFacts) -> Iterator[Finding]:
    """Topics that members may join: range gives partition n of all topics to one member, and the brokers' default does not."""
    is_chosen = facts.config is not None and facts.config.group_remote_assignor is not None
    if not facts.is_classic or facts.view.assignor != "range" or is_chosen:
        return
    for topics in sorted({tuple(sorted(member.topics)) for member in facts.view.members}):
        sizes = Counter(facts.topics[topic] for topic in topics if topic in facts.topics)
        partners = [topic for topic in topics if sizes[facts.topics.get(topic, -1)] > 1]
        if partners:
            yield Finding(
                kind=FindingKind.CO_PARTITIONING,
                severity=Severity.NOTE,
                sentence=f"range gives partition n of {' and '.join(partners[:2])} to the same member. The brokers' default "
                "assignor, uniform, does not.",
                advice="If the application joins these topics, set group.remote.assignor=range.",
            )
            return


def of_static_members(facts: GroupFacts) -> Iterator[Finding]:
    """Static members: under KIP-848 the process after a crash must wait for the end of the old session; in the classic protocol it need not."""
    names = tuple(member.name for member in facts.classic_members if member.instance_id is not None)
    policy = _conflict_policy(facts)
    if policy == "takeover" or not (names or policy):
        return
    session = facts.settings.get(SESSION_MS)
    wait_s = session.value // 1000 if session is not None and session.value is not None else _DEFAULT_SESSION_S
    yield Finding(
        kind=FindingKind.STATIC_AFTER_CRASH,
        severity=Severity.WARNING if policy == "fail" else Severity.NOTE,
        sentence=f"A static member that crashes keeps its instance id for up to {wait_s} s under KIP-848; in the classic protocol "
        "its replacement gets it at once. Meanwhile Kafka's Java client and confluent-kafka end with "
        "UNRELEASED_INSTANCE_ID, and membership_client waits, unless it is told to fail.",
        advice="With membership_client set group.instance.id.conflict=takeover where a supervisor restarts members.",
        members=names,
    )


def _conflict_policy(facts: GroupFacts) -> str | None:
    """The value of `group.instance.id.conflict` in the configuration, if that makes a static member."""
    config = facts.config
    return config.group_instance_id_conflict if config is not None and config.group_instance_id else None


def of_instance_ids(facts: GroupFacts) -> Iterator[Finding]:
    """Instance ids that the replacement of a process will not have."""
    ids: dict[str, tuple[str, ...]] = {
        member.instance_id: (member.name,) for member in facts.view.members if member.instance_id is not None
    }
    if facts.config is not None and facts.config.group_instance_id is not None:
        ids.setdefault(facts.config.group_instance_id, ())
    for instance_id, names in sorted(ids.items()):
        try:
            refuse_generated(instance_id)
        except UnstableIdentityError as unstable:
            yield Finding(
                kind=FindingKind.UNSTABLE_INSTANCE_ID,
                severity=Severity.WARNING,
                sentence=f"The instance id {unstable.detail}",
                advice="See membership_client.identity for ids that replacements have, too.",
                members=names,
            )
