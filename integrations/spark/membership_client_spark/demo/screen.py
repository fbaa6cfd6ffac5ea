"""Prints what happens, a sentence each, and the summary: in colours on a terminal with rich, as plain lines elsewhere."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from membership_client.demo.kit import GroupSeen, Remark, picture_console, save_picture
from membership_client_spark.demo.events import (
    AllRead,
    Counted,
    DemoEvent,
    EpochBegan,
    EpochDone,
    ExecutorGone,
    ExecutorKilled,
    ExecutorStarted,
    Produced,
    SessionReady,
    SlotShare,
)
from membership_client_spark.demo.summary import PipelineSummary, table_lines, verdict

STYLES: dict[Tone, str] = {"note": "dim", "act": "", "gain": "green", "bad": "bold red"}
_PICTURE_WIDTH = 100


class Screen:
    """Prints. `printed` has all lines so far, each with its style, for a picture."""

    def __init__(self, began_at: float) -> None:
        self._began_at = began_at
        self._sentences = PipelineSentences()
        self._print = _printer()
        self.printed: list[tuple[str, str]] = []

    def show_event(self, event: DemoEvent) -> None:
        for line in self._sentences.sentences_for(event):
            self._show(f"[{line.at - self._began_at:5.1f}s] {line.text}", STYLES[line.tone])

    def show_summary(self, summary: PipelineSummary) -> None:
        for line in ("", *table_lines(summary), ""):
            self._show(line, "")
        self._show(verdict(summary), "bold green" if summary.as_expected else "bold red")

    def _show(self, text: str, style: str) -> None:
        self.printed.append((text, style))
        self._print(text, style)


def _printer() -> Callable[[str, str], None]:
    if not sys.stdout.isatty() or importlib.util.find_spec("rich") is None:
        return lambda text, _: print(text, flush=True)
    from rich.console import Console  # noqa: PLC0415 - rich is an extra
    from rich.text import Text  # noqa: PLC0415

    console = Console()
    return lambda text, style: console.print(Text(text, style=style))


def save_screen(printed: Iterable[tuple[str, str]], file: Path) -> None:
    """Writes lines, each with its style, to an SVG file. Needs rich."""
    from rich.text import Text  # noqa: PLC0415 - rich is an extra

    console = picture_console(_PICTURE_WIDTH)
    for text, style in printed:
        console.print(Text(text, style=style))
    save_picture(console, file, title="membership-client-spark demo", unique_id="spark-demo")


# --- sentences -------------------------------------------------------------------------------------------------------

Tone = Literal["note", "act", "gain", "bad"]


@dataclass(frozen=True, slots=True)
class PipelineSentence:
    """One sentence."""

    at: float
    text: str
    tone: Tone


class PipelineSentences:
    """Turns events into sentences. It knows the partitions of each slot, and mentions changes only."""

    def __init__(self) -> None:
        self._slots: tuple[SlotShare, ...] = ()
        self._killed: set[str] = set()

    def sentences_for(self, event: DemoEvent) -> list[PipelineSentence]:
        """The lines for one event; there may be none."""
        return [PipelineSentence(event.at, text, tone) for text, tone in self._sentences(event)]

    def _sentences(self, event: DemoEvent) -> Iterable[tuple[str, Tone]]:  # noqa: PLR0911 - one for each kind
        match event:
            case Remark(text=text):
                return [(text, "note")]
            case Produced(records=records):
                return [(f"{records:,} orders are in the topic", "act")]
            case SessionReady(version=version):
                return [(f"Spark {version} runs", "act")]
            case EpochBegan():
                return self._shares(event.slots)
            case EpochDone():
                return [(_epoch(event), "act")]
            case GroupSeen(epoch=epoch, members=members):
                return [(f"the coordinator: {members} members, group epoch {epoch}", "note")]
            case AllRead():
                return [("all is read; counting what is in the Parquet files", "act")]
            case Counted(rows=rows):
                return [(f"{rows:,} rows are there", "act")]
            case _:
                return self._of_executors(event)

    def _shares(self, slots: tuple[SlotShare, ...]) -> Iterable[tuple[str, Tone]]:
        """The partitions of the slots that own others than in the epoch before."""
        before, self._slots = self._slots, slots
        return [
            (f"slot {slot.instance_id} owns partitions {' '.join(map(str, slot.partitions)) or 'none'}", "gain")
            for slot in slots
            if slot not in before
        ]

    def _of_executors(self, event: ExecutorStarted | ExecutorKilled | ExecutorGone) -> Iterable[tuple[str, Tone]]:
        match event:
            case ExecutorStarted(executor=executor, pid=pid):
                return [(f"executor {executor} started (process {pid})", "gain")]
            case ExecutorKilled(executor=executor, pid=pid, epoch=epoch):
                self._killed.add(executor)
                return [(f"executor {executor} killed in the middle of epoch {epoch} (kill -9 {pid})", "bad")]
            case ExecutorGone(executor=executor):
                how = "gone" if executor in self._killed else "lost, and the demonstration did not kill it"
                return [(f"executor {executor} is {how}", "bad")]


def _epoch(epoch: EpochDone) -> str:
    pace = epoch.records / epoch.seconds if epoch.seconds else 0.0
    return f"epoch {epoch.epoch:>2}: {epoch.records:,} records in {epoch.seconds:.1f} s ({pace:,.0f}/s)"
