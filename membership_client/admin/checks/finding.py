"""A finding of a check: one thing that stands in the way of a change of a group."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Literal

from membership_client.admin.views import GroupView

ChangeTo = Literal["consumer", "static", "membership-client"]
"""The change: to KIP-848, to static membership, or from another client to membership_client."""


class Severity(enum.Enum):
    """What happens if the change is made nevertheless."""

    BLOCKER = "blocker"
    """The change fails, or members end."""
    WARNING = "warning"
    """The change works, and something is lost or gets worse."""
    NOTE = "note"
    """The change works, and something is different afterwards."""


class FindingKind(enum.Enum):
    """The kind of a finding. The value is its name in the output."""

    NOT_CHECKED = "not checked"
    BROKERS_TOO_OLD = "brokers too old"
    FEATURE_OFF = "feature off"
    PROTOCOL_OFF = "protocol off"
    UPGRADE_OFF = "upgrade off"
    DOWNGRADE_OFF = "downgrade off"
    GROUP_TOO_LARGE = "group too large"
    NO_ROOM = "no room"
    ASSIGNOR_DATA = "assignor data"
    REBALANCING = "rebalancing"
    CLIENT_IS_CLASSIC = "client is classic"
    CO_PARTITIONING = "co-partitioning"
    STATIC_AFTER_CRASH = "static after crash"
    SESSION_SHORTER = "session shorter"
    KEY_REFUSED = "key refused"
    KEY_WITHOUT_EFFECT = "key without effect"
    KEEPS_CLASSIC = "keeps classic"
    UNKNOWN_ASSIGNOR = "unknown assignor"
    CANNOT_CONNECT = "cannot connect"
    GROUP_DENIED = "group denied"
    TOPIC_DENIED = "topic denied"
    PATTERN_REFUSED = "pattern refused"
    PATTERN_DIFFERS = "pattern differs"
    NO_INSTANCE_ID = "no instance id"
    UNSTABLE_INSTANCE_ID = "unstable instance id"
    SESSION_REFUSED = "session refused"
    MOVES_GROUP = "moves group"
    NO_COMMON_STRATEGY = "no common strategy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that stands in the way of the change, or will be different after it."""

    kind: FindingKind
    severity: Severity
    sentence: str
    advice: str
    """What to do about it, and when nothing need be done."""
    members: tuple[str, ...] = ()
    """The members that the finding is about; empty if it is about brokers, the group or a configuration."""


def blocker(kind: FindingKind, sentence: str, advice: str) -> Finding:
    """A blocker that is about brokers, the group or a configuration, and not about members."""
    return Finding(kind=kind, severity=Severity.BLOCKER, sentence=sentence, advice=advice)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCheck:
    """The outcome of `GroupAdmin.check`."""

    view: GroupView
    to: ChangeTo
    findings: tuple[Finding, ...]
    """Blockers first, then warnings, then notes."""
    unchecked: tuple[str, ...] = ()
    """What was not checked, and why."""

    @property
    def is_ready(self) -> bool:
        """Whether there are no blockers and no warnings."""
        return all(finding.severity is Severity.NOTE for finding in self.findings)
