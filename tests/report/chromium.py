"""Which browser the tests drive: Chromium, or Chrome. Run as a file, it says by its exit code whether there is one."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

_NAMES = ("google-chrome", "google-chrome-stable", "chromium", "chromium-browser", "chromium-headless-shell")
_APPLICATIONS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)


def find() -> str | None:
    """Its path."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    return found or next((path for path in _APPLICATIONS if Path(path).exists()), None)


if __name__ == "__main__":
    sys.exit(find() is None)
