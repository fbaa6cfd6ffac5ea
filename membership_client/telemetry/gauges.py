"""What is true of the process's members at this moment: summed up per group, or told apart if they are labelled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from membership_client.telemetry import names
from membership_client.telemetry.labels import Labels
from membership_client.telemetry.live_members import LiveMember, LiveMembers
from membership_client.types import MemberState

Key = tuple[tuple[str, str], ...]
Ages = Callable[[LiveMember], float | None]


class Gauges:
    """Read by exporters, on their threads. Ages are the worst of a group's; a rebalance's, that of the newest."""

    def __init__(self, meter: Meter, live_members: LiveMembers, clock: Callable[[], float]) -> None:
        self._live_members = live_members
        self._clock = clock
        meter.create_observable_up_down_counter(names.MEMBERS, [self._members], "{member}", "members in each state")
        meter.create_observable_up_down_counter(
            names.ASSIGNED, [self._assigned], "{partition}", "partitions that members own"
        )
        meter.create_observable_gauge(names.REBALANCE_AGE, [self._rebalance_age], "s", "since a rebalance last ended")
        meter.create_observable_gauge(
            names.HEARTBEAT_AGE, [self._heartbeat_age], "s", "since the coordinator last confirmed the member"
        )
        meter.create_observable_gauge(names.POLL_AGE, [self._poll_age], "s", "since the application last polled")

    def _members(self, _: CallbackOptions) -> Iterator[Observation]:
        for labels, group in self._groups():
            states = [live.worker.member.state for live in group]
            for state in MemberState:
                yield Observation(states.count(state), {**labels, names.STATE: state.value})

    def _assigned(self, _: CallbackOptions) -> Iterator[Observation]:
        for labels, group in self._groups():
            yield Observation(sum(len(live.worker.member.owned) for live in group), labels)

    def _rebalance_age(self, _: CallbackOptions) -> Iterator[Observation]:
        return self._ages(lambda live: live.tracker.settled_at, max)

    def _heartbeat_age(self, _: CallbackOptions) -> Iterator[Observation]:
        return self._ages(lambda live: live.worker.member.confirmed_at, min)

    def _poll_age(self, _: CallbackOptions) -> Iterator[Observation]:
        return self._ages(lambda live: live.worker.polled_at, min)

    def _ages(self, moment: Ages, chosen: Callable[[Iterable[float]], float]) -> Iterator[Observation]:
        """Since that moment, in the members that have had one."""
        for labels, group in self._groups():
            moments = [at for live in group if (at := moment(live)) is not None]
            if moments:
                yield Observation(max(0.0, self._clock() - chosen(moments)), labels)

    def _groups(self) -> Iterable[tuple[Labels, list[LiveMember]]]:
        found: dict[Key, list[LiveMember]] = {}
        for live in self._live_members:
            found.setdefault(tuple(live.labels.items()), []).append(live)
        return [(dict(key), group) for key, group in found.items()]
