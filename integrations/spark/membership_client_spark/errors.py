"""Errors of slots and of pipelines, beyond those of membership_client."""

from __future__ import annotations

from membership_client import ConfigError, MembershipError


class SparkSettingsError(ConfigError):
    """Spark cannot run this as it is set up: a setting, its class path, or the Python of its executors. No record was read."""


class SupersededError(MembershipError):
    """A newer incarnation has this slot. Raised by the older one, which then neither hands out nor commits records."""

    advice = "Nothing needs to be done: the newer incarnation goes on. Two jobs that run at once need two names."


class SlotFailedError(MembershipError):
    """A slot failed, and starting it again does not help.

    On the driver it has the number of the slot and the traceback of Python on the executor, which is shown with the error.
    """

    slot: int | None = None
    executor_traceback: str | None = None


# --- pipelines -------------------------------------------------------------------------------------------------------


class OffsetsGoneError(MembershipError):
    """Records were deleted before they were read, and auto.offset.reset=error forbids to go on without them."""

    advice = "Set auto.offset.reset to earliest or latest (of a kafka-group stream: failOnDataLoss to false) to go on without them."


class NoOffsetError(MembershipError):
    """No offset was ever committed for a partition, and auto.offset.reset=error forbids to choose where to start."""

    advice = "Commit the offset to start from, or set auto.offset.reset to earliest or latest."


class OffsetBeyondEndError(MembershipError):
    """A partition ends before the offset where reading should go on: most likely its topic was deleted and created again."""

    advice = "Use a new group.id (and a new sink) for the new topic, or reset the group's offsets."


class TopicRecreatedError(MembershipError):
    """A topic was deleted and created again since the checkpoint of a stream was written: its offsets mean other records."""

    advice = "Start the query with a new checkpoint."


class EpochTakenError(MembershipError):
    """Another driver published this epoch with other records. Nothing of this attempt is visible."""

    advice = (
        "The pipeline goes on after that epoch by itself; if this happens often, look for a second driver of this name."
    )


class ForeignSinkError(MembershipError):
    """The sink has epochs of another group."""

    advice = "Give each pipeline a path of its own."
