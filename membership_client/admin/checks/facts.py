"""The facts for the rules: the group, each broker, the topics, and the configuration that a member will have."""

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
    """The broker's settings; None if the administrator may not read them."""

    def has(self, api: int, version: int) -> bool:
        return self.apis.get(api, (0, -1))[1] >= version


@dataclass(frozen=True, slots=True)
class Rights:
    """What the user of the configuration may do."""

    group: frozenset[Operation] | None
    """None if the brokers do not report what users may do."""
    topics: Mapping[str, frozenset[Operation]]
    """The allowed operations by topic. A topic is left out if it does not exist, or if the brokers do not report rights on it."""
    problem: str = ""
    """Why the user cannot connect. The other fields are empty then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFacts:
    """The configuration that a member will have, and what its user may do."""

    member: MemberConfig | None
    """The configuration of the member, in which `group.protocol` is `protocol`; None if it cannot be read."""
    given: frozenset[str]
    """The keys that are set, with dots."""
    protocol: str
    """`auto`, `consumer` or `classic`."""
    problems: tuple[str, ...]
    """Keys that are refused, each as a sentence."""
    rights: Rights | None
    """The rights of the user; None if the security keys are refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFacts:
    view: GroupView
    brokers: tuple[BrokerFacts, ...]
    features: Mapping[str, int]
    topics: Mapping[str, int]
    """Partitions by topic, of all topics that the administrator may describe."""
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
        """Ids of the brokers whose list `key` has none of `values`; empty if there are none. Brokers without the key do not count."""
        found = (
            broker.node.node_id
            for broker in self.brokers
            if broker.settings and key in broker.settings and not values & words(broker.settings[key])
        )
        return ", ".join(map(str, found))

    def least(self, key: str) -> int | None:
        """The smallest value of the key among all brokers; None if no broker has it."""
        numbers = [int(b.settings[key]) for b in self.brokers if b.settings and b.settings.get(key, "").isdecimal()]
        return min(numbers, default=None)


def words(text: str) -> frozenset[str]:
    """The words of a list in a broker's configuration, in lower case."""
    return frozenset(word.strip().lower() for word in text.split(",") if word.strip())
