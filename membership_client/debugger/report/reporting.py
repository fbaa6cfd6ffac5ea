"""The command `membership-client report`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from membership_client.debugger.broker_log import read_broker_logs
from membership_client.debugger.report.composing import compose
from membership_client.debugger.report.page import render
from membership_client.debugger.report.perfetto import perfetto
from membership_client.debugger.report.scene import Scene
from membership_client.trace import TraceError, read_trace

FORMATS: dict[str, Callable[[Scene], str]] = {"html": render, "perfetto": perfetto}


def report_files(
    paths: Iterable[Path], *, output: Path, form: str, skew_s: float, broker_logs: Iterable[Path] = ()
) -> int:
    """Writes the report and says where; 2 if a file cannot be read or the report not be written."""
    try:
        # The same file twice, by a pattern that overlaps a name, is one file.
        sections = [section for path in dict.fromkeys(paths) for section in read_trace(path)]
        scene = compose(sections, skew_s, read_broker_logs(broker_logs))
        # What cannot be said in UTF-8, half a character from a torn trace, is written as its number.
        output.write_text(FORMATS[form](scene), encoding="utf-8", errors="xmlcharrefreplace")
    except (TraceError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{output}: {len(scene.members)} members, {len(scene.partitions)} partitions, {len(scene.findings)} findings")
    return 0
