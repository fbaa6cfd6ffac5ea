"""The ends of logs, for the reports of failed tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_TAIL_LINES = 60


def tail(log: Path) -> str:
    """The last lines; nothing if there is no such log."""
    text = log.read_text(errors="replace") if log.exists() else ""
    return "\n".join(text.splitlines()[-_TAIL_LINES:])
