"""GroupAdmin: describes the groups of a cluster, removes members, and changes offsets and settings."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, cast, get_args

from membership_client.admin import describing, removal, resetting
from membership_client.admin import settings as group_settings
from membership_client.admin.asking import AdminConnection, Asker
from membership_client.admin.checks import checking
from membership_client.admin.checks.client_config import read_client_config
from membership_client.admin.checks.finding import ChangeTo, GroupCheck
from membership_client.admin.checks.gathering import gather
from membership_client.admin.describing import GroupSummary
from membership_client.admin.errors import NotAuthorizedError, UnsupportedByBrokerError
from membership_client.admin.removal import Life, Removal, Sign, Signs
from membership_client.admin.resetting import Plan, Target, checked_target
from membership_client.admin.settings import Setting
from membership_client.admin.views import REBALANCING, GroupView
from membership_client.admin.waiting import Waiting, WaitWatch, waiting
from membership_client.arguments import (
    PartitionLike,
    checked_choice,
    checked_flag,
    checked_function,
    checked_instance,
    checked_items,
    checked_mapping,
    checked_partitions,
    checked_seconds,
    checked_text,
    optional,
)
from membership_client.core.events import DescribeSessionTimeout, SessionTimeoutDescribed
from membership_client.errors import GroupNotFoundError
from membership_client.types import Offset, TopicPartition

_LOOK_S = 0.25
_SETTLED_WITHIN_S = 5.0

WATCH_S = 10.0
"""How long members are watched before they are removed, in seconds. Most applications commit within this time."""


class GroupAdmin:
    """Administers groups of both protocols, over connections of its own. Use it from one thread.

        with GroupAdmin("localhost:9092") as admin:
            for group in admin.list():
                print(group.group_id, group.state)

    `config` is `host:port,...`, or a mapping with librdkafka's names: bootstrap.servers, client.id, request.timeout.ms
    and the keys for TLS and SASL. Every method may raise GroupNotFoundError, NotAuthorizedError, UnsupportedByBrokerError
    and InvalidGroupError; it raises NoAnswerError if the cluster does not answer in time, and MemberClosedError after
    close(). A forked child may go on using it; the child opens connections of its own.
    """

    def __init__(
        self,
        config: str | Mapping[str, Any],
        *,
        client_id: str = "membership-client-admin",
        timeout_s: float = 10.0,
    ) -> None:
        self._asker = Asker(AdminConnection.of(config, client_id=client_id, timeout_s=timeout_s))
        self._watches: dict[str, WaitWatch] = {}

    # --- describing --------------------------------------------------------------------------------------------------

    def list(
        self, *, states: Collection[str] = (), protocols: Collection[str] = (), prefix: str = ""
    ) -> tuple[GroupSummary, ...]:
        """Groups of consumers on all brokers that have one of these states, one of these protocols, and this prefix."""
        return describing.list_groups(
            self._asker,
            states=checked_items("states", states, checked_text),
            protocols=checked_items("protocols", protocols, checked_text),
            prefix=checked_instance("prefix", prefix, str),
        )

    def describe(self, group_id: str, *, lag: bool = True) -> GroupView:
        """The group as its coordinator describes it, with committed offsets and lag unless `lag` is False."""
        checked_flag("lag", lag)
        view = describing.describe(self._asker, checked_text("group_id", group_id))
        return describing.with_offsets(self._asker, view) if lag else view

    def committed(self, group_id: str, partitions: Iterable[PartitionLike]) -> dict[TopicPartition, Offset]:
        """Committed offsets; a partition without one is missing. Waits for open transactions that commit offsets."""
        group_id = checked_text("group_id", group_id)
        wanted = frozenset(checked_partitions("partitions", partitions))
        return describing.committed(self._asker, group_id, wanted)

    def waiting_for(self, group_id: str) -> Waiting:
        """The members that the group waits for, and those that commit nothing although records wait for them.

        Durations count from the first call for the group on this GroupAdmin. If the user may not read the group's offsets,
        members that commit nothing are left out.
        """
        try:
            view = self.describe(group_id)
        except NotAuthorizedError:
            view = self.describe(group_id, lag=False)
        watched = self._watches.setdefault(group_id, WaitWatch()).see(view, time.monotonic())
        asks = watched.waits or watched.quiet
        return waiting(watched, self._session_timeout_s(group_id) if asks else None)

    # --- before a change ---------------------------------------------------------------------------------------------

    def check(
        self,
        group_id: str,
        to: ChangeTo = "consumer",
        *,
        config: Mapping[str, Any] | None = None,
        patterns: Iterable[str] = (),
    ) -> GroupCheck:
        """What stands in the way of a change of the group, before a member is restarted. Changes nothing.

        `to` is `consumer` for KIP-848, `static` for static membership, or `membership-client` for the move from another client.
        `config` is the configuration that members will have. Its keys are checked, and, over connections of its user, what
        this user may do. `patterns` are those that members subscribe to in librdkafka's way, with `^` in front.
        """
        to = cast("ChangeTo", checked_choice("to", to, get_args(ChangeTo)))
        read = (
            None
            if config is None
            else read_client_config(checked_mapping("config", config), checked_text("group_id", group_id))
        )
        patterns = checked_items("patterns", patterns, checked_text)
        view = self._settled(group_id)
        return checking.check(gather(self._asker, view, read, patterns), to)

    def _settled(self, group_id: str) -> GroupView:
        """The group when no classic rebalance hides the assignments of its members, or after `_SETTLED_WITHIN_S`."""
        began = time.monotonic()
        while (view := self.describe(group_id, lag=False)).state in REBALANCING:
            if time.monotonic() - began > _SETTLED_WITHIN_S:
                break
            time.sleep(_LOOK_S)
        return view

    # --- removing ----------------------------------------------------------------------------------------------------

    def signs_of_life(
        self,
        group_id: str,
        members: Collection[str] | None = None,
        *,
        watch_s: float = WATCH_S,
        progress: Callable[[float], None] | None = None,
    ) -> dict[str, Sign]:
        """Watches members (by default all), named by instance id or member id, for signs that they are alive.

        Returns when every member has shown a sign, or after `watch_s`. Names of no member are missing from the result.
        `progress` is called with the seconds left.
        """
        members = optional(_checked_names, "members", members)
        optional(_checked_progress, "progress", progress)
        watch_s = checked_seconds("watch_s", watch_s)
        first, began = self.describe(group_id), time.monotonic()
        names = [member.name for member in first.members] if members is None else members
        watched = {name: member for name in names if (member := first.find(name)) is not None}
        signs = Signs(first, began, self._session_timeout_s(group_id))
        open_for = {member.name for member in watched.values()}
        while open_for - signs.settled and (left_s := began + watch_s - time.monotonic()) > 0:
            if progress is not None:
                progress(left_s)
            time.sleep(min(_LOOK_S, left_s))
            signs.see(self._with_committed(group_id), time.monotonic())
        return {name: signs.of(member) for name, member in watched.items()}

    def remove(
        self,
        group_id: str,
        members: Iterable[str],
        *,
        reason: str | None = None,
        force: bool = False,
        watch_s: float = WATCH_S,
        progress: Callable[[float], None] | None = None,
    ) -> tuple[Removal, ...]:
        """Removes members, named by instance id or member id; returns an outcome for each, in the given order.

        Watches the members first, as `signs_of_life` does. A member that looks alive, or may be alive, is not removed; its
        outcome has a MemberAliveError. With `force` all are removed at once. The coordinator writes the reason to its log.
        """
        names = tuple(dict.fromkeys(_checked_names("members", members)))
        checked_flag("force", force)
        checked_seconds("watch_s", watch_s)
        optional(_checked_progress, "progress", progress)
        # Member ids are looked up before the watch, because a process that takes over an instance id meanwhile must not be removed.
        view = self.describe(group_id, lag=False)
        found = {name: view.find(name) for name in names}
        signs = {} if force else self.signs_of_life(group_id, names, watch_s=watch_s, progress=progress)
        alive = {name: sign for name, sign in signs.items() if sign.life is not Life.GONE}
        to_remove = {name: member for name, member in found.items() if member is not None and name not in alive}
        outcomes = removal.remove(self._asker, group_id, to_remove, removal.full_reason(reason))
        for name, member in found.items():
            if member is None:
                outcomes[name] = removal.unknown_member(group_id, name)
            elif name in alive:
                outcomes[name] = removal.not_removed(name, member, alive[name])
        return tuple(outcomes[name] for name in names)

    def remove_all(
        self,
        group_id: str,
        *,
        reason: str | None = None,
        force: bool = False,
        watch_s: float = WATCH_S,
        progress: Callable[[float], None] | None = None,
    ) -> tuple[Removal, ...]:
        """Removes all members, as `remove` does."""
        checked_flag("force", force)
        checked_seconds("watch_s", watch_s)
        optional(_checked_progress, "progress", progress)
        names = [member.name for member in self.describe(group_id, lag=False).members]
        return self.remove(group_id, names, reason=reason, force=force, watch_s=watch_s, progress=progress)

    # --- offsets -----------------------------------------------------------------------------------------------------

    def plan_reset(
        self,
        group_id: str,
        to: Target,
        *,
        topics: Iterable[str] = (),
        partitions: Iterable[PartitionLike] = (),
    ) -> Plan:
        """What a reset of these offsets would change; without topics and partitions, a reset of all committed offsets.

        Changes nothing, so the group may have members. A `Given` target names its partitions itself.
        """
        group_id = checked_text("group_id", group_id)
        to, topics = checked_target(to), checked_items("topics", topics, checked_text)
        partitions = checked_partitions("partitions", partitions)
        committed = describing.all_committed(self._asker, group_id)
        return resetting.plan(self._asker, group_id, to, committed, topics=topics, partitions=partitions)

    def reset(self, plan: Plan) -> None:
        """Commits the planned offsets.

        Raises:
            GroupNotEmptyError: the group has members; nothing was changed.
            OffsetsNotChangedError: some offsets could not be changed; the error says which offsets were changed.
        """
        plan = resetting.checked_plan(plan)
        # Offsets can be committed before the group has its first member.
        with contextlib.suppress(GroupNotFoundError):
            resetting.require_empty(self.describe(plan.group_id, lag=False))
        resetting.commit(self._asker, plan)

    def forget_offsets(self, group_id: str, partitions: Iterable[PartitionLike]) -> None:
        """Deletes committed offsets of topics that no member subscribes to. Raises the errors of `reset`."""
        group_id = checked_text("group_id", group_id)
        resetting.forget(self._asker, group_id, frozenset(checked_partitions("partitions", partitions)))

    # --- settings ----------------------------------------------------------------------------------------------------

    def settings(self, group_id: str) -> tuple[Setting, ...]:
        """Session timeout and intervals, with the brokers' defaults and limits."""
        return group_settings.settings(self._asker, checked_text("group_id", group_id))

    def change_settings(self, group_id: str, values: Mapping[str, int | None]) -> None:
        """Sets values in milliseconds, by name; None restores the default. If one is refused, none is changed: SettingRefusedError."""
        group_id = checked_text("group_id", group_id)
        group_settings.change_settings(self._asker, group_id, checked_mapping("values", values))

    # -----------------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        self._asker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _with_committed(self, group_id: str) -> GroupView:
        view = self.describe(group_id, lag=False)
        return replace(view, committed=describing.all_committed(self._asker, group_id))

    def _session_timeout_s(self, group_id: str) -> float | None:
        """The group's session timeout; None if the brokers do not report it, or deny access."""
        try:
            answer = self._asker.ask(DescribeSessionTimeout(group_id=group_id))
        except UnsupportedByBrokerError:
            return None
        return answer.session_timeout_s if isinstance(answer, SessionTimeoutDescribed) else None


def _checked_names(name: str, value: object) -> tuple[str, ...]:
    return checked_items(name, value, checked_text)


def _checked_progress(name: str, value: object) -> None:
    checked_function(name, value, of="the seconds left")
