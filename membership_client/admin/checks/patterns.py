"""Subscriptions by pattern: clients match them in the classic protocol, brokers under KIP-848, and not by the same rules."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator

from membership_client.admin.checks.finding import Finding, FindingKind, Severity

_NO_SYNTAX = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")
"""Escapes and character classes. The expressions below must not match inside of them."""
_NOT_RE2J = {
    "looks ahead or behind": re.compile(r"\(\?<?[=!]"),
    "has an atomic group": re.compile(r"\(\?>"),
    "has a possessive repetition": re.compile(r"(?:[*+?]|\{\d+,?\d*\})\+"),
    "refers to an earlier group": re.compile(r"\(\?P=|\\[1-9]|\\k<"),
}
_RE2J_ONLY = re.compile(r"\\[pPQzC]")
"""Syntax that RE2/J has and Python lacks. Patterns with it cannot be checked here."""
_MOST_NAMES = 5


def of_pattern(pattern: str, topics: Iterable[str]) -> Iterator[Finding]:
    """What would change if the brokers matched a librdkafka pattern, which begins with `^`."""
    if (why := _refusal(pattern)) is not None:
        yield Finding(
            kind=FindingKind.PATTERN_REFUSED,
            severity=Severity.BLOCKER,
            sentence=f"The pattern {pattern} {why}. Brokers read patterns by RE2/J, and refuse it with "
            "INVALID_REGULAR_EXPRESSION; members end.",
            advice="Write a pattern without it, or subscribe to the topics by their names.",
        )
    elif lost := sorted(_lost(pattern, topics)):
        more = f" and {len(lost) - _MOST_NAMES} more" if len(lost) > _MOST_NAMES else ""
        yield Finding(
            kind=FindingKind.PATTERN_DIFFERS,
            severity=Severity.WARNING,
            sentence=f"The pattern {pattern} matches the beginning of {', '.join(lost[:_MOST_NAMES])}{more}. In the classic "
            "protocol of librdkafka that is enough; under KIP-848 a pattern must match the whole name, so members "
            "would read nothing of these topics.",
            advice=f"Subscribe to {pattern}.* instead. membership_client's Consumer does this by itself; "
            "confluent-kafka and GroupMember.subscribe_pattern do not.",
        )


def _refusal(pattern: str) -> str | None:
    bare = _NO_SYNTAX.sub(lambda found: found[0] if found[0][1:].isdigit() else "x", pattern)
    for what, syntax in _NOT_RE2J.items():
        if syntax.search(bare):
            return what
    is_readable = _compiled(pattern) is not None or _RE2J_ONLY.search(pattern)
    return None if is_readable else "cannot be read"


def _compiled(pattern: str) -> re.Pattern[str] | None:
    """By Python's rules; None if it cannot be read by them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # Python warns of [[:alpha:]], which RE2/J has.
            return re.compile(pattern)
    except re.error:
        return None


def _lost(pattern: str, topics: Iterable[str]) -> Iterator[str]:
    """Topics of which the pattern matches only the beginning."""
    found = _compiled(pattern)
    if found is None or not pattern.startswith("^"):
        return
    yield from (name for name in topics if found.match(name) and not found.fullmatch(name))
