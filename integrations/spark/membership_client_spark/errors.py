"""What can go wrong with slots, beyond what membership_client itself raises."""

from __future__ import annotations

from membership_client import ConfigError, MembershipError


class SparkSettingsError(ConfigError):
    """Spark is set up in a way that static members cannot live with. Raised before anything is started."""


class SupersededError(MembershipError):
    """A newer incarnation has this slot. Raised on the older one, which then hands out nothing and commits nothing."""

    advice = "Nothing needs to be done: the newer one carries on. Two jobs that run at once need two names."


class SlotFailedError(MembershipError):
    """A slot ended for a reason that starting it again cannot mend.

    On the driver it says which slot, and what Python's traceback was on the executor; the traceback is shown with the error.
    """

    slot: int | None = None
    executor_traceback: str | None = None
