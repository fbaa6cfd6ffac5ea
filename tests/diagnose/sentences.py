"""Every sentence of findings held against the traces: each name, number, partition and time in it, by a reader of its own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from membership_client.debugger.findings.finding import Finding, Kind
from tests.diagnose.member_sentences import (
    check_broker,
    check_callback,
    check_close,
    check_confirmed,
    check_duplicate,
    check_failed,
    check_fatal,
    check_killed,
    check_missing_topic,
    check_offsets,
    check_poison,
    check_poll_wait,
    check_refused,
    check_still,
    check_storm,
    check_told,
    check_unanswered,
    check_unpolled,
)
from tests.diagnose.owner_sentences import check_no_owner, check_rebalance, check_two_owners
from tests.diagnose.phrases import PLACES, Checker, pattern
from tests.diagnose.truth import Truth, shared


def complaints(truth: Truth, findings: Iterable[Finding]) -> list[str]:
    """What the findings say and the traces do not; empty if all of it is true."""
    findings = list(findings)
    found = [
        f"{complaint}: {finding.kind.name}: {finding.sentence}"
        for finding in findings
        for complaint in (*_frame(truth, finding), *_read(truth, finding), *_brief(truth, finding))
    ]
    return [*found, *_missing(truth, findings)]


# --- what all findings have ------------------------------------------------------------------------------------------


def _frame(truth: Truth, finding: Finding) -> Iterable[str]:
    """Members, evidence and times."""
    names = {life.name for life in truth.lives}
    yield from (f"{name} is no member" for name in finding.members if name not in names)
    lines = {(line.file, line.number): (line, life) for life in truth.lives for line in life.lines}
    for evidence in finding.evidence:
        line, life = lines.get((str(evidence.path), evidence.line), (None, None))
        if line is None or life is None:
            continue  # A broker's log.
        if abs(line.time - evidence.time) > 1e-4 or life.name != evidence.member:
            yield f"the evidence {evidence} is of {life.name} at {line.time}"
    first = min(line.time for life in truth.lives for line in life.lines)
    last = max(line.time for life in truth.lives for line in life.lines)
    if finding.kind is not Kind.POLL_INTERVAL_EXCEEDED and not first - 1e-4 <= finding.began <= last + 1e-4:
        yield f"began at {finding.began}, outside of all traces"
    if not finding.began <= finding.ended <= last + 1e-4:
        yield f"ended at {finding.ended}"


def _brief(truth: Truth, finding: Finding) -> Iterable[str]:
    """The clause says nothing that the sentence does not, but for the time of day, which is that of a line."""
    said = finding.brief
    for clock in re.findall(r"\d\d:\d\d:\d\d", said):
        times = [finding.began, *(evidence.time for evidence in finding.evidence)]
        if clock not in [datetime.fromtimestamp(time, UTC).strftime("%H:%M:%S") for time in times]:
            yield f"nothing happened at {clock}, as in the clause {said}"
    parts = [*re.findall(r"\d+(?:\.\d)? s\b", said), *re.findall(PLACES, said)]
    parts += [life.name for life in truth.lives if life.name in said]
    yield from (f"the clause alone says {part}: {said}" for part in parts if part not in finding.sentence)
    if "was stopped" in said and finding.certainty != "certain":
        yield f"this is not certain: {said}"


# --- sentences -----------------------------------------------------------------------------------------------------


def _read(truth: Truth, finding: Finding) -> Iterable[str]:
    for template, check in _GRAMMAR[finding.kind]:
        found = re.fullmatch(pattern(truth, template), finding.sentence, re.DOTALL)
        if found is not None:
            return check(
                truth, finding, {"all": finding.sentence} | {key: text or "" for key, text in found.groupdict().items()}
            )
    return ["no reader knows this sentence"]


def _missing(truth: Truth, findings: Sequence[Finding]) -> Iterable[str]:
    """What the traces show and no finding says."""
    told = [finding for finding in findings if finding.kind is Kind.TWO_OWNERS]
    for began, ended, one, other in shared(truth):
        topic, number = one.place
        if not any(
            {one.life.name, other.life.name} <= set(finding.members)
            and (topic, number) in {(place.topic, place.partition) for place in finding.partitions}
            and finding.began <= ended
            and finding.ended >= began
            for finding in told
        ):
            yield f"{one.place} had two owners for {ended - began:.3f} s, {one.life.name} and {other.life.name}, and no finding says so"
    joins = Counter(
        (name, str(line))
        for finding in findings
        if finding.kind is Kind.REBALANCE
        for name, line in [(e.member, f"{e.path}:{e.line}") for e in finding.evidence if " joined" in e.text]
    )
    yield from (
        f"the join of {name} at {line} set off {count} rebalances" for (name, line), count in joins.items() if count > 1
    )


_GRAMMAR: dict[Kind, list[tuple[str, Checker]]] = {
    Kind.REBALANCE: [
        ("Epoch {n}: {any_why}; {more_moves}, within {s}[[ (give or take {s_skew})]].", check_rebalance),
        ("Epoch {n}: {any_why}; {more_moves}[[{s}]].", check_rebalance),
    ],
    Kind.UNOWNED_PARTITION: [
        ("{what} had no owner that the traces know for {any_to}{s}[[, and has none where the traces end]]: {more_why}.", check_no_owner)
    ],
    Kind.TWO_OWNERS: [
        ("{what} had two owners for [[up to ]]{s}[[ (give or take {s_skew})]]: {who}[[ (process {any_where})]] owned {any_it} after the group had given {any_them} to {any_others}. {more_why}", check_two_owners)
    ],
    Kind.KILLED: [("{who} ({any_where}) ended without leaving: its trace stops without a close{any_torn}. {any_or}[[ It owned {what}.]]", check_killed)],
    Kind.PROCESS_STOPPED: [("{who} {any_did} {s}[[ after it was sent]], while its process used {s_cpu} of processor time: {any_outcome}.[[ It owned {what} all the time.]]", check_still)],
    Kind.POLL_INTERVAL_EXCEEDED: [("{who} did not poll for {s}{any_hand}, and therefore left the group. [[It polled again {s_back} later.]][[It did not poll again in this trace.]]", check_unpolled)],
    Kind.NETWORK_LOST: [
        ("{who} worked, but no broker answered it for {s}; {any_outcome}.", check_unanswered),
        (
            "{who} read no answer for {s}: no broker answered it, or it stood still, which looks the same here; {any_outcome}.",
            check_unanswered,
        ),
    ],
    Kind.BROKER_RESTARTED: [("Broker {any_node}, the coordinator, was out of reach for {more_who}, for at most {s}{more_rest}", check_broker)],
    Kind.REMOVED_FROM_OUTSIDE: [
        ("{who} was fenced although it was on time: the coordinator had confirmed it {s} before. {more_rest}", check_confirmed),
        ("{who} was removed by another client{more_rest}", check_confirmed),
    ],
    Kind.THROWN_OUT: [("{who} was fenced {more_rest}", check_confirmed)],
    Kind.DUPLICATE_INSTANCE_ID: [
        ("More than one process used group.instance.id {who}{more_rest}", check_duplicate),
        ("Processes used group.instance.id {who} one after the other{more_rest}", check_duplicate),
    ],
    Kind.WAITED_FOR_CALLBACK: [
        ("[[The next owner of ]][[The records of ]]{what} waited for the {any_kind} callback of {who}, which {any_took} {s}[[ on thread {any_thread}]][[; the coordinator waited no longer and fenced it]][[; the group did not wait for its end: {who_got} got {any_place} after {s_got}]].[[ It was the longest of {n_waits} such waits.]]", check_callback),
    ],
    Kind.WAITED_FOR_POLL: [("{any_waiting} {what} waited for {who} to poll: its {any_kind} callback was wanted and began {s} later, because {more_rest}.[[ It was the longest of {n_waits} such waits.]]", check_poll_wait)],
    Kind.CALLBACK_FAILED: [("The {any_kind} callback of {who} raised[[ {n} times:]] {any_error}.", check_failed)],
    Kind.SLOW_CLOSE: [
        ("The close of {who} took {s} of its {s_limit}[[, callbacks not counted{any_apart}]][[, because its {any_kind} callback [[took {s_took}]][[did not return]]]][[{more_rest}]].", check_close),
        ("The close of {who} waited {s} of at most {s_limit} for its {any_kind} callback{any_apart}, which [[took {s_took}]][[did not return]].", check_close),
    ],
    Kind.REBALANCE_STORM: [("{n} rebalances around {s} of joins, leaves and changed subscriptions: {more_who}.", check_storm)],
    Kind.COMMIT_REFUSED: [("{n} commits of {who} were refused, {more_rest}", check_refused), ("A commit of {who} was refused, {more_rest}", check_refused)],
    Kind.ENDED_BY_ERROR: [("{who} ended by an error that repeating cannot mend ({any_kind}): {more_rest}", check_fatal)],
    Kind.GROUP_FULL: [("Group {any_g} was full: {who} was not let in, and {any_waits} ({any_detail}).", check_told)],
    Kind.ACCESS_DENIED: [("{who} has no access to {any_what} ({any_detail}).", check_told)],
    Kind.WAITED_FOR_OFFSETS: [
        ("The records of {what} waited {s} because {who} waited for {more_why}.", check_offsets),
        ("The records of {what} still waited after {s}, when the trace ends, because {who} waited for {more_why}.", check_offsets),
    ],
    Kind.TOPIC_MISSING: [("{who} subscribes to topic {any_topic}, which does not exist{more_rest}", check_missing_topic)],
    Kind.POISON_RECORD: [("Record {any_record} took longer than the poll interval of {s}, {n} times: {more_rest}", check_poison)],
}  # fmt: skip
_GRAMMAR[Kind.INTERPRETER_BLOCKED] = _GRAMMAR[Kind.PROCESS_STOPPED]
