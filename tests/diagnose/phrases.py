"""Parts of the sentences of findings: members, partitions and seconds in them, and patterns to find these."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from membership_client.debugger.findings.finding import Finding
from tests.diagnose.truth import Life, Line, Place, Truth, numbers

_ROUNDED_S = 0.051
_ROUNDED_LONG_S = 0.51

Words = dict[str, str]
Checker = Callable[[Truth, Finding, Words], Iterable[str]]

PLACES = r"[\w.-]+\[[\d,-]+\](?:(?:, | and )[\w.-]+\[[\d,-]+\])*"


def pattern(truth: Truth, template: str) -> str:
    """`{who}` is a member, `{what}` partitions, `{s}` seconds, `{n}` a count and `{any}` anything; letters may follow them."""
    names = "|".join(sorted({re.escape(life.name) for life in truth.lives}, key=len, reverse=True))
    kinds = {"who": names, "what": PLACES, "s": r"\d+(?:\.\d)? s", "n": r"\d+", "any": ".*?", "more": ".*"}
    text = re.escape(template)
    for key in re.findall(r"\{(\w+)\}", template):
        kind = kinds[key.partition("_")[0]]
        text = text.replace(re.escape("{" + key + "}"), f"(?P<{key}>{kind})")
    return text.replace(r"\[\[", "(?:").replace(r"\]\]", ")?")


def places_in(text: str) -> set[Place]:
    return {(topic, number) for topic, of in re.findall(r"([\w.-]+)\[([\d,-]+)\]", text) for number in numbers(of)}


def is_rounded(said: str, seconds: float) -> bool:
    """Is that the number, as rounded?"""
    return abs(float(said.removesuffix(" s")) - seconds) <= (_ROUNDED_LONG_S if seconds >= 99 else _ROUNDED_S)


def life_of(truth: Truth, finding: Finding, name: str) -> Life:
    """The run that the finding is about: that of its evidence."""
    files = {str(evidence.path) for evidence in finding.evidence}
    return next(life for life in truth.named(name) if {line.file for line in life.lines} & files)


def ends_of(life: Life) -> list[Line]:
    """The ends of its memberships, that of its trace included."""
    ends = [line for line in life.lines if line.epoch_before > 0 == line.epoch]
    leaves = [
        line
        for line in life.lines
        if any(request["is"] == "LeaveGroup" or request.get("epoch", 0) < 0 for request in line.requests())
    ]
    fatal = [line for line in life.lines if line.state == "FATAL" != line.state_before]
    return [*ends, *leaves, *fatal]
