"""What the rules know: the group, each broker, the topics, and the configuration that a member will have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from membership_client.admin.settings import Setting
from membership_client.admin.views import GroupView, MemberView
from membership_client.config import MemberConfig
from membership_client.net.admin_requests import Operation
from membership_client.types import Node

HEARTBEAT_API, JOIN_API = 68, 11
SESSION_MS = "consumer.session.timeout.ms"
CLASSIC_SESSION_MS = "session.timeout.ms"


@dataclass(frozen=True, slots=True)
class BrokerFacts:
    node: Node
    apis: Mapping[int, tuple[int, int]]
    settings: Mapping[str, str] | None
    """Settings of this broker that it knows; None without access."""

    def has(self, api: int, version: int) -> bool:
        return self.apis.get(api, (0, -1))[1] >= version


@dataclass(frozen=True, slots=True)
class Rights:
    """What the user of the configuration may do."""

    group: frozenset[Operation] | None
    """None if the brokers do not report what users may do."""
    topics: Mapping[str, frozenset[Operation]]
    """Those of the group; a topic that does not exist is missing, or of which the brokers do not report it."""
    problem: str = ""
    """Why the user cannot connect; nothing else is known then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFacts:
    """The configuration that a member will have, and what its user may do."""

    member: MemberConfig | None
    """With `group.protocol` as `protocol` has it; None if the configuration cannot be read."""
    given: frozenset[str]
    """The keys that are set, with dots."""
    protocol: str
    """`auto`, `consumer` or `classic`."""
    problems: tuple[str, ...]
    """Keys that are refused, each as a sentence."""
    rights: Rights | None
    """None if its keys about security are refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFacts:
    view: GroupView
    brokers: tuple[BrokerFacts, ...]
    features: Mapping[str, int]
    topics: Mapping[str, int]
    """Partitions by topic: all that the administrator may describe."""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    client: ClientFacts | None = None
    patterns: tuple[str, ...] = ()

    @property
    def is_classic(self) -> bool:
        return self.view.protocol == "classic"

    @property
    def config(self) -> MemberConfig | None:
        """The configuration that a member will have; None if it was not given, or cannot be read."""
        return None if self.client is None else self.client.member

    @property
    def classic_members(self) -> tuple[MemberView, ...]:
        return tuple(member for member in self.view.members if member.is_classic)

    def brokers_where(self, key: str, values: frozenset[str]) -> str:
        """The brokers whose list `key` has none of `values`, named; empty if there are none. A broker without the key is not meant."""
        found = (
            broker.node.node_id
            for broker in self.brokers
            if broker.settings and key in broker.settings and not values & words(broker.settings[key])
        )
        return ", ".join(map(str, found))

    def least(self, key: str) -> int | None:
        """The smallest value of a number over all brokers."""
        numbers = [int(b.settings[key]) for b in self.brokers if b.settings and b.settings.get(key, "").isdecimal()]
        return min(numbers, default=None)


def words(text: str) -> frozenset[str]:
    """A list of the brokers' configuration, in small letters."""
    return frozenset(word.strip().lower() for word in text.split(",") if word.strip())
