"""Why a member of a classic group joins or leaves, in words that operators find in the broker's log (KIP-800).

The vocabulary is fixed and documented: a search of the broker's log for one of these finds every member that did it. The application's own
words, given to `close`, `unsubscribe` or `enforce_rebalance`, take their place.
"""

from __future__ import annotations

LIMIT = 255

SUBSCRIBED = "subscribed by the application"
SUBSCRIPTION_CHANGED = "subscription changed"
REVOKED = "partitions revoked"
REBALANCING = "group is rebalancing"
TOPICS_CHANGED = "topics changed"
OUT_OF_DATE = "plan is out of date"
ENFORCED = "rebalance enforced by the application"
MISFIT = "assignment does not match the subscription"
POLLS_AGAIN = "application polls again"
SESSION_ENDED = "session timed out"
PASSED_OVER = "group went on without this member"
COORDINATOR_ERROR = "coordinator error"
NO_ANSWER = "no answer from the coordinator"

CLOSED = "closed by the application"
UNSUBSCRIBED = "unsubscribed by the application"
POLL_INTERVAL_EXCEEDED = "poll interval exceeded"
CALLBACK_FAILED = "callback failed"
ENDED_BY_ERROR = "ended by an error"

_NO_ERRORS = frozenset({SESSION_ENDED, PASSED_OVER})


def cut(reason: str) -> str:
    """Cut to the length at which Kafka's own client cuts it."""
    return reason[:LIMIT]


def after_fence(why: str) -> str:
    """The reason of the join after a fence. `why` begins with the error's name, or with one of the reasons above."""
    name = why.partition(":")[0].rstrip(".")
    return name if name in _NO_ERRORS else f"{COORDINATOR_ERROR} {name}"
