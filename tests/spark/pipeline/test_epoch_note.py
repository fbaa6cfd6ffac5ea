"""The epoch in the metadata of committed offsets, which any tool may have written."""

from __future__ import annotations

import pytest

from membership_client import Offset
from membership_client_spark.pipeline.slots import epoch_in, epoch_note


def test_an_epoch_is_read_as_it_was_noted() -> None:
    """So that epochs go on counting after a restart."""
    assert epoch_in(Offset(7, metadata=epoch_note(41))) == 41


@pytest.mark.parametrize("metadata", ["", "epoch=", "epoch=-1", "epoch=x", "epoch=\u0661", "epoch=" + "9" * 4_000])
def test_what_is_no_epoch_counts_as_none(metadata: str) -> None:
    """A tool that committed 4,000 digits made the next epoch a directory whose name no file system takes."""
    assert epoch_in(Offset(7, metadata=metadata)) == 0
    assert epoch_in(None) == 0
