"""Probes without a port: a process writes its report into a file again and again, and a command looks at the file."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from membership_client.arguments import MOST_INT32, checked_seconds, checked_text, shown
from membership_client.errors import ConfigError
from membership_client.health.report import HealthReporter, Report, chosen

logger = logging.getLogger("membership_client")

_EVERY_S = 1.0
_LEAST_S = 0.1

_STOP_S = 2.0
"""How long close() waits for the thread."""

_MOST_BYTES = 2**20
"""Most characters that are read of a file. A report of thousands of members is shorter."""


class HealthFile(contextlib.AbstractContextManager["HealthFile"]):
    """Writes the report to the file again and again until `close()`, which removes the file. For any thread."""

    def __init__(
        self, path: Path, look: Callable[[], Report], note_resumed: Callable[[], None], every_s: float
    ) -> None:
        self.path = path
        self._look = look
        self._note_resumed = note_resumed
        self._every_s = every_s
        self._pid = os.getpid()
        self._stopped = threading.Event()
        self._failed = False
        self._write()  # On the caller's thread, so that a path that cannot be written raises there.
        self._thread = threading.Thread(target=self._run, name="membership-health", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop writing and remove the file. A second call does nothing, nor does one in a forked child."""
        if os.getpid() != self._pid or self._stopped.is_set():
            return
        self._stopped.set()
        self._thread.join(_STOP_S)
        self.path.unlink(missing_ok=True)

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        wrote_at = time.monotonic()
        while not self._stopped.wait(self._every_s):
            if time.monotonic() - wrote_at > 3 * self._every_s:  # This process was stopped until now.
                self._note_resumed()
            self._write_or_warn()
            wrote_at = time.monotonic()

    def _write_or_warn(self) -> None:
        """Write the report. If that fails, warn once and go on, because a full disk may have room again."""
        try:
            self._write()
        except OSError:
            if not self._failed:
                text = "The health of this process cannot be written to %s, so probes will fail until it can."
                logger.warning(text, self.path, exc_info=True)
            self._failed = True
        else:
            self._failed = False

    def _write(self) -> None:
        """Replace the file in one operation: a probe never reads half of a report."""
        told = {"pid": self._pid, "at_s": time.monotonic(), **self._look().as_dict()}
        aside = self.path.with_name(f".{self.path.name}.{self._pid}")
        try:
            aside.unlink(missing_ok=True)  # Left by a process of the same number that was killed.
            with aside.open("x") as file:  # "x" follows no symbolic link: other users may write to the directory, too.
                file.write(json.dumps(told))
            aside.replace(self.path)
        except OSError:
            with contextlib.suppress(OSError):
                aside.unlink()
            raise


def write(path: str | os.PathLike[str], /, *members: object, every_s: float = _EVERY_S) -> HealthFile:
    """Write the health of these members, or of all in this process, to a file every second, on a thread of its own.

        with GroupMember({"bootstrap.servers": "localhost:9092", "group.id": "tills"}) as member:
            with write("health.json", member):
                member.subscribe(["orders"])

    `python -m membership_client.health PATH` is the probe. `{pid}` in the path becomes the id of this process, so that
    several processes can share a directory. `close()` of the returned object stops writing and removes the file.
    ConfigError if the file cannot be written.
    """
    name = checked_text("path", os.fspath(path) if isinstance(path, os.PathLike) else path)
    pause_s = checked_seconds("every_s", every_s)
    if pause_s < _LEAST_S:
        raise ConfigError(f"every_s must be at least {_LEAST_S:g} s, not {shown(every_s)}.")
    find, reporter = chosen(members), HealthReporter()
    try:
        named = Path(name.replace("{pid}", str(os.getpid())))
        return HealthFile(named, lambda: reporter.report(find()), reporter.note_resumed, pause_s)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"The health of this process cannot be written to {shown(name)}: {reason}.") from error


# --- the probe -------------------------------------------------------------------------------------------------------


def trouble_of(path: Path, wanted: str, most_age_s: float) -> str | None:
    """Why the process that writes this file, or one that writes into this directory, is not `wanted`; None if all are.

    `wanted` is live, ready or started. In a directory the files of processes that have ended count only if there are no
    others.
    """
    if not path.is_dir():
        return _trouble(path, wanted, most_age_s)
    found = [file for file in sorted(path.iterdir()) if not file.name.startswith(".") and _runs(file)]
    if not found:
        return f"{path}: no process writes its health there"
    return next((trouble for file in found if (trouble := _trouble(file, wanted, most_age_s))), None)


def _trouble(file: Path, wanted: str, most_age_s: float) -> str | None:
    told = _read(file)
    if told is None:
        return f"{file}: there is no report"
    # The monotonic clock counts from boot, so all processes of a host share it; it does not jump when the time of day is set.
    age_s = time.monotonic() - told["at_s"]
    if not 0 <= age_s <= most_age_s:
        return f"{file}: process {told['pid']} has written nothing for {age_s:.0f} s: it has ended, or stands still"
    return None if told[wanted] is True else f"{file}: not {wanted}: {told['why']}"


def _runs(file: Path) -> bool:
    """Whether the process that wrote the file still runs; False for a file that is no report."""
    if (told := _read(file)) is None:
        return False
    try:
        os.kill(told["pid"], 0)
    except ProcessLookupError:
        return False
    except OSError:  # Another user's process.
        return True
    return True


def _read(file: Path) -> dict[str, Any] | None:
    """The report in the file; None for anything else. A pipe is not opened, because that would wait for a writer."""
    try:
        if not file.is_file() or file.stat().st_size > _MOST_BYTES:
            return None
        told = json.loads(file.read_text())
    except (OSError, ValueError, RecursionError):
        return None
    kinds = {"pid": int, "at_s": float, "live": bool, "ready": bool, "started": bool, "why": str}
    is_ours = isinstance(told, dict) and all(type(told.get(key)) is kind for key, kind in kinds.items())
    return told if is_ours and 0 < told["pid"] <= MOST_INT32 and math.isfinite(told["at_s"]) else None
