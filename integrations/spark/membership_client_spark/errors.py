"""Errors of slots, beyond those of membership_client."""

from __future__ import annotations

from membership_client import ConfigError, MembershipError


class SparkSettingsError(ConfigError):
    """A setting of Spark does not work with static members. Raised before anything is started."""


class SupersededError(MembershipError):
    """A newer incarnation has this slot. Raised by the older one, which then neither hands out nor commits records."""

    advice = "Nothing needs to be done: the newer incarnation goes on. Two jobs that run at once need two names."


class SlotFailedError(MembershipError):
    """A slot failed, and starting it again does not help.

    On the driver it has the number of the slot and the traceback of Python on the executor, which is shown with the error.
    """

    slot: int | None = None
    executor_traceback: str | None = None
