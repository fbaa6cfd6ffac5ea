"""Files as they lie in folders of the real world: cut off, compressed, rotated, copied, empty, foreign."""

from __future__ import annotations

import gzip
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from membership_client.trace import Journal
from membership_client.trace.trace_file import TraceFile
from tests.diagnose.traces import EPOCH_S
from tests.trace.test_replay import longest_life


@dataclass(frozen=True, slots=True)
class Messy:
    readable: list[Path]
    """The debugger reads these too."""
    refused: dict[str, tuple[int, str]]
    """By the name of the file: how many of its lines, and why."""
    torn: set[str]
    copies: set[str]
    empty: set[str]


def make_a_mess(folder: Path, traces: list[Path]) -> Messy:
    whole = next(path for path in traces if path.name.startswith("fleet-000"))
    return Messy(
        readable=[_torn(folder, whole), *_rotated_and_saved(folder / "nested")],
        refused=_refused(folder, whole),
        torn={"torn.jsonl"},
        copies={_copy(folder, whole).name, _compressed(folder, whole).name},
        empty={_empty(folder).name, _cut_off(folder, whole).name},
    )


def _torn(folder: Path, whole: Path) -> Path:
    """Of a group of its own, so that it is no copy; half a line, then a new run, then half a line again."""
    text = whole.read_text().replace("fleet-000", "torn")
    half = text[: text.rindex('"cpu"')]
    (folder / "torn.jsonl").write_text(half + "\n" + half.replace('"pid":', '"pid":9'))
    return folder / "torn.jsonl"


def _rotated_and_saved(folder: Path) -> list[Path]:
    """By a real journal, into a folder below."""
    steps, path = longest_life(), folder / "rotated.jsonl"
    journal = Journal(steps[0].before, TraceFile(path, max_bytes=10_000, keep=99))
    for step in steps:
        journal.on_step(step)
    journal.close()
    journal.save(folder / "saved.jsonl")
    for written in folder.iterdir():
        _tell_time(written, 1000.0 if written.name == "saved.jsonl" else 0.0)
    return sorted(folder.iterdir())


def _tell_time(path: Path, at: float) -> None:
    """The simulation's, in which the steps were taken, and not that of this machine."""
    header, rest = path.read_text().split("\n", 1)
    shown = json.loads(header) | {"group": "rotated", "wall": EPOCH_S + at, "at": at}
    path.write_text(json.dumps(shown) + "\n" + rest)


def _refused(folder: Path, whole: Path) -> dict[str, tuple[int, str]]:
    header, *rest = whole.read_text().splitlines()
    entries = len(rest)
    newer = json.dumps(json.loads(header) | {"trace": 2})
    nobody = json.dumps({"trace": 1, "at": 0.0, "wall": 0.0})
    odd = [
        json.dumps({"at": 1.0, "state": "ODD", "epoch": 1, "event": {"is": "Tick"}}),
        json.dumps({"at": "soon"}),
        "{}",
    ]
    contents = {
        "newer.jsonl": ([newer, *rest], entries + 1, "line 1: the trace has version 2; this audit reads version 1"),
        "nobody.jsonl": (
            [nobody, *rest],
            entries + 1,
            "line 1: the header lacks a valid group, member, host, pid or time",
        ),
        "headless.jsonl": (rest, entries, "line 1: there is no header before this entry"),
        "a log.jsonl": (["2027-01-15 INFO hello", "bye", "}"], 2, "line 1: it is not a line of a trace"),
        "odd.jsonl": ([header.replace("fleet-000", "odd"), *odd], 3, "line 2: no member writes such an entry"),
    }
    for name, (lines, _, _) in contents.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    return {name: (count, why) for name, (_, count, why) in contents.items()}


def _copy(folder: Path, whole: Path) -> Path:
    return Path(shutil.copy(whole, folder / "zz-copy.jsonl"))


def _compressed(folder: Path, whole: Path) -> Path:
    path = folder / "zz-compressed.jsonl.1.gz"
    path.write_bytes(gzip.compress(whole.read_bytes()))
    return path


def _empty(folder: Path) -> Path:
    path = folder / "empty.jsonl"
    path.touch()
    return path


def _cut_off(folder: Path, whole: Path) -> Path:
    """In the middle of its compression, before the first line can be had."""
    path = folder / "cut-off.jsonl.gz"
    path.write_bytes(gzip.compress(whole.read_bytes())[:30])
    return path
