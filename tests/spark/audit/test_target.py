"""Which directories an audit may be written to: none that holds anything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from membership_client_spark import AuditTargetError
from membership_client_spark.audit.target import MARK, open_target

CLIENT: Any = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
"""A session of Spark Connect: it has no JVM, and nothing is asked of it here."""


def test_a_new_directory_and_an_empty_one_are_taken(tmp_path: Path) -> None:
    """As well as one that an earlier audit, whole or not, was written to."""
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "a" / "new", tmp_path / "empty"):
        for _ in range(2):
            open_target(CLIENT, str(path))
        (path / "gaps").mkdir()
        open_target(CLIENT, path.as_uri())


@pytest.mark.parametrize("found", ["files/part-0.parquet", "index.html", "gaps/x", ".hidden", MARK])
def test_what_no_audit_wrote_is_not_touched(tmp_path: Path, found: str) -> None:
    """`write` used to overwrite any directory: a user's table in `files/` was deleted."""
    precious = tmp_path / found
    precious.parent.mkdir(exist_ok=True)
    precious.write_text("precious")
    with pytest.raises(AuditTargetError, match="is not empty"):
        open_target(CLIENT, str(tmp_path))
    assert precious.read_text() == "precious"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [precious]


def test_what_cannot_be_a_directory_is_told_in_a_sentence(tmp_path: Path) -> None:
    """A file, a path below one, a file system that pyarrow does not have."""
    file = tmp_path / "file"
    file.write_text("precious")
    for path in (str(file), str(file / "below"), "nosuch://bucket/audit"):
        with pytest.raises(AuditTargetError, match="Give a path"):
            open_target(CLIENT, path)
    assert file.read_text() == "precious"
