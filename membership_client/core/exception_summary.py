"""What a callback raised, without its message, which is the application's own text and may well quote a record.

A message can have many lines and look like anything, even like a traceback. So this reads from the front: frames are
indented, the first line that is not is the exception's, and of that only the type is kept.
"""

from __future__ import annotations

import itertools
import re

from membership_client.values import dataclass

_HEAD = "Traceback (most recent call last):"
_GROUP_HEAD = "+ Exception Group "
_GROUP_MARGIN = len("  | ")
_LINKS = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
# As texts: `re` compiles and keeps them when the first callback raises, and not in every program that imports a member.
_PLACE = r'  File "(?P<file>[^"]*)", line (?P<line>\d+)(?:, in (?P<function>.*))?$'
_TYPE = r"[\w.<>]+(?=:|$)"


@dataclass(frozen=True, slots=True)
class Raised:
    """The type of an exception, and where it was raised."""

    kind: str
    places: tuple[str, ...]
    """The functions on the stack, innermost first."""

    def __str__(self) -> str:
        return f"{self.kind} at {' < '.join(self.places)}" if self.places else self.kind


def raised_by(error: str) -> Raised:
    """From the text of an exception as `CallbackReturned` has it: with its traceback, or as its last line only."""
    lines = _without_margin(_last_link(error.splitlines()))
    frames = list(itertools.takewhile(_is_frame, lines))
    places = [_place(match) for line in frames if (match := re.match(_PLACE, line))]
    kind = re.match(_TYPE, lines[len(frames)]) if len(frames) < len(lines) else None
    return Raised(kind[0] if kind else "an exception", tuple(reversed(places)))


def _last_link(lines: list[str]) -> list[str]:
    """The exception that was raised last; a traceback shows the exceptions that led to it first."""
    starts = [i + 2 for i, line in enumerate(lines[:-2]) if line in _LINKS and not lines[i + 1]]
    return lines[starts[-1] :] if starts else lines


def _without_margin(lines: list[str]) -> list[str]:
    if lines and lines[0].lstrip().startswith(_GROUP_HEAD):
        return [line[_GROUP_MARGIN:] for line in lines[1:]]
    return lines[1:] if lines and lines[0] == _HEAD else lines


def _is_frame(line: str) -> bool:
    return line.startswith("  ")


def _place(match: re.Match[str]) -> str:
    return f"{match['function'] or '<module>'} ({match['file'].rpartition('/')[2]}:{match['line']})"
