"""What happened, told for one failure: only what concerns its partitions, and the end of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

_LINES = 60


def story(diaries: Iterable[Path], happened: Iterable[tuple[float, str]], partitions: set[int], began_at: float) -> str:
    """Callbacks, reads and commits of these partitions by anyone, between the troubles, in the order of time."""
    told = [*happened, *(line for diary in diaries for line in _lines(diary, partitions))]
    lines = [f"{at - began_at:8.3f} s  {what}" for at, what in sorted(told)]
    return "\n".join(lines[-_LINES:])


def _lines(diary: Path, partitions: set[int]) -> Iterator[tuple[float, str]]:
    whole = diary.read_text().splitlines() if diary.exists() else []
    for entry in map(json.loads, whole):
        about = sorted(partitions & set(entry["partitions"]))
        if about or entry["kind"] == "closed":
            yield entry["at"], f"{diary.name}: {_sentence(entry, about)}"


def _sentence(entry: dict[str, Any], about: list[int]) -> str:
    if entry["kind"] == "read":
        return f"read {about[0]}@{entry['offset']}..{entry['offset'] + entry['count'] - 1}"
    if entry["kind"] in {"commit", "report"}:
        return f"commit of {about[0]}@{entry['offset']} was accepted"
    return f"{entry['kind']} {about or ''} at epoch {entry['epoch']}" if "epoch" in entry else entry["kind"]
