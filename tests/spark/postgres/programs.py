"""Where the programs of PostgreSQL's server are. Debian does not put them on the PATH.

Run as a program, its exit code says whether they are there; scripts/provide.py asks.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

_NEEDED = ("initdb", "postgres", "pg_isready")


def postgres_programs() -> Path | None:
    """The directory that has them, of the newest version if there are several; None if there is none."""
    found = shutil.which("initdb")
    on_path = [Path(found).resolve().parent] if found else []
    by_debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True)
    places = (*by_debian, *on_path)
    return next((place for place in places if all((place / name).exists() for name in _NEEDED)), None)


def _version(place: Path) -> float:
    number = place.parent.name
    return float(number) if number.replace(".", "", 1).isdigit() else 0.0


if __name__ == "__main__":
    sys.exit(postgres_programs() is None)
