"""Manifests that are damaged, or written by another program: a ManifestError, and never a wrong offset to go on from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from membership_client import TopicPartition
from membership_client_spark.parquet.sink import ParquetSink
from membership_client_spark.parquet.storage import ATTEMPTS, LocalStorage, directory_of
from membership_client_spark.pipeline.interface import PipelineRun
from membership_client_spark.pipeline.manifest import Manifest, ManifestError, find_manifest, new_attempt
from membership_client_spark.pipeline.ranges import OffsetRange

RANGES = (OffsetRange("t", 0, 0, 3), OffsetRange("t", 1, 5, 5))
ENDS = {TopicPartition("t", 0): 3, TopicPartition("t", 1): 5, TopicPartition("u", 7): 1}
GOOD = Manifest(epoch=4, group="g", run="4-me", ranges=RANGES, ends=ENDS)
PIPELINE = PipelineRun(cast("Any", SimpleNamespace()), "g", lambda: None)
"""Its session is not needed for a path with a scheme."""


def changed(**values: object) -> str:
    return json.dumps({**json.loads(GOOD.to_text()), **values})


def without(key: str) -> str:
    told = json.loads(GOOD.to_text())
    del told[key]
    return json.dumps(told)


def damaged() -> Iterator[str]:
    yield from ("", "null", "[]", "7", '"x"', "{}", "[" * 100_000, GOOD.to_text()[:-1], "9" * 5_000)
    yield from map(without, ("version", "epoch", "group", "run", "ranges", "ends"))
    yield from (changed(version=version) for version in (True, 1.0, "1", None, 2, [1]))
    yield from (changed(epoch=epoch) for epoch in (True, 4.0, "4", None, 0, -4, 10**30))
    yield from (changed(group=group) for group in (None, 7, "", ["g"]))
    yield from (changed(run=run) for run in (None, 7, True))
    pieces: tuple[object, ...] = (
        ["t", 0, 0],
        ["t", 0, 0, 3, 4],
        "t003",
        {"topic": "t"},
        [7, 0, 0, 3],
        ["", 0, 0, 3],
        ["t", "0", 0, 3],
        ["t", True, 0, 3],
        ["t", -1, 0, 3],
        ["t", 2**31, 0, 3],
        ["t", 0, 3, 0],
        ["t", 0, -1, 3],
        ["t", 0, 0.0, 3],
        ["t", 0, 0, "3"],
        ["t", 0, 0, 2**63],
        ["t", 0, 0, None],
    )
    yield from (changed(ranges=[piece]) for piece in pieces)
    yield from (changed(ranges=ranges) for ranges in (None, "", 7, True))
    ends: tuple[object, ...] = (
        ["t", 0],
        ["t", 0, 3, 3],
        ["t", 0, True],
        ["t", 0, "3"],
        ["t", 0, -1],
        ["t", 0.0, 3],
        [None, 0, 3],
    )
    yield from (changed(ends=[*json.loads(GOOD.to_text())["ends"], end]) for end in ends)
    yield from (changed(ends=given) for given in (None, "abc", 7, True))
    yield changed(ends=[["t", 0, 3]])  # Not where all of its ranges end.
    yield changed(ends=[["t", 0, 99], ["t", 1, 5]])
    yield changed(ends=[["t", 0, 3], ["t", 1, 5], ["t", 1, 9]])


def test_a_manifest_is_read_as_it_was_written() -> None:
    """With all that it has."""
    assert Manifest.from_text(GOOD.to_text(), 4) == GOOD


@pytest.mark.parametrize("text", tuple(damaged()), ids=lambda text: text[:60])
def test_what_is_no_manifest_is_refused(text: str) -> None:
    """A string as an offset, or an end that no range has, used to be believed: records were read twice, or never."""
    with pytest.raises(ManifestError):
        Manifest.from_text(text, 4)


def test_a_manifest_of_another_epoch_is_refused() -> None:
    """A manifest that was copied into another directory describes other rows."""
    with pytest.raises(ManifestError, match="epoch 4, but is in the directory of epoch 5"):
        Manifest.from_text(GOOD.to_text(), 5)


def test_a_damaged_sink_is_not_touched(tmp_path: Path) -> None:
    """Neither its attempts are deleted, nor is anything else."""
    LocalStorage(tmp_path)
    attempt = tmp_path / ATTEMPTS / new_attempt(5, "g")
    attempt.mkdir()
    epoch = tmp_path / directory_of(4)
    epoch.mkdir()
    sink = ParquetSink(f"file://{tmp_path}")
    with pytest.raises(ManifestError, match=r"has no _manifest\.json"):
        sink.resume(PIPELINE)
    for content in (b"\xff\xfe", changed(group=7).encode()):
        (epoch / "_manifest.json").write_bytes(content)
        with pytest.raises(ManifestError):
            sink.resume(PIPELINE)
    (epoch / "_manifest.json").write_text("{")
    with pytest.raises(ManifestError, match=r"epoch=000000000004/_manifest\.json: This is not a manifest: '\{'\."):
        sink.resume(PIPELINE)  # It did not say which file.
    (epoch / "_manifest.json").unlink()
    (epoch / "_manifest.json").mkdir()
    with pytest.raises(ManifestError):
        sink.resume(PIPELINE)
    assert attempt.exists()
    (epoch / "_manifest.json").rmdir()
    (epoch / "_manifest.json").write_text(GOOD.to_text())
    assert sink.resume(PIPELINE).ends == ENDS
    assert not attempt.exists()


@pytest.mark.parametrize("name", ["epoch=9", "epoch=0000000000009"])
def test_an_epoch_that_this_sink_did_not_write_is_refused(tmp_path: Path, name: str) -> None:
    """As a program leaves it that rewrote the path by Spark: the sink used to begin from nothing, and repeat all records."""
    (tmp_path / name).mkdir()
    with pytest.raises(ManifestError, match="epoch 9"):
        ParquetSink(f"file://{tmp_path}").resume(PIPELINE)


@pytest.mark.parametrize(
    ("epoch", "found"),
    [(9, None), (8, "g8"), (7, None), (5, "g5"), (4, "h4"), (1, "h4")],
)
def test_an_epoch_is_looked_for_until_there_is_an_older_one(epoch: int, found: str | None) -> None:
    """Or one of another group, whose epochs say nothing about those of this group."""

    def manifests() -> Iterator[Manifest]:
        for group, number in (("g", 8), ("g", 5), ("h", 4), ("g", 3)):
            yield replace(GOOD, epoch=number, group=group, run=f"{group}{number}")

    one = find_manifest(manifests(), epoch, "g")
    assert (one and one.run) == found
