"""Which tier a test file belongs to: told by its directory or by one line in it, without importing it."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent

DEEP_DIRECTORIES = {"benchmarks", "conformance", "hostile", "incidents", "peers", "soak"}
"""All of whose files are in the deep tier."""

DEEP_LINE = re.compile(r"^pytestmark = .*\bpytest\.mark\.deep\b", re.MULTILINE)
"""The line in any other file of the deep tier. A file without it is in the quick tier."""


def tier_of(file: Path) -> str:
    """`quick` or `deep`."""
    by_directory = file.relative_to(TESTS).parts[0] in DEEP_DIRECTORIES
    return "deep" if by_directory or DEEP_LINE.search(file.read_text()) else "quick"
