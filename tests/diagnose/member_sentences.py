"""The sentences about single members, their callbacks and their errors, held against the traces."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import Any

from membership_client.debugger.findings.finding import Finding
from tests.diagnose.phrases import Words, ends_of, is_rounded, life_of, places_in
from tests.diagnose.truth import Life, Line, Truth, shared

# --- members ---------------------------------------------------------------------------------------------------------

_SLOWEST_HEARTBEAT_S = 15.0
"""Until the first heartbeat after a pause is answered: its connection may be lost, and the coordinator has to be found again."""


def check_killed(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    life = life_of(truth, finding, words["who"])
    if life.where != words["any_where"].partition(" (")[0]:
        yield f"it is {life.where}"
    if places_in(words["what"]) != life.lines[-1].owned:
        yield f"it owned {sorted(life.lines[-1].owned)}"
    if any(effect["is"] == "Stop" for line in life.lines for effect in line.effects):
        yield "it was closed"


def check_still(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    life = life_of(truth, finding, words["who"])
    before, after = life.at(finding.began), life.at(finding.ended)
    if not is_rounded(words["s"], after.time - before.time):
        yield f"it was {after.time - before.time:.3f} s"
    steps = [line for line in life.lines if line.is_step and before.at <= line.at <= after.at]
    idle_s = sum(gap for gap in (b.at - a.at for a, b in itertools.pairwise(steps)) if gap > 0.5)
    if idle_s < 0.8 * (after.at - before.at):
        yield f"it did {len(steps)} steps meanwhile"
    cpu_s = sum(
        max(0.0, (b.facts.get("cpu") or 0.0) - (a.facts.get("cpu") or 0.0)) for a, b in itertools.pairwise(steps)
    )
    if not is_rounded(words["s_cpu"], cpu_s):
        yield f"it used {cpu_s:.3f} s"
    until = after.at + _SLOWEST_HEARTBEAT_S
    fenced = any(line.epoch_before > 0 == line.epoch for line in life.lines if before.at <= line.at <= until)
    if ("coordinator fenced it" in words["any_outcome"]) and not fenced:
        yield "it was not fenced"
    others = [
        began
        for began, ended, one, other in shared(truth)
        if life in {one.life, other.life} and before.time <= began <= after.time
    ]
    if bool(others) is not ("others got" in words["any_outcome"]) and "fenced it" not in words["any_outcome"]:
        yield f"others got its partitions at {others}"
    if ("survived" in words["any_outcome"]) and any(
        line.epoch_before > 0 == line.epoch
        for line in life.lines
        if before.at <= line.at <= after.at and line.answer().get("is") == "Refused"
    ):
        yield "it was fenced"
    if places_in(words["what"]) != before.owned:
        yield f"it owned {sorted(before.owned)}"


def check_unpolled(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    life = life_of(truth, finding, words["who"])
    if not is_rounded(words["s"], life.config.get("max_poll_interval_ms", 300_000) / 1000):
        yield f"the poll interval is {life.config.get('max_poll_interval_ms')} ms"
    left = next(
        line for line in life.lines if line.state == "STALE" != line.state_before and line.time >= finding.began
    )
    polled = [
        line
        for line in life.lines
        if line.event.get("is") == "Polled"
        and left.at - line.event["at"] < left.time - finding.began - 0.01
        and line.at < left.at
    ]
    if polled:
        yield f"it polled {left.at - polled[-1].event['at']:.3f} s before"
    noted = {record.partition(" (")[0] for line in life.lines for record in line.facts.get("records") or ()}
    yield from (f"{one} was not in hand" for one in re.findall(r"\S+@\d+", words["any_hand"]) if one not in noted)
    if words["s_back"]:
        back = next(line for line in life.lines if line.at > left.at and line.is_step and line.state != "STALE")
        if not is_rounded(words["s_back"], back.at - left.at):
            yield f"it came back {back.at - left.at:.3f} s later"


def check_unanswered(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    life = life_of(truth, finding, words["who"])
    first, last = life.at(finding.began), life.at(finding.ended)
    if not is_rounded(words["s"], last.at - first.at):
        yield f"it was {last.at - first.at:.3f} s"
    good = [line for line in life.lines if first.at < line.at < last.at and line.answer().get("is") in _GOOD]
    yield from (f"answered at {line.time}" for line in good)


_GOOD = {"HeartbeatAccepted", "HeartbeatConfirmed", "GroupJoined", "GroupSynced"}
_NOT_THE_COORDINATOR = {14, 15, 16}


def _is_answered(line: Line) -> bool:
    answer = line.answer()
    refused = answer.get("is") == "Refused" and answer["code"] not in _NOT_THE_COORDINATOR
    return refused or answer.get("is") in {*_GOOD, "MemberIdGiven"}


def _asked_at(life: Life, failure: Line) -> float:
    """When the heartbeat was sent that failed, if nothing shows that its answer lay unread: it would have failed in time."""
    if failure.answer():
        return failure.at
    asked, number = None, None
    for line in (line for line in life.lines if line.at < failure.at):
        if line.event.get("request_id", 0) == number:
            asked = None
        for sent in (
            effect for effect in line.effects if effect["is"] == "Send" and effect["request"]["is"] in _DIALOGUE
        ):
            asked, number = line if sent["request"]["is"] in _HEARTBEATS else None, sent["request_id"]
    timeout_s = life.config.get("request_timeout_ms", 10_000) / 1000
    return asked.at if asked is not None and failure.at - asked.at <= timeout_s + 1.0 else failure.at


_HEARTBEATS = {"Heartbeat", "ClassicHeartbeat"}
_DIALOGUE = {*_HEARTBEATS, "JoinGroup", "SyncGroup", "LeaveGroup"}


def check_broker(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    names = "|".join(sorted({re.escape(life.name) for life in truth.lives}, key=len, reverse=True))
    told = set(re.findall(rf"(?:^|, | and )({names})(?=,| and |$| at about)", words["more_who"]))
    if not told <= set(finding.members) == {evidence.member for evidence in finding.evidence} or not told:
        yield f"the members are {finding.members}"
    longest_s = 0.0
    for life in truth.lives:
        shown = [
            line
            for line in life.lines
            if any((line.file, line.number) == (str(e.path), e.line) for e in finding.evidence)
        ]
        for first in (line for line in shown if not _is_answered(line)):
            over = next((line for line in life.lines if line.at > first.at and _is_answered(line)), life.lines[-1])
            longest_s = max(longest_s, over.at - _asked_at(life, first))
    if not is_rounded(words["s"], longest_s):
        yield f"the longest was {longest_s:.3f} s"


def check_confirmed(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    life = life_of(truth, finding, words["who"])
    fence = next(
        line
        for line in life.lines
        if (line.file, line.number) == (str(finding.evidence[-1].path), finding.evidence[-1].line)
    )
    if not (fence.epoch_before > 0 == fence.epoch):
        yield "it was in the group"
    if words.get("s"):
        confirmed = finding.evidence[0]
        line = next(line for line in life.lines if line.number == confirmed.line and line.file == str(confirmed.path))
        if not is_rounded(words["s"], fence.at - line.at):
            yield f"that was {fence.at - line.at:.3f} s before"


def check_duplicate(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    lives = [
        life
        for life in truth.named(words["who"])
        if f"{life.where} " in f"{finding.sentence.replace(',', ' ').replace('.', ' ').replace(':', ' ')} "
    ]
    together = [
        life
        for life in lives
        if any(
            life is not other
            and life.lines[0].time <= other.lines[-1].time
            and other.lines[0].time <= life.lines[-1].time
            for other in lives
        )
    ]
    if "at the same time" in finding.sentence and "no trace" not in finding.sentence and len(together) != len(lives):
        yield f"only {[life.where for life in together]} of {[life.where for life in lives]} ran at the same time"
    if words["who"] not in finding.members:
        yield "it is another id"
    if "one after the other" in finding.sentence and together:
        yield f"{[life.where for life in together]} ran at the same time"


# --- callbacks -------------------------------------------------------------------------------------------------------


def _calls(life: Life, finding: Finding) -> tuple[dict[str, object], Line, Line | None]:
    """The callback that was wanted when the finding began: what was wanted, that line, and its return."""
    wanted = next(line for line in life.lines if abs(line.time - finding.began) < 1e-4 and line.wants())
    call = wanted.wants()[0]
    returned = [
        line
        for line in life.lines
        if line.event.get("is") == "CallbackReturned" and line.event["call_id"] == call["call_id"]
    ]
    return call, wanted, returned[0] if returned else None


def check_callback(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    life = life_of(truth, finding, words["who"])
    call, wanted, returned = _calls(life, finding)
    if str(call["kind"]).lower() != words["any_kind"]:
        yield f"it was the {call['kind']} callback"
    ended = returned or life.at(finding.ended)
    if not is_rounded(words["s"], ended.at - wanted.at):
        yield f"it took {ended.at - wanted.at:.3f} s"
    partitions = call["partitions"]
    assert isinstance(partitions, list)
    if not partitions and returned is not None and returned.wants():
        partitions = returned.wants()[0]["partitions"]
    if {f"{topic}-{number}" for topic, number in places_in(words["what"])} != set(partitions):
        yield f"it was about {partitions}"
    yield from _longest(life, call, words)
    if call["kind"] == "REVOKED":
        yield from _next_owner(truth, life, (wanted, ended), words)


def _longest(life: Life, call: dict[str, Any], words: Words) -> Iterable[str]:
    """Did callbacks of that kind take longer than a second that often?"""
    ended = {line.event["call_id"]: line for line in life.lines if line.event.get("is") == "CallbackReturned"}
    wants = [(line, want) for line in life.lines for want in line.wants() if want["kind"] == call["kind"]]
    slow = [want for line, want in wants if ended.get(want["call_id"], life.lines[-1]).at - line.at >= 1.0]
    if not 1 < int(words["n_waits"] or 2) <= max(2, len(slow)):
        yield f"{len(slow)} took longer than a second"


def _next_owner(truth: Truth, life: Life, call: tuple[Line, Line], words: Words) -> Iterable[str]:
    """No other got the partitions meanwhile, unless that is said; and another got them at all, if that is said."""
    wanted, ended = call
    others = [
        t
        for t in truth.tenures()
        if t.place in places_in(words["what"]) and t.life is not life and t.began.time > wanted.time
    ]
    early = [t for t in others if t.began.time < ended.time - truth.doubt_s(life, t.life) - 1e-4]
    if early and not words["who_got"]:
        yield f"{early[0].life.name} got {early[0].place} {early[0].began.time - wanted.time:.3f} s after it was wanted"
    if words["who_got"] and not any(
        t.life.name == words["who_got"]
        and f"{t.place[0]}-{t.place[1]}" == words["any_place"]
        and is_rounded(words["s_got"], t.began.time - wanted.time)
        for t in early
    ):
        yield f"meanwhile got {[(t.life.name, t.place, t.began.time - wanted.time) for t in early]}"
    if not others and "next owner" in words["all"]:
        yield "there was no next owner"


def check_poll_wait(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    life = life_of(truth, finding, words["who"])
    call, wanted, returned = _calls(life, finding)
    yield from _longest(life, call, words)
    if returned is None or not is_rounded(words["s"], returned.event["began_at"] - wanted.at):
        yield "it began at another time"


def check_offsets(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    life = life_of(truth, finding, words["who"])
    _, _, returned = _calls(life, finding)
    delays = [line.event for line in life.lines if line.event.get("is") == "CallbackDelayed"]
    until = life.at(finding.ended).at if returned is None else returned.event.get("began_at", returned.at)
    if not any(
        words["more_why"] == event["why"] and is_rounded(words["s"], until - event["since"]) for event in delays
    ):
        yield f"it waited until {until} for {delays}"


def check_failed(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    life = life_of(truth, finding, words["who"])
    kinds = {want["call_id"]: want["kind"].lower() for line in life.lines for want in line.wants()}
    errors = [
        line
        for line in life.lines
        if line.event.get("is") == "CallbackReturned"
        and line.event.get("error") == words["any_error"]
        and kinds.get(line.event["call_id"]) == words["any_kind"]
    ]
    if len(errors) != int(words["n"] or 1):
        yield f"it raised {len(errors)} times"


def check_close(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    life = life_of(truth, finding, words["who"])
    began = next(line for line in life.lines if line.event.get("is") == "Close")
    ended = next(
        (line for line in life.lines if any(effect["is"] == "Stop" for effect in line.effects)), life.lines[-1]
    )
    if not words["any_apart"] and not is_rounded(words["s"], ended.at - began.at):
        yield f"it took {ended.at - began.at:.3f} s"
    if not is_rounded(words["s_limit"], began.event["timeout_s"]):
        yield f"its limit is {began.event['timeout_s']} s"
    if words["any_kind"]:
        calls = [
            (line, want) for line in life.lines for want in line.wants() if want["kind"].lower() == words["any_kind"]
        ]
        ends = {line.event["call_id"]: line.at for line in life.lines if line.event.get("is") == "CallbackReturned"}
        if not any(ends.get(want["call_id"], life.lines[-1].at) > began.at for _, want in calls):
            yield f"no {words['any_kind']} callback ran"
        took = [ends[want["call_id"]] - line.at for line, want in calls if want["call_id"] in ends]
        if words["s_took"] and not any(is_rounded(words["s_took"], each) for each in took):
            yield f"its callbacks took {took}"


# --- others ----------------------------------------------------------------------------------------------------------


def check_storm(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    if not is_rounded(words["s"], finding.ended - finding.began):
        yield f"it was {finding.ended - finding.began:.3f} s"
    epochs = {line.epoch for life in truth.lives for line in life.lines if line.epoch != line.epoch_before}
    if int(words["n"]) > len(epochs - {0}):
        yield f"there were {len(epochs)} epochs"
    names = "|".join(sorted({re.escape(life.name) for life in truth.lives}, key=len, reverse=True))
    told = re.findall(rf"(?:^|, | and )({names})(?: \((\d+) times\))?(?=,| and| did| changed)", words["more_who"])
    if {name for name, _ in told} != set(finding.members) and "more" not in words["more_who"]:
        yield f"the members are {finding.members}"
    for name, count in told:
        lives = truth.named(name)
        ends = [line for life in lives for line in (*ends_of(life), life.lines[-1])]
        changes = [line for life in lives for line in life.lines if line.event.get("is") == "Subscribe"]
        if int(count or 1) > len(ends) + len(changes):
            yield f"{name} ended {len(ends)} times"


def check_refused(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    life = life_of(truth, finding, words["who"])
    notes = [
        line
        for line in life.lines
        if line.facts.get("note") == "commit refused" and finding.began <= line.time <= finding.ended
    ]
    if len(notes) != int(words.get("n") or 1):
        yield f"{len(notes)} were"


def check_fatal(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    if life_of(truth, finding, words["who"]).at(finding.began).state != "FATAL":
        yield "it is not FATAL"


def check_told(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    """A problem that the trace names in these words."""
    life = life_of(truth, finding, words["who"])
    if not any(words["any_detail"].rstrip(")") in str(line.facts) or words["any_detail"] for line in life.lines):
        yield "no line says so"


def check_missing_topic(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    if not any(words["any_topic"] in str(line.event) for line in life_of(truth, finding, words["who"]).lines):
        yield "no line names that topic"


def check_poison(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    """Each member named noted that record as in hand."""
    for name in finding.members:
        notes = [line for life in truth.lives if life.name == name for line in life.lines]
        if not any(f"{words['any_record']} (" in str(line.facts.get("records")) for line in notes):
            yield f"{name} never had that record in hand"
