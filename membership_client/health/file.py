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
from membership_client.health.report import Judge, Report, chosen

logger = logging.getLogger("membership_client")

_EVERY_S = 1.0
_LEAST_S = 0.1

_STOP_S = 2.0
"""How long close() waits for the thread."""

_MOST_BYTES = 2**20
"""A report of thousands of members is shorter."""


class HealthFile(contextlib.AbstractContextManager["HealthFile"]):
    """Writes until `close()`, which removes the file. Any thread."""

    def __init__(self, path: Path, look: Callable[[], Report], forgive: Callable[[], None], every_s: float) -> None:
        self.path = path
        self._look = look
        self._forgive = forgive
        self._every_s = every_s
        self._pid = os.getpid()
        self._stopped = threading.Event()
        self._failed = False
        self._write()  # Here, so that a path that cannot be written raises where it is given.
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
                self._forgive()
            self._write_or_tell()
            wrote_at = time.monotonic()

    def _write_or_tell(self) -> None:
        """A full disk passes, and the probe fails meanwhile: the log says so once."""
        try:
            self._write()
        except OSError:
            if not self._failed:
                logger.warning("The health of this process cannot be written to %s.", self.path, exc_info=True)
            self._failed = True
        else:
            self._failed = False

    def _write(self) -> None:
        """At once and whole: a probe never finds half of a report."""
        told = {"pid": self._pid, "at_s": time.monotonic(), **self._look().as_dict()}
        aside = self.path.with_name(f".{self.path.name}.{self._pid}")
        try:
            aside.unlink(missing_ok=True)  # Left by a process of the same number that was killed.
            with aside.open(
                "x"
            ) as file:  # Which follows no link: the directory may be one where other users write, too.
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

    `python -m membership_client.health PATH` is the probe. `{pid}` in the path is filled in: for workers that share a
    directory. `close()` of what is returned ends it. ConfigError if the file cannot be written.
    """
    name = checked_text("path", os.fspath(path) if isinstance(path, os.PathLike) else path)
    pause_s = checked_seconds("every_s", every_s)
    if pause_s < _LEAST_S:
        raise ConfigError(f"every_s must be at least {_LEAST_S:g} s, not {shown(every_s)}.")
    find, judge = chosen(members), Judge()
    try:
        named = Path(name.replace("{pid}", str(os.getpid())))
        return HealthFile(named, lambda: judge.report(find()), judge.forgive, pause_s)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"The health of this process cannot be written to {shown(name)}: {reason}.") from error


# --- the probe -------------------------------------------------------------------------------------------------------


def trouble_of(path: Path, wanted: str, most_age_s: float) -> str | None:
    """Why the process that writes there, or one of those that write into this directory, is not `wanted`; None if all are.

    `wanted` is live, ready or started. In a directory files of processes that have ended do not count, as long as there is
    another one.
    """
    if not path.is_dir():
        return _trouble(path, wanted, most_age_s)
    found = [file for file in sorted(path.iterdir()) if not file.name.startswith(".") and _runs(file)]
    if not found:
        return f"{path}: no process writes there"
    return next((trouble for file in found if (trouble := _trouble(file, wanted, most_age_s))), None)


def _trouble(file: Path, wanted: str, most_age_s: float) -> str | None:
    told = _read(file)
    if told is None:
        return f"{file}: there is no report"
    # The clock since boot, which all processes of a host share: it does not jump when the time of day is set.
    age_s = time.monotonic() - told["at_s"]
    if not 0 <= age_s <= most_age_s:
        return f"{file}: process {told['pid']} has written nothing for {age_s:.0f} s: it has ended, or stands still"
    return None if told[wanted] is True else f"{file}: not {wanted}: {told['why']}"


def _runs(file: Path) -> bool:
    """A file that is no report belongs to no process."""
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
    """A report; None for anything else, such as a pipe, which would be waited for."""
    try:
        if not file.is_file() or file.stat().st_size > _MOST_BYTES:
            return None
        told = json.loads(file.read_text())
    except (OSError, ValueError, RecursionError):
        return None
    kinds = {"pid": int, "at_s": float, "live": bool, "ready": bool, "started": bool, "why": str}
    is_ours = isinstance(told, dict) and all(type(told.get(key)) is kind for key, kind in kinds.items())
    return told if is_ours and 0 < told["pid"] <= MOST_INT32 and math.isfinite(told["at_s"]) else None
