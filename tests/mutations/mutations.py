"""One-line bugs in the core. Each must make the suite fail; one that survives is a bug of the suite."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Mutation:
    """`before` must occur exactly once in the file, so that a change of the core cannot silently disarm a mutation."""

    name: str
    file: str
    before: str
    after: str

    def apply(self, root: Path) -> None:
        self._path(root).write_text(self.applied(root))

    def applied(self, root: Path) -> str:
        """The text of the file with the bug."""
        source = self._path(root).read_text()
        if source.count(self.before) != 1:
            raise LookupError(f"{self.name}: {self.before!r} occurs {source.count(self.before)} times in {self.file}")
        return source.replace(self.before, self.after)

    def _path(self, root: Path) -> Path:
        return root / "membership_client" / "core" / self.file


MUTATIONS = (
    Mutation(
        "acknowledged before the callback returned",
        "callbacks.py",
        "    return replace(member, ids=call_id, call=call), (effect,)",
        "    return replace(member, ids=call_id, call=call, owned=member.owned | partitions), (effect,)",
    ),
    Mutation(
        "revoked before the callback returned",
        "callbacks.py",
        "    return replace(member, ids=call_id, call=call), (effect,)",
        "    return replace(member, ids=call_id, call=call, owned=member.owned - partitions), (effect,)",
    ),
    Mutation(
        "nothing is said again after a lost connection",
        "requests.py",
        "    return replace(member, coordinator=None, accepted=None)",
        "    return replace(member, coordinator=None)",
    ),
    Mutation(
        "nothing is said again after a refusal",
        "refusals.py",
        "    member = replace(member, dialogue=None, accepted=None)",
        "    member = replace(member, dialogue=None)",
    ),
    Mutation(
        "an answer to another request is taken",
        "machine.py",
        "if flight and flight.request_id == request_id), None)",
        "if flight), None)",
    ),
    Mutation(
        "an epoch that goes back is believed",
        "heartbeats.py",
        "    if answer.epoch < max(member.epoch, 1):",
        "    if answer.epoch < -1:",
    ),
    Mutation(
        "no backoff after repeated fences",
        "fencing.py",
        "    if member.fences > 1:",
        "    if member.fences > 1000:",
    ),
    Mutation(
        "no backoff after a lost connection",
        "machine.py",
        '    return slow_down(unanswered(member, event.kind, event.detail), "dialogue_backoff", now), ()',
        "    return unanswered(member, event.kind, event.detail), ()",
    ),
    Mutation(
        "no backoff after a refusal",
        "requests.py",
        "config=member.config, cap_s=cap_s)}",
        "config=member.config, cap_s=cap_s).wait_until(0.0) and Backoff()}",
    ),
    Mutation(
        "empty read as no news",
        "heartbeats.py",
        "    if assignment is not None:\n        member = _adopt(",
        "    if assignment:\n        member = _adopt(",
    ),
    Mutation(
        "the owned list left out of a full heartbeat",
        "consumer_protocol.py",
        "    owned = _holdings(member) if known is None or _acknowledges(known, claims) else None",
        "    owned = _holdings(member) if known is not None and _acknowledges(known, claims) else None",
    ),
    Mutation(
        "the owned list is sent while partitions are being revoked",
        "consumer_protocol.py",
        "    owned = _holdings(member) if known is None or _acknowledges(known, claims) else None",
        "    owned = _holdings(member) if known is None or member.call or _acknowledges(known, claims) else None",
    ),
    Mutation(
        "a join with a null owned list",
        "consumer_protocol.py",
        "        owned=NOTHING if member.epoch == JOIN_EPOCH else owned,",
        "        owned=None if member.epoch == JOIN_EPOCH else owned,",
    ),
    Mutation(
        "a pattern removed by null instead of empty",
        "consumer_protocol.py",
        '        regex=(stated.regex or "") if stated else None,',
        "        regex=stated.regex if stated else None,",
    ),
    Mutation(
        "-2 without the instance id",
        "consumer_protocol.py",
        "        epoch=TEMPORARY_LEAVE_EPOCH,\n        instance_id=member.config.group_instance_id,",
        "        epoch=TEMPORARY_LEAVE_EPOCH,\n        instance_id=None,",
    ),
    Mutation(
        "a static member leaves for good by default",
        "consumer_protocol.py",
        "    if mode is not LeaveMode.LEAVE and config.group_instance_id is not None:",
        "    if mode is LeaveMode.TEMPORARY and config.group_instance_id is not None:",
    ),
    Mutation(
        "a new target is dropped while a callback runs",
        "heartbeats.py",
        "    if member.target is not None and member.target.partitions == assignment:",
        "    if member.call or (member.target is not None and member.target.partitions == assignment):",
    ),
    Mutation(
        "a target that came during a callback is taken for what it brought",
        "callbacks.py",
        "        member = replace(member, owned=member.owned | call.partitions, greeted=True, call_backoff=FRESH)",
        "        brought = member.target.partitions if member.target else call.partitions\n"
        "        member = replace(member, owned=member.owned | brought, greeted=True, call_backoff=FRESH)",
    ),
    Mutation(
        "a fence does not tell the running callback",
        "callbacks.py",
        "    return (TellLost(member.call.call_id),) if member.call else ()",
        "    return ()",
    ),
    Mutation(
        "nothing is lost on a fence",
        "callbacks.py",
        "    return ASAP if member.state in OUT_OF_GROUP else None",
        "    return ASAP if member.state in OUT_OF_GROUP - {S.FENCED} else None",
    ),
    Mutation(
        "a rejoin keeps the old epoch",
        "fencing.py",
        "        epoch=JOIN_EPOCH,\n        accepted=None,\n        target=None,\n        enrolled=known,",
        "        accepted=None,\n        target=None,\n        enrolled=known,",
    ),
    Mutation(
        "stable before the owned list is confirmed",
        "reconciliation.py",
        "    return ASAP if member.state is S.ACK and confirmed else None",
        "    return ASAP if member.state is S.ACK else None",
    ),
    Mutation(
        "assign before revoke",
        "reconciliation.py",
        "    if revoked := _to_revoke(member):",
        "    if (revoked := _to_revoke(member)) and not _to_assign(member):",
    ),
    Mutation(
        "the same partitions under a new target are not acknowledged",
        "consumer_protocol.py",
        "    return known.owned != claims.owned or known.reconciled != claims.reconciled",
        "    return known.owned != claims.owned",
    ),
    Mutation(
        "a failed assign counts as owned",
        "callbacks.py",
        '    elif not failed or member.config.callback_errors == "continue":',
        "    elif not failed or True:",
    ),
    Mutation(
        "a failed revoke keeps its partitions",
        "callbacks.py",
        "    if call.kind is not CallbackKind.ASSIGNED:",
        "    if call.kind is not CallbackKind.ASSIGNED and not failed:",
    ),
    Mutation(
        "no heartbeats while the last callback runs",
        "heartbeats.py",
        "    if member.state not in IN_GROUP and not stays_while_leaving(member):",
        "    if member.state not in IN_GROUP:",
    ),
    Mutation(
        "the coordinator is told before the partitions are given back",
        "leaving.py",
        "    return member.call is not None and member.state is not S.STALE",
        "    return member.call is not None and member.state is S.FATAL",
    ),
    Mutation(
        "a zero interval is adopted",
        "heartbeats.py",
        "    if SHORTEST_INTERVAL_S <= answer.interval_s <= LONGEST_INTERVAL_S:",
        "    if answer.interval_s <= LONGEST_INTERVAL_S:",
    ),
    Mutation(
        "a stable member heartbeats early",
        "heartbeats.py",
        "    gap = member.interval_s if member.owed_gap_s is None else member.owed_gap_s",
        "    gap = member.interval_s / 2 if member.owed_gap_s is None else member.owed_gap_s",
    ),
    Mutation(
        "a member that is owed partitions waits a whole interval",
        "heartbeats.py",
        "        return replace(member, owed_gap_s=_first_gap(member))",
        "        return replace(member, owed_gap_s=None)",
    ),
    Mutation(
        "our former self is treated as a stranger",
        "instance_id_conflict.py",
        "    if holder is not None and holder.member_id == member.member_id:",
        "    if holder is None and member.state is S.FATAL:",
    ),
    Mutation(
        "being superseded only fences",
        "refusals.py",
        "            return instance_id_conflict.superseded(member, answer.message, now)",
        "            return fence(member, _said(answer), now, known=False)",
    ),
    Mutation(
        "a stale member joins again by itself",
        "joining.py",
        "        return ASAP if member.polled_at is not None or member.subscription is None else None",
        "        return ASAP",
    ),
    Mutation(
        "names are forgotten under a running callback",
        "heartbeats.py",
        "    known = assignment.topics | member.owned.topics | running.topics",
        "    known = assignment.topics | member.owned.topics",
    ),
    Mutation(
        "an unknown error code is retried for ever",
        "refusals.py",
        "    action = policy.REQUESTS[type(flight.request)].get(answer.code, Reaction.FATAL)",
        "    action = policy.REQUESTS[type(flight.request)].get(answer.code, Reaction.RETRY)",
    ),
    Mutation(
        "a timeout leaves the other requests of its connection behind",
        "machine.py",
        "        if flight is not None and flight.to == late.to:",
        "        if flight is late:",
    ),
    Mutation(
        "what a callback is bringing is left out of what we hold",
        "consumer_protocol.py",
        "    return member.owned | coming | running",
        "    return member.owned",
    ),
    Mutation(
        "a denied topic is named in every heartbeat",
        "consumer_protocol.py",
        "    stated = claims.subscription if news and member.denied_until is None else None",
        "    stated = (member.subscription or claims.subscription) if news or member.denied_until else None",
    ),
    Mutation(
        "a full group ends a member that it has forgotten",
        "refusals.py",
        "    if action is Reaction.FULL and member.epoch > 0:",
        "    if action is Reaction.FULL and member.epoch < 0:",
    ),
    Mutation(
        "early heartbeats do not mind slow answers",
        "heartbeats.py",
        "max(gap, EARLY_EASE * (now - flight.sent_at)))",
        "max(gap, 0.0))",
    ),
    Mutation(
        "throttling is not honoured",
        "machine.py",
        "    if event.throttle_s > 0:",
        "    if event.throttle_s > 1e9:",
    ),
    # --- the classic protocol ----------------------------------------------------------------------------------------
    Mutation(
        "an eager member keeps its partitions while it joins",
        "classic/protocol.py",
        "    if not cooperates(member):",
        "    if member.epoch < 0:",
    ),
    Mutation(
        "nobody is told what a cooperative member gave up",
        "classic/group_join.py",
        "follow_up=takes_away and cooperates(member)",
        "follow_up=False",
    ),
    Mutation(
        "what is owned is not said at a join",
        "classic/protocol.py",
        "        owned=owned,",
        "        owned=frozenset(),",
    ),
    Mutation(
        "a session ends only at the coordinator",
        "classic/group_join.py",
        "    return member.confirmed_at + member.session_timeout_s",
        "    return None",
    ),
    Mutation(
        "a session ends while a join waits for others",
        "classic/group_join.py",
        "    if (waits and not member.owned) or not holds or",
        "    if not holds or",
    ),
    Mutation(
        "what is kept while a join waits is kept for ever",
        "classic/group_join.py",
        "    if (waits and not member.owned) or not holds or",
        "    if waits or not holds or",
    ),
    Mutation(
        "a rebalance is no confirmation",
        "classic/group_join.py",
        "    member = _counted_on(member, flight)",
        "    member = replace(member, dialogue=None)",
    ),
    Mutation(
        "a sync that failed is repeated",
        "classic/group_join.py",
        "    return replace(member, classic=replace(member.classic, admission=None, reason=reason))",
        "    return replace(member, classic=replace(member.classic, reason=reason))",
    ),
    Mutation(
        "topics that nobody asked for are taken",
        "classic/group_join.py",
        "    share = frozenset(partition for partition in answer.share if partition.topic in stated.topics)",
        "    share = answer.share",
    ),
    Mutation(
        "a static member says goodbye",
        "classic/protocol.py",
        "(mode is not LeaveMode.LEAVE and config.group_instance_id is not None)",
        "mode is LeaveMode.TEMPORARY",
    ),
    Mutation(
        "an id that the coordinator forgot is used again",
        "classic/protocol.py",
        'given_id=member.classic.given_id if member.enrolled else ""',
        "given_id=member.classic.given_id",
    ),
    Mutation(
        "a leader that must not plan does",
        "classic/group_leader.py",
        "    return admission.leads and not admission.skip_assignment",
        "    return admission.leads",
    ),
    Mutation(
        "a leader does not see topics grow",
        "classic/group_leader.py",
        "(classic.planned_by is not None and seen != classic.planned_by)",
        "False",
    ),
    Mutation(
        "a leader that came back believes its old plan",
        "classic/group_leader.py",
        "    return existing == {partition for partition in assigned if partition.topic in classic.watched}",
        "    return bool(existing)",
    ),
    Mutation(
        "a plan that left something out is not looked at again",
        "classic/group_leader.py",
        "    is_whole = sum(map(len, shares.values())) == existing",
        "    is_whole = True",
    ),
    Mutation(
        "a leader gives away what others still hold",
        "assignors/sticky.py",
        "    if claims.taken or claims.disputed:",
        "    if claims.disputed:",
    ),
    Mutation(
        "a member that was passed over keeps what it had",
        "classic/group_join.py",
        "    return waited and answer.generation > member.epoch + 1 > 1",
        "    return False",
    ),
    Mutation(
        "a lost answer to a join costs all partitions",
        "classic/group_join.py",
        "    return waited and answer.generation > member.epoch + 1 > 1",
        "    return answer.generation > member.epoch + 1 > 1",
    ),
    Mutation(
        "a join has no more time than any other request",
        "requests.py",
        "        return max(member.request_timeout_s, member.poll_interval_s + JOIN_PATIENCE_S)",
        "        return member.request_timeout_s",
    ),
    Mutation(
        "auto falls back after it has settled",
        "joining.py",
        '    undecided = member.config.group_protocol == "auto" and member.settled is None',
        '    undecided = member.config.group_protocol == "auto"',
    ),
    Mutation(
        "an id that was given is not used",
        "classic/group_join.py",
        "    return replace(member, dialogue=None, enrolled=True, classic=replace(member.classic, given_id=member_id))",
        "    return replace(member, dialogue=None, enrolled=True)",
    ),
    Mutation(
        "a pattern is joined with before the topics were looked at",
        "classic/group_join.py",
        "    return by_pattern if admission is None else makes_plan(admission)",
        "    return False if admission is None else makes_plan(admission)",
    ),
    Mutation(
        "a share of the wrong topics is a reason to join for ever",
        "classic/group_join.py",
        "(reasons.MISFIT if misfits - classic.misfits else None)",
        "(reasons.MISFIT if misfits else None)",
    ),
    Mutation(
        "a later wish hides the first one",
        "classic/group_join.py",
        "    if member.state not in IN_GROUP or member.classic.rejoin is not None:",
        "    if member.state not in IN_GROUP:",
    ),
    Mutation(
        "nobody asks while a join waits",
        "classic/join_keepalive.py",
        "    if member.join_keepalive is not None or member.coordinator is None or not _keeps_waiting(member):",
        "    if True:",
    ),
    Mutation(
        "a join that waits is worth more than a coordinator that does not know us",
        "classic/join_keepalive.py",
        "    if isinstance(response, Refused) and code in _GIVEN_UP:",
        "    if False:",
    ),
    Mutation(
        "a share that lay unread for a session is taken",
        "classic/group_join.py",
        "    if now - flight.sent_at >= member.session_timeout_s:",
        "    if False:",
    ),
    Mutation(
        "an answer that lay unread confirms the member as of now",
        "heartbeats.py",
        "        confirmed_at=_asked_at(member, flight),",
        "        confirmed_at=now,",
    ),
    Mutation(
        "a session begins when the answer to a sync is read",
        "classic/group_join.py",
        "        confirmed_at=_later(member.confirmed_at, flight.sent_at),",
        "        confirmed_at=now,",
    ),
    Mutation(
        "the answer to a join confirms what is kept, however long it lay unread",
        "classic/group_join.py",
        "_later(member.confirmed_at, flight.sent_at) if member.owned else now",
        "now",
    ),
    Mutation(
        "a strategy that was not offered is taken",
        "classic/group_join.py",
        "    if answer.strategy not in member.config.partition_assignment_strategy:",
        "    if not answer.strategy:",
    ),
    Mutation(
        "a leader watches its own topics only",
        "classic/group_leader.py",
        "    watched = frozenset[str]().union(*(m.topics for m in admission.members)) or stated.topics if leads else frozenset()",
        "    watched = stated.topics if leads else frozenset()",
    ),
    Mutation(
        "a topic that is missing is looked for as rarely as the others",
        "classic/group_leader.py",
        "if whole else MISSING_TOPIC_S),",
        "if True else MISSING_TOPIC_S),",
    ),
    Mutation(
        "a join after a fence quotes all that the coordinator said",
        "reasons.py",
        '    name = why.partition(":")[0].rstrip(".")',
        "    name = why",
    ),
    Mutation(
        "a reason is as long as somebody makes it",
        "reasons.py",
        "    return reason[:LIMIT]",
        "    return reason",
    ),
)
