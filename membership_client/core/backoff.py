"""Backoff as a value: how often something failed, and when it may be tried again."""

from __future__ import annotations

import zlib

from membership_client.config import MemberConfig
from membership_client.values import dataclass

ASAP = float("-inf")
"""A due time that has always passed."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """The number of failures in a row, and the earliest time of the next attempt."""

    failures: int = 0
    not_before: float = ASAP

    def failed(self, now: float, *, seed: str, config: MemberConfig, cap_s: float = 0.0) -> Backoff:
        """After one more failure: the wait grows exponentially, up to `retry.backoff.max.ms`, or `cap_s` if that is more."""
        base, longest = config.retry_backoff_ms / 1000, max(config.retry_backoff_max_ms / 1000, cap_s)
        wait = min(longest, base * 2 ** min(self.failures, 30))
        return Backoff(self.failures + 1, now + wait * _jitter(seed, self.failures))

    def wait_until(self, at: float) -> Backoff:
        """The same backoff, but with no attempt before that time."""
        return Backoff(self.failures, max(self.not_before, at))


FRESH = Backoff()
"""The backoff before the first failure."""


def _jitter(seed: str, failures: int) -> float:
    """A factor from 0.8 to 1.2, different for each member and failure, yet the same in every replay."""
    return 0.8 + 0.4 * zlib.crc32(f"{seed}:{failures}".encode()) / 2**32
