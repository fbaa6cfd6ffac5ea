"""Where an audit is written if the session's default file system is not the local one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from membership_client_spark import AuditTargetError, audit
from membership_client_spark.audit.target import MARK, open_target
from tests.spark.audit.fleet import write_fleet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def mounted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`/audits` of the other file system. One for all tests: Hadoop keeps a file system until the JVM ends."""
    return tmp_path_factory.mktemp("mounted")


@pytest.fixture(scope="module")
def elsewhere(spark: SparkSession, mounted: Path) -> SparkSession:
    """A session whose default file system, `viewfs://elsewhere`, has one directory, `/audits`."""
    session = spark.newSession()
    # So little data does not repay code that is made for it.
    session.conf.set("spark.sql.codegen.wholeStage", value=False)
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    session.conf.set("fs.viewfs.mounttable.elsewhere.link./audits", mounted.as_uri())
    session.conf.set("fs.defaultFS", "viewfs://elsewhere/")
    return session


@pytest.mark.parametrize("path", ["/audits/orders", "viewfs://elsewhere/audits/orders"])
def test_a_table_on_the_default_file_system_is_not_touched(
    elsewhere: SparkSession, mounted: Path, tmp_path: Path, path: str
) -> None:
    """`write` looked at the local disk only, found nothing there, and deleted a table in `files/` of the other file system."""
    (trace, *_) = write_fleet(tmp_path, members=1, hours=0.01)
    precious = mounted / "orders" / "files" / "part-0.parquet"
    precious.parent.mkdir(parents=True, exist_ok=True)
    precious.write_text("precious")
    with pytest.raises(AuditTargetError, match=r"viewfs://elsewhere/audits/orders is not empty \(files\)"):
        audit(elsewhere, trace.as_uri()).write(path)
    assert precious.read_text() == "precious"
    assert [found for found in (mounted / "orders").rglob("*") if found.is_file()] == [precious]


def test_an_audit_is_written_to_the_default_file_system(elsewhere: SparkSession, mounted: Path, tmp_path: Path) -> None:
    """Tables, page and mark beside each other; the next audit knows its own."""
    traces = [trace.as_uri() for trace in write_fleet(tmp_path, members=1, hours=0.01)]
    summary = audit(elsewhere, traces).write("/audits/day")
    open_target(elsewhere, "/audits/day")
    written = {path.name for path in (mounted / "day").iterdir() if not path.name.endswith(".crc")}
    assert {"index.html", "files", "rebalances", MARK} <= written
    assert summary.files == elsewhere.read.parquet("/audits/day/files").count() == len(traces)


def test_a_file_system_that_spark_lacks_is_told_in_a_sentence(spark: SparkSession, tmp_path: Path) -> None:
    """So is a file where the directory should be, on any file system."""
    (trace, *_) = write_fleet(tmp_path, members=1, hours=0.01)
    for path in ("nosuch://bucket/audit", trace.as_uri().replace("file:///", "file:/")):
        with pytest.raises(AuditTargetError, match="cannot be written to"):
            audit(spark, trace.as_uri()).write(path)
