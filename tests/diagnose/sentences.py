"""Every sentence of findings held against the traces: each name, number, partition and time in it, by a reader of its own."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.unowned import UnownedTotal
from membership_client.debugger.report.content import PartitionLane, ReportContent
from tests.diagnose.truth import Life, Line, Place, Tenure, Truth, numbers, shared, unowned

_ROUNDED_S = 0.051
_ROUNDED_LONG_S = 0.51


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
    parts = [*re.findall(r"\d+(?:\.\d)? s\b", said), *re.findall(_PLACES, said)]
    parts += [life.name for life in truth.lives if life.name in said]
    yield from (f"the clause alone says {part}: {said}" for part in parts if part not in finding.sentence)
    if "was stopped" in said and finding.certainty != "certain":
        yield f"this is not certain: {said}"


# --- sentences -------------------------------------------------------------------------------------------------------


Words = dict[str, str]
Checker = Callable[[Truth, Finding, Words], Iterable[str]]


def _read(truth: Truth, finding: Finding) -> Iterable[str]:
    for template, check in _GRAMMAR[finding.kind]:
        found = re.fullmatch(_pattern(truth, template), finding.sentence, re.DOTALL)
        if found is not None:
            return check(
                truth, finding, {"all": finding.sentence} | {key: text or "" for key, text in found.groupdict().items()}
            )
    return ["no reader knows this sentence"]


_PLACES = r"[\w.-]+\[[\d,-]+\](?:(?:, | and )[\w.-]+\[[\d,-]+\])*"


def _pattern(truth: Truth, template: str) -> str:
    """`{who}` is a member, `{what}` partitions, `{s}` seconds, `{n}` a count and `{any}` anything; letters may follow them."""
    names = "|".join(sorted({re.escape(life.name) for life in truth.lives}, key=len, reverse=True))
    kinds = {"who": names, "what": _PLACES, "s": r"\d+(?:\.\d)? s", "n": r"\d+", "any": ".*?", "more": ".*"}
    text = re.escape(template)
    for key in re.findall(r"\{(\w+)\}", template):
        kind = kinds[key.partition("_")[0]]
        text = text.replace(re.escape("{" + key + "}"), f"(?P<{key}>{kind})")
    return text.replace(r"\[\[", "(?:").replace(r"\]\]", ")?")


def _places(text: str) -> set[Place]:
    return {(topic, number) for topic, of in re.findall(r"([\w.-]+)\[([\d,-]+)\]", text) for number in numbers(of)}


def _is(said: str, seconds: float) -> bool:
    """Is that the number, as rounded?"""
    return abs(float(said.removesuffix(" s")) - seconds) <= (_ROUNDED_LONG_S if seconds >= 99 else _ROUNDED_S)


def _life(truth: Truth, finding: Finding, name: str) -> Life:
    """The run that the finding is about: that of its evidence."""
    files = {str(evidence.path) for evidence in finding.evidence}
    return next(life for life in truth.named(name) if {line.file for line in life.lines} & files)


# --- REBALANCE -------------------------------------------------------------------------------------------------------


def _rebalance(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    epoch = int(words["n"])
    gains, losses = _moved(truth, words["more_moves"], "got"), _moved(truth, words["more_moves"], "gave up")
    true_gains = _true_gains(truth, epoch)
    if gains != {name: {t.place for t in tenures} for name, tenures in true_gains.items()}:
        yield f"who got what is {[(n, [t.place for t in ts]) for n, ts in true_gains.items()]}"
    for name, given in losses.items():
        if not given <= {
            t.place for life in truth.named(name) for t in truth.tenures() if t.life is life and not t.is_open
        }:
            yield f"{name} gave up none of {given}"
    reached = truth.reached(epoch)
    if not reached:
        yield "no member reached it"
        return
    earliest, by = min(reached, key=lambda each: each[0])
    if finding.began > earliest + truth.skew_s + 1e-4:
        yield f"began {finding.began - earliest:.3f} s after {by.name} had reached the epoch"
    if words["s"]:
        released = [tenure.ended.time for tenure in truth.tenures() if _gives_up_before(tenure, epoch)]
        moments = [tenure.began.time for tenures in true_gains.values() for tenure in tenures] or released
        if not moments or not _is(words["s"], max(0.0, max(moments) - finding.began)):
            yield f"took {[moment - finding.began for moment in moments]}"
    yield from _triggers(truth, words["any_why"], epoch)


def _gives_up_before(tenure: Tenure, epoch: int) -> bool:
    """Was that the next epoch of its owner, in the same membership?"""
    later = (line for line in tenure.life.lines if line.at >= tenure.ended.at and line.epoch != tenure.ended.epoch)
    return not tenure.is_open and tenure.ended.epoch > 0 and next((line.epoch for line in later), 0) == epoch


def _moved(truth: Truth, text: str, verb: str) -> dict[str, set[Place]]:
    names = "|".join(sorted({re.escape(life.name) for life in truth.lives}, key=len, reverse=True))
    return {name: _places(what) for name, what in re.findall(rf"({names}) {verb} ({_PLACES})", text)}


def _true_gains(truth: Truth, epoch: int) -> dict[str, list[Tenure]]:
    found: dict[str, list[Tenure]] = {}
    for tenure in truth.tenures():
        if tenure.began.epoch == epoch and not _is_back(truth, tenure):
            found.setdefault(tenure.life.name, []).append(tenure)
    return found


def _is_back(truth: Truth, tenure: Tenure) -> bool:
    """A static member that came back gets what it had at that very epoch."""
    life, lines = tenure.life, tenure.life.lines
    joins = [line.time for line in lines if line.epoch_before == 0 < line.epoch and line.time <= tenure.began.time]
    return life.instance is not None and any(
        before.life.instance == life.instance
        and before.ended.epoch_before == tenure.began.epoch
        and (before.life.lines[0].time <= lines[0].time if before.life is not life else before.ended.time < max(joins))
        for before in truth.tenures(tenure.place)
        if before is not tenure
    )


_WHYS = (
    "ended before it noticed",
    "joined again",
    "joined",
    "left for a while and did not come back",
    "left",
    "was fenced",
    "ended without leaving",
    "ended",
    "changed its subscription",
    "found that its pattern matches other topics:",
)


_ENDS = {"left", "was fenced", "ended", "left for a while and did not come back"}


def _triggers(truth: Truth, why: str, epoch: int) -> Iterable[str]:
    """Each did what is said, before the first member had the epoch, and after the epoch before was there."""
    names = "|".join(sorted({re.escape(life.name) for life in truth.lives}, key=len, reverse=True))
    told = re.findall(rf"({names}) ({'|'.join(_WHYS)})(?= |,|$)", why)
    if not told and not why.startswith("why is unknown"):
        yield "says neither who nor that this is unknown"
    reached = truth.reached(epoch)
    earliest = min(time for time, _ in reached) + truth.skew_s
    for name, what in told:
        lives = truth.named(name)
        if what.startswith("joined") and not _joined_by(lives, epoch, earliest):
            yield f"{name} did not join before that"
        if what == "ended before it noticed" and epoch not in _epochs_of_heirs(truth, name):
            yield f"no other got what {name} had, at that epoch"
        # A member is fenced before it knows: then only its epoch was before.
        gone = [line for life in lives for line in _ends(life) if line.epoch_before < epoch]
        if what in _ENDS and not any(line.time <= earliest or what == "was fenced" for line in gone):
            yield f"{name} did not leave before that"
        if what == "ended without leaving" and not any(
            0 < life.lines[-1].epoch < epoch and _seen_before(life, earliest) for life in lives
        ):
            yield f"{name} did not end in the group before that"
        if what == "changed its subscription" and not any(_subscribes(life, earliest) for life in lives):
            yield f"{name} did not subscribe anew before that"


def _epochs_of_heirs(truth: Truth, name: str) -> set[int]:
    """Of members that got what the member still took for its own."""
    pairs = [(one, other) for _, _, one, other in shared(truth)]
    return {other.began.epoch for pair in pairs for one, other in (pair, pair[::-1]) if one.life.name == name}


def _joined_by(lives: list[Life], epoch: int, earliest: float) -> bool:
    """Did it ask to be let in before any member had the epoch, and was it let in at that epoch or an earlier one?"""
    asked = [
        line for life in lives for line in life.lines if line.time <= earliest and any(map(_asks, line.requests()))
    ]
    let_in = [line for life in lives for line in life.lines if line.epoch_before == 0 < line.epoch <= epoch]
    again = [line for line in asked if 0 < line.epoch < epoch]
    return bool(asked and (let_in or again))


def _asks(request: dict[str, Any]) -> bool:
    asked = request["is"], request.get("epoch")
    return asked[0] == "JoinGroup" or asked == ("Heartbeat", 0)


def _seen_before(life: Life, earliest: float) -> bool:
    """Was it in the group before that? One that is cut off may go on for longer."""
    return any(line.epoch > 0 and line.time <= earliest for line in life.lines)


def _subscribes(life: Life, earliest: float) -> bool:
    return sum(bool(line.event.get("is") == "Subscribe") and line.time <= earliest for line in life.lines) > 1


def _ends(life: Life) -> list[Line]:
    """The ends of its memberships, that of its trace included."""
    ends = [line for line in life.lines if line.epoch_before > 0 == line.epoch]
    leaves = [
        line
        for line in life.lines
        if any(request["is"] == "LeaveGroup" or request.get("epoch", 0) < 0 for request in line.requests())
    ]
    fatal = [line for line in life.lines if line.state == "FATAL" != line.state_before]
    return [*ends, *leaves, *fatal]


# --- owners ----------------------------------------------------------------------------------------------------------


def _no_owner(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    times = unowned(truth)
    longest = 0.0
    for place in _places(words["what"]):
        found = [gap for gap in times[place] if abs(gap[0] - finding.began) < 1e-4]
        if not found:
            yield f"{place} was owned then"
        longest = max([longest, *(gap[1] - gap[0] for gap in found)])
        if not words["any_to"] and not any(_is(words["s"], gap[1] - gap[0]) for gap in found):
            yield f"{place} had none for {[gap[1] - gap[0] for gap in found]}"
    if not _is(words["s"], longest):
        yield f"the longest is {longest:.3f} s"
    last = [gap[2].life.name for gap in times[min(_places(words["what"]))] if abs(gap[0] - finding.began) < 1e-4]
    blamed = re.match(_pattern(truth, "[[the assigned callback of ]]{who} "), words["more_why"])
    if finding.members[0] not in last or (blamed and not blamed[0].startswith("the") and blamed["who"] not in last):
        yield f"the last owner was {last}"


def _two_owners(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    said, others = _places(words["what"]), re.split(r", | and ", words["any_others"])
    true = [
        each
        for each in shared(truth)
        if words["who"] in {each[2].life.name, each[3].life.name}
        and each[2].place in said
        and each[0] <= finding.ended
        and each[1] >= finding.began
    ]
    if {one.place for _, _, one, _ in true} != said:
        yield f"shared were {[one.place for _, _, one, _ in true]}"
    if not true:
        return
    if not any(_is(words["s"], ended - began) for began, ended, _, _ in true):
        yield f"it took {[ended - began for began, ended, _, _ in true]}"
    if words["any_where"]:
        others = [re.sub(r" \(process .*", "", other) for other in others]
    pairs = {name for _, _, one, other in true for name in (one.life.name, other.life.name)}
    if not set(others) <= pairs or (words["who"] in others) != bool(words["any_where"]):
        yield f"the owners were {pairs}"
    stale = {min((one, other), key=lambda tenure: tenure.began.epoch).life.name for _, _, one, other in true}
    if words["who"] not in stale:
        yield f"the older epoch was that of {stale}"
    if finding.certainty == "certain" and words["who"] not in words["more_why"]:
        yield "the reason is another member's"


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


# --- members ---------------------------------------------------------------------------------------------------------


def _killed(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    life = _life(truth, finding, words["who"])
    if life.where != words["any_where"].partition(" (")[0]:
        yield f"it is {life.where}"
    if _places(words["what"]) != life.lines[-1].owned:
        yield f"it owned {sorted(life.lines[-1].owned)}"
    if any(effect["is"] == "Stop" for line in life.lines for effect in line.effects):
        yield "it was closed"


def _still(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    life = _life(truth, finding, words["who"])
    before, after = life.at(finding.began), life.at(finding.ended)
    if not _is(words["s"], after.time - before.time):
        yield f"it was {after.time - before.time:.3f} s"
    steps = [line for line in life.lines if line.is_step and before.at <= line.at <= after.at]
    idle_s = sum(gap for gap in (b.at - a.at for a, b in itertools.pairwise(steps)) if gap > 0.5)
    if idle_s < 0.8 * (after.at - before.at):
        yield f"it did {len(steps)} steps meanwhile"
    cpu_s = sum(
        max(0.0, (b.facts.get("cpu") or 0.0) - (a.facts.get("cpu") or 0.0)) for a, b in itertools.pairwise(steps)
    )
    if not _is(words["s_cpu"], cpu_s):
        yield f"it used {cpu_s:.3f} s"
    fenced = any(line.epoch_before > 0 == line.epoch for line in life.lines if before.at <= line.at <= after.at + 5.0)
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
    if _places(words["what"]) != before.owned:
        yield f"it owned {sorted(before.owned)}"


def _unpolled(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    life = _life(truth, finding, words["who"])
    if not _is(words["s"], life.config.get("max_poll_interval_ms", 300_000) / 1000):
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
    if words["s_back"]:
        back = next(line for line in life.lines if line.at > left.at and line.is_step and line.state != "STALE")
        if not _is(words["s_back"], back.at - left.at):
            yield f"it came back {back.at - left.at:.3f} s later"


def _unanswered(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    life = _life(truth, finding, words["who"])
    first, last = life.at(finding.began), life.at(finding.ended)
    if not _is(words["s"], last.at - first.at):
        yield f"it was {last.at - first.at:.3f} s"
    good = [line for line in life.lines if first.at < line.at < last.at and line.answer().get("is") in _GOOD]
    yield from (f"answered at {line.time}" for line in good)


_GOOD = {"HeartbeatAccepted", "HeartbeatConfirmed", "GroupJoined", "GroupSynced"}
_NOT_THE_COORDINATOR = {14, 15, 16}


def _is_answered(line: Line) -> bool:
    answer = line.answer()
    refused = answer.get("is") == "Refused" and answer["code"] not in _NOT_THE_COORDINATOR
    return refused or answer.get("is") in {*_GOOD, "MemberIdGiven"}


def _broker(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    names = "|".join(sorted({re.escape(life.name) for life in truth.lives}, key=len, reverse=True))
    told = set(re.findall(rf"(?:^|, | and )({names})(?=,| and |$| at about)", words["more_who"]))
    if told != set(finding.members) != {evidence.member for evidence in finding.evidence}:
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
            longest_s = max(longest_s, over.at - first.at)
    if not _is(words["s"], longest_s):
        yield f"the longest was {longest_s:.3f} s"


def _confirmed(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    life = _life(truth, finding, words["who"])
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
        if not _is(words["s"], fence.at - line.at):
            yield f"that was {fence.at - line.at:.3f} s before"


def _duplicate(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
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


def _callback(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    life = _life(truth, finding, words["who"])
    call, wanted, returned = _calls(life, finding)
    if str(call["kind"]).lower() != words["any_kind"]:
        yield f"it was the {call['kind']} callback"
    ended = returned or life.at(finding.ended)
    if not _is(words["s"], ended.at - wanted.at):
        yield f"it took {ended.at - wanted.at:.3f} s"
    partitions = call["partitions"]
    assert isinstance(partitions, list)
    if not partitions and returned is not None and returned.wants():
        partitions = returned.wants()[0]["partitions"]
    if {f"{topic}-{number}" for topic, number in _places(words["what"])} != set(partitions):
        yield f"it was about {partitions}"
    if call["kind"] == "REVOKED":
        yield from _next_owner(truth, life, (wanted, ended), words)


def _next_owner(truth: Truth, life: Life, call: tuple[Line, Line], words: Words) -> Iterable[str]:
    """No other got the partitions meanwhile, unless that is said; and another got them at all, if that is said."""
    wanted, ended = call
    others = [
        t
        for t in truth.tenures()
        if t.place in _places(words["what"]) and t.life is not life and t.began.time > wanted.time
    ]
    early = [t for t in others if t.began.time < ended.time - truth.doubt_s(life, t.life) - 1e-4]
    if early and not words["who_got"]:
        yield f"{early[0].life.name} got {early[0].place} {early[0].began.time - wanted.time:.3f} s after it was wanted"
    if words["who_got"] and not any(
        t.life.name == words["who_got"]
        and f"{t.place[0]}-{t.place[1]}" == words["any_place"]
        and _is(words["s_got"], t.began.time - wanted.time)
        for t in early
    ):
        yield f"meanwhile got {[(t.life.name, t.place, t.began.time - wanted.time) for t in early]}"
    if not others and "next owner" in words["all"]:
        yield "there was no next owner"


def _poll_wait(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    life = _life(truth, finding, words["who"])
    _, wanted, returned = _calls(life, finding)
    if returned is None or not _is(words["s"], returned.event["began_at"] - wanted.at):
        yield "it began at another time"


def _failed(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    life = _life(truth, finding, words["who"])
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


def _close(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    life = _life(truth, finding, words["who"])
    began = next(line for line in life.lines if line.event.get("is") == "Close")
    ended = next(
        (line for line in life.lines if any(effect["is"] == "Stop" for effect in line.effects)), life.lines[-1]
    )
    if not words["any_apart"] and not _is(words["s"], ended.at - began.at):
        yield f"it took {ended.at - began.at:.3f} s"
    if not _is(words["s_limit"], began.event["timeout_s"]):
        yield f"its limit is {began.event['timeout_s']} s"
    if words["any_kind"]:
        calls = [
            (line, want) for line in life.lines for want in line.wants() if want["kind"].lower() == words["any_kind"]
        ]
        ends = {line.event["call_id"]: line.at for line in life.lines if line.event.get("is") == "CallbackReturned"}
        if not any(ends.get(want["call_id"], life.lines[-1].at) > began.at for _, want in calls):
            yield f"no {words['any_kind']} callback ran"
        took = [ends[want["call_id"]] - line.at for line, want in calls if want["call_id"] in ends]
        if words["s_took"] and not any(_is(words["s_took"], each) for each in took):
            yield f"its callbacks took {took}"


# --- others ----------------------------------------------------------------------------------------------------------


def _storm(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    if not _is(words["s"], finding.ended - finding.began):
        yield f"it was {finding.ended - finding.began:.3f} s"
    epochs = {
        line.epoch for life in truth.lives for line in life.lines if line.epoch != line.epoch_before and line.epoch > 0
    }
    if int(words["n"]) > len(epochs):
        yield f"there were {len(epochs)} epochs"
    for name, count in re.findall(r"(\S+) \((\d+) times\)", words["more_who"]):
        ends = [line for life in truth.named(name) for line in (*_ends(life), life.lines[-1])]
        if name not in {life.name for life in truth.lives} or int(count) > len(ends) + sum(
            max(1, len(line.requests()))  # A classic member may have to revoke before it joins with the new topics.
            for life in truth.named(name)
            for line in life.lines
            if line.event.get("is") == "Subscribe"
        ):
            yield f"{name} ended {len(ends)} times"


def _refused(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    life = _life(truth, finding, words["who"])
    notes = [
        line
        for line in life.lines
        if line.facts.get("note") == "commit refused" and finding.began <= line.time <= finding.ended
    ]
    if len(notes) != int(words.get("n") or 1):
        yield f"{len(notes)} were"


def _fatal(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    if _life(truth, finding, words["who"]).at(finding.began).state != "FATAL":
        yield "it is not FATAL"


def _told(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    """A problem that the trace names in these words."""
    life = _life(truth, finding, words["who"])
    if not any(words["any_detail"].rstrip(")") in str(line.facts) or words["any_detail"] for line in life.lines):
        yield "no line says so"


def _delayed(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    if not any("CallbackDelayed" in str(line.event) for line in _life(truth, finding, words["who"]).lines):
        yield "no callback was delayed"


def _missing_topic(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    if not any(words["any_topic"] in str(line.event) for line in _life(truth, finding, words["who"]).lines):
        yield "no line names that topic"


def _poison(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    """Each member named noted that record as in hand."""
    for name in finding.members:
        notes = [line for life in truth.lives if life.name == name for line in life.lines]
        if not any(f"{words['any_record']} (" in str(line.facts.get("records")) for line in notes):
            yield f"{name} never had that record in hand"


_GRAMMAR: dict[Kind, list[tuple[str, Checker]]] = {
    Kind.REBALANCE: [
        ("Epoch {n}: {any_why}; {more_moves}, within {s}[[ (give or take {s_skew})]].", _rebalance),
        ("Epoch {n}: {any_why}; {more_moves}[[{s}]].", _rebalance),
    ],
    Kind.UNOWNED_PARTITION: [
        ("{what} had no owner that the traces know for {any_to}{s}[[, and has none where the traces end]]: {more_why}.", _no_owner)
    ],
    Kind.TWO_OWNERS: [
        ("{what} had two owners for [[up to ]]{s}[[ (give or take {s_skew})]]: {who}[[ (process {any_where})]] owned {any_it} after the group had given {any_them} to {any_others}. {more_why}", _two_owners)
    ],
    Kind.KILLED: [("{who} ({any_where}) ended without leaving: its trace stops without a close{any_torn}. {any_or}[[ It owned {what}.]]", _killed)],
    Kind.PROCESS_STOPPED: [("{who} {any_did} {s}[[ after it was sent]], while its process used {s_cpu} of processor time: {any_outcome}.[[ It owned {what} all the time.]]", _still)],
    Kind.POLL_INTERVAL_EXCEEDED: [("{who} did not poll for {s}{any_hand}, and therefore left the group. [[It polled again {s_back} later.]][[It did not poll again in this trace.]]", _unpolled)],
    Kind.NETWORK_LOST: [("{who} worked, but no broker answered it for {s}; {any_outcome}.", _unanswered)],
    Kind.BROKER_RESTARTED: [("Broker {any_node}, the coordinator, was out of reach for {more_who}, for at most {s}{more_rest}", _broker)],
    Kind.REMOVED_FROM_OUTSIDE: [
        ("{who} was fenced although it was on time: the coordinator had confirmed it {s} before. {more_rest}", _confirmed),
        ("{who} was removed by another client{more_rest}", _confirmed),
    ],
    Kind.THROWN_OUT: [("{who} was fenced {more_rest}", _confirmed)],
    Kind.DUPLICATE_INSTANCE_ID: [
        ("More than one process used group.instance.id {who}{more_rest}", _duplicate),
        ("Processes used group.instance.id {who} one after the other{more_rest}", _duplicate),
    ],
    Kind.WAITED_FOR_CALLBACK: [
        ("[[The next owner of ]][[The records of ]]{what} waited for the {any_kind} callback of {who}, which {any_took} {s}[[ on thread {any_thread}]][[; the coordinator waited no longer and fenced it]][[; the group did not wait for its end: {who_got} got {any_place} after {s_got}]].", _callback),
    ],
    Kind.WAITED_FOR_POLL: [("{any_waiting} {what} waited for {who} to poll: its {any_kind} callback was wanted and began {s} later, because {more_rest}", _poll_wait)],
    Kind.CALLBACK_FAILED: [("The {any_kind} callback of {who} raised {any_error}[[ {n} times]].", _failed)],
    Kind.SLOW_CLOSE: [
        ("The close of {who} took {s} of its {s_limit}[[, callbacks not counted{any_apart}]][[, because its {any_kind} callback [[took {s_took}]][[did not return]]]][[{more_rest}]].", _close),
        ("The close of {who} waited {s} of at most {s_limit} for its {any_kind} callback{any_apart}, which [[took {s_took}]][[did not return]].", _close),
    ],
    Kind.REBALANCE_STORM: [("{n} rebalances around {s} of joins, leaves and changed subscriptions: {more_who}.", _storm)],
    Kind.COMMIT_REFUSED: [("{n} commits of {who} were refused, {more_rest}", _refused), ("A commit of {who} was refused, {more_rest}", _refused)],
    Kind.ENDED_BY_ERROR: [("{who} ended by an error that repeating cannot mend ({any_kind}): {more_rest}", _fatal)],
    Kind.GROUP_FULL: [("Group {any_g} was full: {who} was not let in, and {any_waits} ({any_detail}).", _told)],
    Kind.ACCESS_DENIED: [("{who} has no access to {any_what} ({any_detail}).", _told)],
    Kind.WAITED_FOR_OFFSETS: [("The records of {what} {any_waited} {s}{any_end} because {who} waited for {more_rest}", _delayed)],
    Kind.TOPIC_MISSING: [("{who} subscribes to topic {any_topic}, which does not exist{more_rest}", _missing_topic)],
    Kind.POISON_RECORD: [("Record {any_record} took longer than the poll interval of {s}, {n} times: {more_rest}", _poison)],
}  # fmt: skip
_GRAMMAR[Kind.INTERPRETER_BLOCKED] = _GRAMMAR[Kind.PROCESS_STOPPED]


# --- the report, and the totals --------------------------------------------------------------------------------------


def report_complaints(truth: Truth, content: ReportContent) -> list[str]:
    """What the lanes of partitions show and the traces do not."""
    return [
        f"{lane.partition}: {text}"
        for lane in content.partitions
        for text in _lane(truth, content, lane, truth.tenures((lane.partition.topic, lane.partition.partition)))
    ]


def _lane(truth: Truth, content: ReportContent, lane: PartitionLane, tenures: list[Tenure]) -> Iterable[str]:
    shown = sorted((round(span.began, 4), content.members[span.owner].name) for span in lane.owned)
    if shown != sorted((round(tenure.began.time, 4), tenure.life.name) for tenure in tenures):
        yield f"the owners shown are {shown}"
    for tenure in (tenure for tenure in tenures if not tenure.is_open):
        if not any(abs(span.ended - tenure.ended.time) < 1e-4 for span in lane.owned):
            yield f"{tenure.life.name} owned it until {tenure.ended.time}"
    for gap in lane.gaps:
        for tenure in tenures:
            if tenure.began.time < gap.ended - 1e-4 and tenure.ended.time > gap.began + 1e-4:
                yield f"{tenure.life.name} owned it while no owner is shown, at {gap.began}"
    true = [(began, ended) for began, ended, one, _ in shared(truth) if one.place == tenures[0].place]
    for overlap in lane.overlaps:
        if overlap.sure != any(
            began - 1e-4 <= overlap.began and overlap.ended <= ended + 1e-4 for began, ended in true
        ):
            yield f"two owners at {overlap.began}: {overlap.sure}"


def total_complaints(truth: Truth, totals: Iterable[UnownedTotal]) -> list[str]:
    """What the list of times without an owner says and the traces do not."""
    times = unowned(truth)
    return [
        f"{total.partition} had no owner for {total.total_s:.3f} s, {total.times} times"
        for total in totals
        if not _adds_up(total, [gap[1] - gap[0] for gap in times[total.partition.topic, total.partition.partition]])
    ]


def _adds_up(total: UnownedTotal, gaps: list[float]) -> bool:
    """All times between two owners; and the one after the last, if that owner was lost."""
    found = gaps if total.times == len(gaps) else gaps[:-1]
    return (
        total.times == len(found)
        and abs(total.total_s - sum(found)) < 1e-4
        and abs(total.longest_s - max(found)) < 1e-4
    )
