"""Why a connection could not be opened: one attempt, and several together."""

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
    """A connection could not be opened; `detail` says why."""

    def __init__(self, kind: FailureKind, detail: str, *, ours: bool = False) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.ours = ours
        """Is the cause on this side: no token, or a file that cannot be read?"""


def of_one_name(failures: Sequence[OpenFailed]) -> OpenFailed:
    """All addresses of a name have failed: the errors of all, and the gravest kind.

    A name often has an address at which no service listens: the error of the address that answers counts.
    """
    return _together(failures, failures)


def of_a_list(failures: Sequence[OpenFailed]) -> OpenFailed:
    """All entries of bootstrap.servers have failed: the errors of all, and the gravest kind.

    That is a refusal, which ends members, only if all refused: the entry that refuses may belong to another cluster by
    now, while the brokers that would accept are away for a moment.
    """
    passing = [failure for failure in failures if failure.kind not in _REFUSALS]
    return _together(failures, passing or failures)


def _together(failures: Sequence[OpenFailed], decisive: Sequence[OpenFailed]) -> OpenFailed:
    kind = max((failure.kind for failure in decisive), key=_GRAVITY.index)
    return OpenFailed(
        kind, "; ".join(failure.detail for failure in failures), ours=all(failure.ours for failure in failures)
    )
