"""Every test file is in one tier, and its directory or one line of it says in which."""

from __future__ import annotations

import re
from pathlib import Path

from tests.tiers import DEEP_DIRECTORIES, DEEP_LINE, TESTS, tier_of

FILES = sorted(TESTS.rglob("test_*.py"))
ANY_DEEP = re.compile(r"^[^#\n]*pytest\.mark\.deep$|^pytestmark.*pytest\.mark\.deep", re.MULTILINE)


def says_how_often(file: Path) -> int:
    """How often it is said that a file, or a test in it, is deep."""
    return len(ANY_DEEP.findall(file.read_text())) + (file.relative_to(TESTS).parts[0] in DEEP_DIRECTORIES)


def test_a_file_says_at_most_once_that_it_is_deep() -> None:
    """By its directory or by its line, not by both; and not for single tests, which no tier would choose."""
    assert [file for file in FILES if says_how_often(file) != (tier_of(file) == "deep")] == []


def test_the_line_is_recognised_beside_other_marks() -> None:
    """Alone and in a list, but not in a comment or a decorator."""
    assert DEEP_LINE.search("import x\npytestmark = pytest.mark.deep\n")
    assert DEEP_LINE.search("pytestmark = [pytest.mark.kafka, pytest.mark.deep, pytest.mark.timeout(5)]")
    assert not DEEP_LINE.search("# pytestmark = pytest.mark.deep\n@pytest.mark.deep\ndef test(): ...")


def test_both_tiers_have_files_and_the_table_names_directories_that_exist() -> None:
    """A directory that was renamed does not move its tests into the quick tier unnoticed."""
    assert {tier_of(file) for file in FILES} == {"quick", "deep"}
    assert all((TESTS / name).is_dir() for name in DEEP_DIRECTORIES)
