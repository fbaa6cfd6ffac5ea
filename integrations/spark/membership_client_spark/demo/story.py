"""Tells what happens, a sentence each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from membership_client.demo.kit import GroupSeen, Remark
from membership_client_spark.demo.happenings import (
    AllRead,
    Counted,
    EpochBegan,
    EpochCommitted,
    ExecutorGone,
    ExecutorKilled,
    ExecutorStarted,
    Happening,
    Produced,
    SessionReady,
    SlotShare,
)

Tone = Literal["note", "act", "gain", "bad"]


@dataclass(frozen=True, slots=True)
class PipelineLine:
    """One sentence."""

    at: float
    text: str
    tone: Tone


class PipelineStoryteller:
    """Remembers who has which partitions, so that it tells changes only."""

    def __init__(self) -> None:
        self._slots: tuple[SlotShare, ...] = ()
        self._killed: set[str] = set()

    def tell(self, happening: Happening) -> list[PipelineLine]:
        """Nothing, one line or several."""
        return [PipelineLine(happening.at, text, tone) for text, tone in self._sentences(happening)]

    def _sentences(self, happening: Happening) -> Iterable[tuple[str, Tone]]:  # noqa: PLR0911 - one for each kind
        match happening:
            case Remark(text=text):
                return [(text, "note")]
            case Produced(records=records):
                return [(f"{records:,} orders are in the topic", "act")]
            case SessionReady(version=version):
                return [(f"Spark {version} runs", "act")]
            case EpochBegan():
                return self._shares(happening.slots)
            case EpochCommitted():
                return [(_epoch(happening), "act")]
            case GroupSeen(epoch=epoch, members=members):
                return [(f"the coordinator: {members} members, group epoch {epoch}", "note")]
            case AllRead():
                return [("all is read; counting what is in the Parquet files", "act")]
            case Counted(rows=rows):
                return [(f"{rows:,} rows are there", "act")]
            case _:
                return self._of_executors(happening)

    def _shares(self, slots: tuple[SlotShare, ...]) -> Iterable[tuple[str, Tone]]:
        """What the slots own, where it is not what they owned in the epoch before."""
        before, self._slots = self._slots, slots
        return [
            (f"slot {slot.instance_id} owns partitions {' '.join(map(str, slot.partitions)) or 'none'}", "gain")
            for slot in slots
            if slot not in before
        ]

    def _of_executors(self, happening: ExecutorStarted | ExecutorKilled | ExecutorGone) -> Iterable[tuple[str, Tone]]:
        match happening:
            case ExecutorStarted(executor=executor, pid=pid):
                return [(f"executor {executor} started (process {pid})", "gain")]
            case ExecutorKilled(executor=executor, pid=pid, epoch=epoch):
                self._killed.add(executor)
                return [(f"executor {executor} killed in the middle of epoch {epoch} (kill -9 {pid})", "bad")]
            case ExecutorGone(executor=executor):
                how = "gone" if executor in self._killed else "lost, by nobody's hand"
                return [(f"executor {executor} is {how}", "bad")]


def _epoch(epoch: EpochCommitted) -> str:
    pace = epoch.records / epoch.seconds if epoch.seconds else 0.0
    return f"epoch {epoch.epoch:>2}: {epoch.records:,} records in {epoch.seconds:.1f} s ({pace:,.0f}/s)"
