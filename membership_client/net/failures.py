"""Why there is no connection: of one attempt, and of several."""

from __future__ import annotations

from collections.abc import Sequence

from membership_client.core.events import FailureKind

_GRAVITY = (
    FailureKind.UNREACHABLE,
    FailureKind.NOT_KAFKA,
    FailureKind.UNTRUSTED,
    FailureKind.AUTHENTICATION,
)
_REFUSALS = frozenset({FailureKind.UNTRUSTED, FailureKind.AUTHENTICATION})


class OpenFailed(Exception):  # noqa: N818 - it is an outcome
    """No connection, and why: every kind but those of a request that was sent."""

    def __init__(self, kind: FailureKind, detail: str, *, ours: bool = False) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.ours = ours
        """Is the reason on this side: no token, or a file that cannot be read?"""


def of_one_name(failures: Sequence[OpenFailed]) -> OpenFailed:
    """All addresses of a name have failed: what each said, and the gravest kind.

    A name often has an address at which nobody listens; whoever does listen at another has the say.
    """
    return _together(failures, failures)


def of_a_list(failures: Sequence[OpenFailed]) -> OpenFailed:
    """All entries of a list have failed: what each said, and the gravest kind.

    That is a refusal, which ends members, only if nobody did anything else: the entry that refuses may be the one that is
    a stranger's by now, while those that would not refuse are away for a moment.
    """
    passing = [failure for failure in failures if failure.kind not in _REFUSALS]
    return _together(failures, passing or failures)


def _together(failures: Sequence[OpenFailed], decisive: Sequence[OpenFailed]) -> OpenFailed:
    kind = max((failure.kind for failure in decisive), key=_GRAVITY.index)
    return OpenFailed(
        kind, "; ".join(failure.detail for failure in failures), ours=all(failure.ours for failure in failures)
    )
