"""The test's side of `roll_call.py`: the notes its slots leave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.integration.members import eventually
from tests.spark.clusters.driver_process import PATIENCE_S


class Notes:
    """In a directory that must not exist yet."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir()

    def task(self, slots: int) -> dict[str, Any]:
        """What the program is to be given."""
        return {"slots": slots, "directory": str(self._directory)}

    def wait_for(self, slot: int, attempt: int = 0) -> dict[str, Any]:
        """Where this attempt runs, as soon as it does."""
        note = self._directory / f"slot-{slot}-attempt-{attempt}.json"
        eventually(note.exists, f"attempt {attempt} of slot {slot}", PATIENCE_S)
        read: dict[str, Any] = json.loads(note.read_text())
        return read
