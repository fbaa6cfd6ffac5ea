"""Administration of groups: describe and check them, find the members that they wait for, remove members, change offsets and settings."""

from membership_client.admin.checks.finding import Finding, FindingKind, GroupCheck, Severity
from membership_client.admin.describing import GroupSummary
from membership_client.admin.errors import (
    AdminError,
    GroupNotEmptyError,
    InvalidGroupError,
    MemberAliveError,
    NoAnswerError,
    NotAuthorizedError,
    OffsetsNotChangedError,
    SettingRefusedError,
    UnknownMemberError,
    UnsupportedByBrokerError,
)
from membership_client.admin.group_admin import GroupAdmin
from membership_client.admin.quiet import QuietMember
from membership_client.admin.removal import Life, Removal, Sign
from membership_client.admin.resetting import (
    Change,
    Earliest,
    Given,
    Latest,
    Plan,
    Shift,
    Since,
    Target,
    read_csv,
    write_csv,
)
from membership_client.admin.settings import Setting
from membership_client.admin.views import GroupView, MemberView, Wait, WaitKind
from membership_client.admin.waiting import Blocker, Waiting

__all__ = [
    "AdminError",
    "Blocker",
    "Change",
    "Earliest",
    "Finding",
    "FindingKind",
    "Given",
    "GroupAdmin",
    "GroupCheck",
    "GroupNotEmptyError",
    "GroupSummary",
    "GroupView",
    "InvalidGroupError",
    "Latest",
    "Life",
    "MemberAliveError",
    "MemberView",
    "NoAnswerError",
    "NotAuthorizedError",
    "OffsetsNotChangedError",
    "Plan",
    "QuietMember",
    "Removal",
    "Setting",
    "SettingRefusedError",
    "Severity",
    "Shift",
    "Sign",
    "Since",
    "Target",
    "UnknownMemberError",
    "UnsupportedByBrokerError",
    "Wait",
    "WaitKind",
    "Waiting",
    "read_csv",
    "write_csv",
]
