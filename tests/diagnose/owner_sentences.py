"""The sentences about rebalances, partitions without an owner, and partitions with two, held against the traces."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from membership_client.debugger.findings.finding import Finding
from tests.diagnose.phrases import PLACES, Words, ends_of, is_rounded, pattern, places_in
from tests.diagnose.truth import Life, Place, Tenure, Truth, shared, unowned

# --- REBALANCE -------------------------------------------------------------------------------------------------------


def check_rebalance(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    epoch = int(words["n"])
    gains, losses = _moved(truth, words["more_moves"], "got"), _moved(truth, words["more_moves"], "gave up")
    true_gains = _true_gains(truth, epoch)
    if gains != {name: {t.place for t in tenures} for name, tenures in true_gains.items()}:
        yield f"who got what is {[(n, [t.place for t in ts]) for n, ts in true_gains.items()]}"
    released = [tenure for tenure in truth.tenures() if _gives_up_before(tenure, epoch)]
    given_up = [tenure for tenure in released if not _is_got_before(truth, tenure, epoch)]
    for name, given in losses.items():
        if not given <= {tenure.place for tenure in given_up if tenure.life.name == name}:
            yield f"{name} gave up none of {given}"
    reached = truth.reached(epoch)
    if not reached:
        yield "no member reached it"
        return
    earliest, by = min(reached, key=lambda each: each[0])
    if finding.began > earliest + truth.skew_s + 1e-4:
        yield f"began {finding.began - earliest:.3f} s after {by.name} had reached the epoch"
    if words["s"]:
        moments = [tenure.began.time for tenures in true_gains.values() for tenure in tenures]
        moments += [tenure.ended.time for tenure in given_up if tenure.place in losses.get(tenure.life.name, ())]
        if not moments or not is_rounded(words["s"], max(0.0, max(moments) - finding.began)):
            yield f"took {[moment - finding.began for moment in moments]}"
    yield from _triggers(truth, words["any_why"], epoch)


def _gives_up_before(tenure: Tenure, epoch: int) -> bool:
    """Was that the next epoch of its owner, in the same membership?"""
    later = (line for line in tenure.life.lines if line.at >= tenure.ended.at and line.epoch != tenure.ended.epoch)
    return not tenure.is_open and tenure.ended.epoch > 0 and next((line.epoch for line in later), 0) == epoch


def _is_got_before(truth: Truth, tenure: Tenure, epoch: int) -> bool:
    """Did another get it under an epoch that its owner never had, because a callback still ran?"""
    later = [other for other in truth.tenures(tenure.place) if other.life is not tenure.life]
    return any(tenure.began.epoch < other.began.epoch < epoch for other in later)


def _moved(truth: Truth, text: str, verb: str) -> dict[str, set[Place]]:
    names = "|".join(sorted({re.escape(life.name) for life in truth.lives}, key=len, reverse=True))
    return {name: places_in(what) for name, what in re.findall(rf"({names}) {verb} ({PLACES})", text)}


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
    yield from _guesses(truth, why, earliest)
    for name, what in told:
        lives = truth.named(name)
        if what.startswith("joined") and not _joined_by(lives, epoch, earliest):
            yield f"{name} did not join before that"
        if what == "ended before it noticed" and epoch not in _epochs_of_heirs(truth, name):
            yield f"no other got what {name} had, at that epoch"
        # A member is fenced before it knows: then only its epoch was before.
        gone = [line for life in lives for line in ends_of(life) if line.epoch_before < epoch]
        if what in _ENDS and not any(line.time <= earliest or what == "was fenced" for line in gone):
            yield f"{name} did not leave before that"
        if what == "ended without leaving" and not any(
            0 < life.lines[-1].epoch < epoch and _seen_before(life, earliest) for life in lives
        ):
            yield f"{name} did not end in the group before that"
        if what in {"ended without leaving", "was fenced"} and _inherited(truth, lives) not in {None, epoch}:
            yield f"others got what {name} had in epoch {_inherited(truth, lives)}"
        if what == "changed its subscription" and not any(_subscribes(life, earliest) for life in lives):
            yield f"{name} did not subscribe anew before that"


def _guesses(truth: Truth, why: str, earliest: float) -> Iterable[str]:
    perhaps = re.fullmatch(
        r"why is unknown: perhaps it was (.*?)(?: or \d+ more)?, which was killed or fenced, .*", why
    )
    for name in re.split(", | or ", perhaps[1]) if perhaps else ():
        if not any(_is_killed_or_fenced(life, earliest) for life in truth.named(name)):
            yield f"{name} was neither killed before that nor fenced"


def _is_killed_or_fenced(life: Life, earliest: float) -> bool:
    """Does its trace end before that, although it had asked to be let in and was not closed; or was it fenced at any time?"""
    asked = any(_asks(request) for line in life.lines for request in line.requests())
    killed = asked and life.lines[-1].state != "CLOSED" and life.lines[-1].time <= earliest
    return killed or any(line.epoch == 0 < line.epoch_before for line in life.lines)


def _epochs_of_heirs(truth: Truth, name: str) -> set[int]:
    """Of members that got what the member still took for its own."""
    pairs = [(one, other) for _, _, one, other in shared(truth)]
    return {other.began.epoch for pair in pairs for one, other in (pair, pair[::-1]) if one.life.name == name}


def _inherited(truth: Truth, lives: list[Life]) -> int | None:
    """The first epoch in which others got what a dynamic member had, whose only membership ended without its doing."""
    life = lives[0]
    joins = [line for line in life.lines if line.epoch_before == 0 < line.epoch]
    if len(lives) > 1 or life.instance is not None or len(joins) != 1:
        return None
    held = [t for t in truth.tenures() if t.life is life and (t.is_open or t.ended.epoch == 0)]
    heirs = [other for tenure in held for other in truth.tenures(tenure.place) if other.life is not life]
    told = [line.time for line in life.lines if line.epoch > 0 and line.answer() and line.answer()["is"] != "Refused"]
    if any(joins[0].time < heir.began.time <= max(told) for heir in heirs):
        return None  # It was in the group all the same: the others did not wait for its callback.
    epochs = [heir.began.epoch for heir in heirs]
    return min((epoch for epoch in epochs if epoch > max(line.epoch for line in life.lines)), default=None)


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


# --- owners ----------------------------------------------------------------------------------------------------------


def check_no_owner(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    times = unowned(truth)
    longest = 0.0
    for place in places_in(words["what"]):
        found = [gap for gap in times[place] if abs(gap[0] - finding.began) < 1e-4]
        if not found:
            yield f"{place} was owned then"
        longest = max([longest, *(gap[1] - gap[0] for gap in found)])
        if not words["any_to"] and not any(is_rounded(words["s"], gap[1] - gap[0]) for gap in found):
            yield f"{place} had none for {[gap[1] - gap[0] for gap in found]}"
    if not is_rounded(words["s"], longest):
        yield f"the longest is {longest:.3f} s"
    last = [gap[2].life.name for gap in times[min(places_in(words["what"]))] if abs(gap[0] - finding.began) < 1e-4]
    slow = re.fullmatch(pattern(truth, "the group waited for the revoked callback of {who}"), words["more_why"])
    if slow and not any(_gives_back(life, finding) for life in truth.named(slow["who"])):
        yield f"no callback of {slow['who']} ran then"
    blamed = re.match(pattern(truth, "[[the assigned callback of ]]{who} "), words["more_why"])
    if finding.members[-1] not in last or (blamed and not blamed[0].startswith("the") and blamed["who"] not in last):
        yield f"the last owner was {last}"


def _gives_back(life: Life, finding: Finding) -> bool:
    """Did a revoked callback of it return at that time?"""
    wanted = {call["call_id"] for line in life.lines for call in line.wants() if call["kind"] == "REVOKED"}
    returned = [line for line in life.lines if line.event.get("is") == "CallbackReturned"]
    return any(line.event["call_id"] in wanted and finding.began <= line.time for line in returned)


def check_two_owners(truth: Truth, finding: Finding, words: Words) -> Iterable[str]:
    said, others = places_in(words["what"]), re.split(r", | and ", words["any_others"])
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
    if not any(is_rounded(words["s"], ended - began) for began, ended, _, _ in true):
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
