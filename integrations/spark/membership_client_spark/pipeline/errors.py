"""What can go wrong with epochs, beyond what membership_client itself raises."""

from __future__ import annotations

from membership_client import MembershipError


class OffsetsGoneError(MembershipError):
    """Records that were to be read are not there any more, and auto.offset.reset=error forbids to go on without them."""

    advice = "Set auto.offset.reset to earliest or latest to go on without them."


class NoOffsetError(MembershipError):
    """Nothing was ever committed of a partition, and auto.offset.reset=error forbids to choose where to start."""

    advice = "Commit where to start, or set auto.offset.reset to earliest or latest."


class OffsetBeyondEndError(MembershipError):
    """A partition ends before the place where reading should go on: most likely its topic was created anew."""

    advice = "Use a new group.id (and a new sink) for the new topic, or reset the group's offsets."


class EpochTakenError(MembershipError):
    """Another driver published this epoch, with other records. Nothing of this one can be seen."""

    advice = "The pipeline goes on after it by itself; when it comes often, look for a second driver of this name."


class ForeignSinkError(MembershipError):
    """The sink has epochs of another group."""

    advice = "Give each pipeline a path of its own."
