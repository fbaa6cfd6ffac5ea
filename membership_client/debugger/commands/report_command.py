"""The command `membership-client report`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from membership_client.debugger.model.broker_log import BrokerLogError, read_broker_logs
from membership_client.debugger.report.composing import compose
from membership_client.debugger.report.page import render
from membership_client.debugger.report.perfetto import perfetto
from membership_client.debugger.report.scene import Scene
from membership_client.debugger.words import counted
from membership_client.terminal_text import harmless
from membership_client.trace import TraceError, read_trace

FORMATS: dict[str, Callable[[Scene], str]] = {"html": render, "perfetto": perfetto}


class _ReportError(Exception):
    """The report cannot be written, or would overwrite a file that it is made from."""


def report_files(
    paths: Iterable[Path], *, output: Path, form: str, skew_s: float, broker_logs: Iterable[Path] = ()
) -> int:
    """Writes the report and says where; 2 if a file cannot be read or the report not be written."""
    paths, broker_logs = list(paths), list(broker_logs)
    try:
        _check_output(output, [*paths, *broker_logs])
        # The same file twice, by a pattern that overlaps a name, is one file.
        sections = [section for path in dict.fromkeys(paths) for section in read_trace(path)]
        scene = compose(sections, skew_s, read_broker_logs(broker_logs))
        # What cannot be said in UTF-8, half a character from a torn trace, is written as its number.
        _write(output, FORMATS[form](scene).encode("utf-8", errors="xmlcharrefreplace"))
    except (TraceError, BrokerLogError, _ReportError) as error:
        print(error, file=sys.stderr)
        return 2
    counts = {"member": scene.members, "partition": scene.partitions, "finding": scene.findings}
    told = ", ".join(counted(len(found), thing) for thing, found in counts.items())
    print(harmless(f"{output}: {told}"))
    return 0


def _check_output(output: Path, inputs: Iterable[Path]) -> None:
    """A link to an input counts as that input."""
    for path in inputs:
        if _is_same(output, path):
            raise _ReportError(
                harmless(f"The report would overwrite {path}, which it is made from: give another file with -o.")
            )


def _write(output: Path, content: bytes) -> None:
    try:
        output.write_bytes(content)
    except OSError as error:
        raise _ReportError(harmless(f"{output} cannot be written: {error.strerror}.")) from error


def _is_same(output: Path, path: Path) -> bool:
    try:
        return output.samefile(path)
    except OSError:  # One of them does not exist, or cannot be looked at: what comes next says so.
        return False
