"""What the debugger says of the same traces, in the words of the audit's tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from membership_client.debugger.epochs import Rebalance, rebalances_of
from membership_client.debugger.life import Life
from membership_client.debugger.report.scene import Scene
from membership_client.debugger.timeline import Group

SKEW_S = 2.0

Row = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Told:
    groups: tuple[Group, ...]
    scene: Scene

    def lives(self) -> list[Life]:
        return [life for group in self.groups for life in group.lives]

    def ownership(self) -> Counter[Row]:
        names = [lane.name for lane in self.scene.members]
        return Counter(
            (lane.group, str(lane.partition), names[one.owner], one.epoch, ms(one.began), ms(one.ended))
            for lane in self.scene.partitions
            for one in lane.owned
        )

    def gaps(self) -> Counter[Row]:
        lanes = self.scene.partitions
        return Counter(
            (lane.group, str(lane.partition), ms(gap.began), ms(gap.ended)) for lane in lanes for gap in lane.gaps
        )

    def overlaps(self) -> Counter[Row]:
        return Counter(
            (lane.group, str(lane.partition), ms(both.began), ms(both.ended), len(both.owners), both.sure)
            for lane in self.scene.partitions
            for both in lane.overlaps
        )

    def rebalances(self) -> Counter[Row]:
        return Counter(_row(group, rebalance) for group in self.groups for rebalance in rebalances_of(group))

    def callbacks(self) -> Iterator[tuple[str, str, str, float | None, bool]]:
        for life in self.lives():
            for call in life.calls:
                took_s = call.lasted_s if call.returned else None
                yield life.group, life.name, f"on_{call.kind.value}", took_s, call.error is not None


def _row(group: Group, rebalance: Rebalance) -> Row:
    began = min([rebalance.began, *(trigger.moment.time for trigger in rebalance.triggers)])
    who = {trigger.life.name for trigger in rebalance.triggers} | {there.life.name for there in rebalance.arrivals}
    return (
        group.name,
        rebalance.epoch,
        ms(began),
        "; ".join(sorted({trigger.text for trigger in rebalance.triggers})),
        tuple(sorted(who)),
        len({partition for _, partition, _ in (*rebalance.gained, *rebalance.lost)}),
        ms(rebalance.lasted_s),
    )


def ms(seconds: float) -> float:
    """As exactly as Spark's time stamps and ours can be expected to agree."""
    return round(seconds, 3)
