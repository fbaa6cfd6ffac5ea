"""The source archive, from which distributions and locked-down builds make the wheel."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.packaging.conftest import built

pytestmark = pytest.mark.deep


def test_the_wheel_of_the_archive_is_that_of_the_tree(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    """Nothing that the wheel needs is missing in the archive."""
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    (tmp_path / "wheel").mkdir()
    made = built("--wheel", source, tmp_path / "wheel")
    with zipfile.ZipFile(made) as ours, zipfile.ZipFile(wheel) as theirs:
        assert {one.filename: one.CRC for one in ours.infolist()} == {
            one.filename: one.CRC for one in theirs.infolist()
        }
