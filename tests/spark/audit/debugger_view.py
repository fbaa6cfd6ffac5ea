"""What the debugger says of the same traces, in the words of the audit's tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from membership_client.debugger.model.epochs import GroupRebalance, Trigger, rebalances_of
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.model.unowned import uncovered
from membership_client.debugger.report.content import PartitionLane, ReportContent

SKEW_S = 2.0

Row = tuple[object, ...]

_ENDINGS = {
    "the trace ends: the process was killed or stopped, or the rest is missing": "vanished",
    "closed without giving it back": "closed",
}

_CAUSES = {
    " joined again (": "asked for",
    " joined": "joined",
    " changed its subscription": "subscription",
    " left for a while": "away",
    " left, because it did not poll": "did not poll",
    " left": "left",
    " was fenced": "fenced",
    " ended without leaving": "vanished",
    " ended": "ended",
}
"""How the debugger's sentences go on after the name; the first that fits counts."""


@dataclass(frozen=True, slots=True)
class DebuggerView:
    groups: tuple[Group, ...]
    scene: ReportContent

    def runs(self) -> list[MemberRun]:
        return [run for group in self.groups for run in group.runs]

    def names(self) -> dict[tuple[str, str], str]:
        """By group and name. The audit calls members as brokers' logs do: by the instance id, or else by the member id."""
        return {(run.group, run.name): run.instance_id or run.given_id or run.member_id for run in self.runs()}

    def ownership(self) -> Counter[Row]:
        names = self._lane_names()
        return Counter(
            (lane.group, str(lane.partition), names[one.owner], one.epoch, ms(one.began), ms(one.ended))
            for lane in self.scene.partitions
            for one in lane.owned
        )

    def gaps(self) -> Counter[Row]:
        kinds = self._kinds()
        return Counter(row for lane in self.scene.partitions for row in self._gaps_in(lane, kinds))

    def _gaps_in(self, lane: PartitionLane, kinds: Mapping[Row, str]) -> Iterator[Row]:
        """With who owned it before, how that ended, and who owned it next."""
        names = self._lane_names()
        for last, following in uncovered(lane.owned, lambda one: one.began, lambda one: one.ended):
            until, then = (following.began, names[following.owner]) if following else (math.inf, None)
            for gap in lane.gaps:
                if last.ended <= gap.began < until:
                    ended = lane.group, names[last.owner], lane.partition, last.ended
                    ending = _ENDINGS.get(last.ending) or kinds.get(ended, "missing")
                    yield lane.group, str(lane.partition), ms(gap.began), ms(gap.ended), names[last.owner], ending, then

    def _lane_names(self) -> list[str]:
        names = self.names()
        return [names[lane.group, lane.name] for lane in self.scene.members]

    def _kinds(self) -> dict[Row, str]:
        """The callbacks that took partitions away: by group, member, partition and when."""
        names = self.names()
        return {
            (run.group, names[run.group, run.name], period.partition, period.ended.time): call.kind.value
            for run in self.runs()
            for period in run.owned_periods
            for call in run.calls
            if call.last is period.ended
        }

    def overlaps(self) -> Counter[Row]:
        return Counter(
            (lane.group, str(lane.partition), ms(both.began), ms(both.ended), len(both.owners), both.sure)
            for lane in self.scene.partitions
            for both in lane.overlaps
        )

    def rebalances(self) -> Counter[Row]:
        names = self.names()
        return Counter(_row(group, rebalance, names) for group in self.groups for rebalance in rebalances_of(group))

    def callbacks(self) -> Iterator[tuple[str, str, str, float | None, float, bool]]:
        names = self.names()
        for run in self.runs():
            for call in run.calls:
                took_s = call.lasted_s if call.returned else None
                yield (
                    run.group,
                    names[run.group, run.name],
                    f"on_{call.kind.value}",
                    took_s,
                    call.waited_s,
                    call.error is not None,
                )


def _row(group: Group, rebalance: GroupRebalance, names: Mapping[tuple[str, str], str]) -> Row:
    runs = [trigger.run for trigger in rebalance.triggers] + [there.run for there in rebalance.arrivals]
    texts = {names[group.name, t.run.name] + t.text.removeprefix(t.run.name) for t in rebalance.triggers}
    return (
        group.name,
        rebalance.epoch,
        ms(rebalance.began),
        ", ".join(sorted({_cause(trigger) for trigger in rebalance.triggers})) or "unknown",
        "; ".join(sorted(texts)),
        tuple(sorted({names[group.name, run.name] for run in runs})),
        len({partition for _, partition, _ in (*rebalance.gained, *rebalance.lost)}),
        ms(rebalance.lasted_s),
        _certainty(rebalance),
    )


def _cause(trigger: Trigger) -> str:
    said = trigger.text.removeprefix(trigger.run.name)
    return next(cause for start, cause in _CAUSES.items() if said.startswith(start))


def _certainty(rebalance: GroupRebalance) -> str:
    if not rebalance.triggers:
        return "unknown"
    return "certain" if any(trigger.sure for trigger in rebalance.triggers) else "likely"


def ms(seconds: float) -> float:
    """As exactly as Spark's time stamps and ours can be expected to agree."""
    return round(seconds, 3)
