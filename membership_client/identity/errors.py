"""Why something is no identity."""

from __future__ import annotations

from membership_client.errors import ConfigError, MembershipError


class UnstableIdentityError(ConfigError):
    """It changes when a process is replaced, so its successor would be a stranger to the group."""


class SlotsTakenError(MembershipError):
    advice = "Stop one of these processes, or allow more slots."
