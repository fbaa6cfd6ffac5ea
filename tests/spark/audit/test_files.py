"""Whatever lies in the folder: nothing of it ends an audit, and all of it is accounted for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from membership_client_spark import audit
from membership_client_spark.audit import Audit, NoTracesError
from tests.spark.audit.messy import Messy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def files(audited: Audit) -> dict[str, Any]:
    return {row.file.rpartition("/")[2].replace("%20", " "): row for row in audited.files.collect()}


def test_every_file_is_listed(files: dict[str, Any], folder: Path) -> None:
    """With its size, in folders below as well."""
    sizes = {path.name: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    assert {name: row.bytes for name, row in files.items()} == sizes


def test_whole_files_are_read_in_full(files: dict[str, Any], traces: list[Path]) -> None:
    """Line by line."""
    for path in traces:
        row = files[path.name]
        assert (row.lines, row.headers, row.torn, row.refused) == (len(path.read_text().splitlines()), 1, 0, 0)


def test_refused_lines_are_counted_and_the_first_is_told(files: dict[str, Any], messy: Messy) -> None:
    """Other versions, lines before a header, logs of something else, and steps that no member takes."""
    assert {name: (row.refused, row.why) for name, row in files.items() if row.refused} == messy.refused


def test_torn_lines_are_no_fault(files: dict[str, Any], messy: Messy) -> None:
    """The process ended while it wrote; a log that happens to end in a brace is not whole either."""
    assert {name for name, row in files.items() if row.torn} == messy.torn | {"a log.jsonl"}
    assert files["torn.jsonl"].torn == 2
    assert files["torn.jsonl"].headers == 2


def test_copies_are_found(files: dict[str, Any], messy: Messy) -> None:
    """Compressed or not; that they count once, the other tests show."""
    assert {name for name, row in files.items() if row.copy_of is not None} == messy.copies


def test_what_has_nothing_to_read_is_told(files: dict[str, Any], messy: Messy) -> None:
    """An empty file, and one whose compression is cut off at once."""
    assert {name for name, row in files.items() if row.lines == 0} == messy.empty
    assert all(files[name].why == "it is empty, or cannot be read" for name in messy.empty)


def test_a_path_that_matches_nothing_is_an_error_at_once(spark: SparkSession, tmp_path: Path) -> None:
    """With the path in it; so is a folder without files."""
    with pytest.raises(NoTracesError, match=r"traces/\*\.jsonl"):
        audit(spark, tmp_path / "traces" / "*.jsonl")
    with pytest.raises(NoTracesError, match=f"no file in {tmp_path}"):
        audit(spark, [tmp_path])
