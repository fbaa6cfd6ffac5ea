"""Lists all groups of a cluster. Each broker lists the groups that it coordinates, so all brokers are asked."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from membership_client.admin.asking import Asker
from membership_client.admin.errors import expect
from membership_client.net.admin_requests import GroupsListed, ListedGroup, ListGroups

_CONSUMERS = "consumer"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSummary:
    group_id: str
    protocol: str
    """`consumer` (KIP-848) or `classic`; empty if the broker does not report it (before Kafka 3.7)."""
    state: str
    """Empty if the broker does not report it (before Kafka 2.6)."""


def list_groups(
    asker: Asker, *, states: Collection[str] = (), protocols: Collection[str] = (), prefix: str = ""
) -> tuple[GroupSummary, ...]:
    """Groups of consumers, sorted by name. Filters are applied here, because old brokers have none and spell states differently."""
    wanted_states, wanted_protocols = ({name.lower() for name in names} for names in (states, protocols))
    found = {group.group_id: _summary(group) for group in _all(asker) if group.protocol_type in {_CONSUMERS, ""}}
    return tuple(
        group
        for _, group in sorted(found.items())
        if group.group_id.startswith(prefix)
        and (not wanted_states or group.state.lower() in wanted_states)
        and (not wanted_protocols or group.protocol in wanted_protocols)
    )


def _all(asker: Asker) -> list[ListedGroup]:
    brokers = asker.leaders().brokers.values()
    answers = [
        expect(GroupsListed, asker.ask(ListGroups(), broker), None, "be asked for its groups") for broker in brokers
    ]
    return [group for answer in answers for group in answer.groups]


def _summary(group: ListedGroup) -> GroupSummary:
    return GroupSummary(group_id=group.group_id, protocol=group.type.lower(), state=group.state)
