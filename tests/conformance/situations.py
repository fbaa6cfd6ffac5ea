"""The classic situations of a group, as scripts; each says with which answer it ends, so that none of them is empty."""

from __future__ import annotations

from dataclasses import dataclass

from tests.conformance.script import (
    GHOSTS,
    PATTERN_GAP_S,
    Actor,
    Beat,
    Drop,
    Epoch,
    Grow,
    Leave,
    Owned,
    Script,
    Silence,
    Step,
    Subscription,
    Terms,
)

A, B = Actor("a"), Actor("b")
_BILLS_AND_MAILS = Subscription(("bills", "mails"))
SLOT_A, SLOT_B = Actor("a", instance_id="slot"), Actor("b", instance_id="slot")


@dataclass(frozen=True, slots=True)
class Situation:
    script: Script
    ends: str
    """How the last answer begins, in the words of a transcript."""


def _situation(name: str, actors: tuple[Actor, ...], *steps: Step, ends: str, terms: Terms | None = None) -> Situation:
    return Situation(Script(name, actors, steps, terms or Terms()), ends)


SITUATIONS = (
    _situation("first join", (A,), Beat("a"), ends="accepted at 2, told orders 0 1 2 3 4 5"),
    _situation(
        "second waits for release",
        (A, B),
        *(Beat("a"), Beat("b"), Beat("a"), Beat("b"), Beat("a"), Beat("b")),
        ends="accepted at 3, told orders 3 4 5",
    ),
    _situation(
        "partial acknowledgement",
        (A, B),
        *(Beat("a"), Beat("b"), Beat("a"), Beat("a", owned=Owned.BEFORE), Beat("b")),
        ends="accepted at 3, no news",
    ),
    _situation(
        "gives up more than asked",
        (A, B),
        *(Beat("a"), Beat("b"), Beat("a", owned=Owned.NONE), Beat("b")),
        ends="accepted at 3, told orders 3 4 5",
    ),
    _situation(
        "ranges go to instances first",
        (Actor("a", _BILLS_AND_MAILS), Actor("z", _BILLS_AND_MAILS, "slot")),
        *(Beat("a", assignor="range"), Beat("z"), Beat("a"), Beat("a"), Beat("z")),
        ends="accepted at 3, told bills 0 1, mails 0 1",
    ),
    _situation(
        "another assignor counts from the next epoch",
        (Actor("a", _BILLS_AND_MAILS), Actor("b", _BILLS_AND_MAILS)),
        *(Beat("a"), Beat("b"), Beat("a"), Beat("b"), Beat("a", assignor="range"), Beat("b", assignor="range")),
        ends="accepted at 3, told",
    ),
    _situation(
        "most members decide on the assignor",
        (Actor("a", _BILLS_AND_MAILS), Actor("b", Subscription(("bills",)), None), Actor("c", _BILLS_AND_MAILS)),
        *(Beat("a", assignor="range"), Beat("b", assignor="uniform"), Beat("c", assignor="range")),
        *(Beat("a"), Beat("a"), Beat("b"), Beat("c"), Beat("b"), Beat("c", rack_id="r")),
        ends="accepted at 4",
    ),
    _situation("newer epoch", (A,), Beat("a"), Beat("a", Epoch.NEWER), ends="refused FENCED_MEMBER_EPOCH"),
    _situation(
        "fenced, and in again",
        (A,),
        *(Beat("a"), Beat("a", Epoch.NEWER), Beat("a", Epoch.JOIN)),
        ends="accepted at 2, told orders 0 1 2 3 4 5",
    ),
    _situation(
        "lost answer",
        (A, B),
        *(Beat("a"), Beat("b"), Beat("a"), Beat("a"), Beat("a", Epoch.PREVIOUS, Owned.ALL)),
        ends="accepted at 3, no news",
    ),
    _situation(
        "lost answer, not said in full",
        (A, B),
        *(Beat("a"), Beat("b"), Beat("a"), Beat("a"), Beat("a", Epoch.PREVIOUS, Owned.SILENT)),
        ends="refused FENCED_MEMBER_EPOCH",
    ),
    _situation(
        "static restart",
        (SLOT_A, SLOT_B),
        *(Beat("a"), Beat("a", Epoch.PAUSE), Beat("b")),
        ends="accepted at 2, told orders 0 1 2 3 4 5",
    ),
    _situation(
        "instance id is held",
        (SLOT_A, SLOT_B),
        Beat("a"),
        Beat("b"),
        ends="refused UNRELEASED_INSTANCE_ID: Static member b",
    ),
    _situation(
        "instance id was taken over",
        (SLOT_A, SLOT_B),
        *(Beat("a"), Beat("a", Epoch.PAUSE), Beat("b"), Beat("a", Epoch.INSIDE)),
        ends="refused FENCED_INSTANCE_ID",
    ),
    _situation(
        "unsubscribed",
        (A, B),
        *(Beat("a"), Beat("a", says=Subscription()), Beat("b")),
        ends="accepted at 4, told nothing",
    ),
    _situation("unknown topic", (Actor("a", Subscription((GHOSTS,))),), Beat("a"), ends="accepted at 2, told nothing"),
    _situation(
        "pattern",
        (Actor("a", Subscription(pattern="b.*")),),
        Beat("a"),
        Beat("a"),
        ends="accepted at 2, told bills 0 1 2",
    ),
    _situation(
        "pattern that matches nothing",
        (Actor("a", Subscription(pattern="x.*")),),
        *(Beat("a"), Beat("a")),
        ends="accepted at 1, no news",
    ),
    _situation(
        "pattern is forgotten with the last who states it",
        (Actor("a", Subscription(pattern="b.*")),),
        *(Beat("a"), Beat("a"), Beat("a", Epoch.LEAVE), Beat("a")),
        ends="accepted at 3, told nothing",
    ),
    _situation(
        "newcomer without a subscription costs the others theirs",
        (Actor("b", Subscription(pattern="b.*")), Actor("a", Subscription())),
        *(Beat("b"), Beat("a"), Beat("b")),
        ends="accepted at 2, no news",
    ),
    _situation(
        "newcomer after an instance that went for a while",
        (Actor("b", Subscription(("mails",)), "slot"), Actor("a", Subscription(pattern="b.*"))),
        *(Beat("b"), Beat("a"), Beat("a", Epoch.LEAVE), Beat("b", Epoch.PAUSE), Beat("a")),
        ends="accepted at 4, told nothing",
    ),
    _situation(
        "removed by an operator",
        (A, B),
        *(Beat("a"), Beat("b"), Leave("a"), Beat("a", Epoch.INSIDE)),
        ends="refused UNKNOWN_MEMBER_ID",
    ),
    _situation(
        "instance removed by an operator",
        (SLOT_A,),
        *(Beat("a"), Leave("a", named=False), Beat("a", Epoch.INSIDE)),
        ends="refused UNKNOWN_MEMBER_ID: Instance id slot is unknown.",
    ),
    _situation(
        "session ended",
        (A,),
        *(Beat("a"), Silence(1.5), Beat("a")),
        ends="refused UNKNOWN_MEMBER_ID",
        terms=Terms(session_timeout_s=1.0),
    ),
    _situation(
        "does not give up",
        (Actor("a", rebalance_timeout_s=1.0), B),
        *(Beat("a"), Beat("b"), Beat("a"), Silence(1.5), Beat("b")),
        ends="accepted at 4, told orders 0 1 2 3 4 5",
    ),
    _situation(
        "targets come in batches",
        (A, B),
        *(Beat("a"), Beat("b"), Beat("a"), Silence(2.5), Beat("b"), Beat("a")),
        ends="accepted at 2, told orders 0 1 2",
        terms=Terms(assignment_interval_s=2.0),
    ),
)

CHANGES = (
    _situation(
        "topic grows",
        (A,),
        *(Beat("a"), Beat("a"), Grow("orders", 8), Beat("a")),
        ends="accepted at 3, told orders 0 1 2 3 4 5 6 7",
    ),
    _situation(
        "topic grows for one of two",
        (A, B),
        *(Beat("a"), Beat("b"), Beat("a"), Beat("a"), Beat("b"), Beat("b")),
        *(Grow("orders", 7), Beat("b"), Beat("a"), Beat("b"), Beat("a")),
        ends="accepted at 4",
    ),
    _situation(
        "topic that is not subscribed to grows",
        (A,),
        *(Beat("a"), Beat("a"), Grow("bills", 5), Beat("a")),
        ends="accepted at 2, no news",
    ),
    _situation(
        "topic is deleted",
        (Actor("a", Subscription(("orders", "bills"))),),
        *(Beat("a"), Beat("a"), Drop("orders"), Beat("a")),
        ends="accepted at 2, told bills 0 1 2",
    ),
    _situation(
        "topic is deleted, and what was held is given back",
        (Actor("a", Subscription(("orders", "bills"))),),
        *(Beat("a"), Beat("a"), Drop("orders"), Beat("a"), Beat("a")),
        ends="accepted at 3, no news",
    ),
    _situation(
        "topic is created again",
        (A,),
        *(Beat("a"), Beat("a"), Drop("orders"), Beat("a"), Beat("a"), Grow("orders", 2), Beat("a")),
        ends="accepted at 4, told orders 0 1",
    ),
    _situation(
        "topic is created again before anybody noticed",
        (A,),
        *(Beat("a"), Beat("a"), Drop("orders"), Grow("orders", 2), Beat("a"), Beat("a")),
        ends="accepted at 3, told orders 0 1",
    ),
    _situation(
        "topic that was waited for is created",
        (Actor("a", Subscription((GHOSTS,))),),
        *(Beat("a"), Beat("a"), Grow(GHOSTS, 2), Beat("a")),
        ends="accepted at 3, told ghosts 0 1",
    ),
    _situation(
        "pattern finds a topic that came later",
        (Actor("a", Subscription(pattern="b.*")),),
        *(Beat("a"), Beat("a"), Beat("a"), Grow("boxes", 2), Beat("a")),
        *(Silence(PATTERN_GAP_S + 0.5), Beat("a"), Beat("a")),
        ends="accepted at 3, told bills 0 1 2, boxes 0 1",
    ),
    _situation(
        "topic of a pattern is deleted",
        (Actor("a", Subscription(pattern="b.*|ships")),),
        *(Beat("a"), Beat("a"), Beat("a"), Drop("bills"), Beat("a")),
        ends="accepted at 2, told ships 0",
    ),
)
"""Of topics that grow, go and come; the members of others do not notice."""

FULL = (
    _situation("no room", (A, B, Actor("c")), Beat("a"), Beat("b"), Beat("c"), ends="refused GROUP_MAX_SIZE_REACHED"),
    _situation(
        "no room for an instance that returns",
        (A, SLOT_B, Actor("c", instance_id="slot")),
        *(Beat("a"), Beat("b"), Beat("b", Epoch.PAUSE), Beat("c")),
        ends="refused GROUP_MAX_SIZE_REACHED",
    ),
    _situation(
        "room again",
        (A, B, Actor("c")),
        *(Beat("a"), Beat("b"), Beat("b", Epoch.LEAVE), Beat("c")),
        ends="accepted at 5, told nothing",
    ),
)
"""In a group with room for two."""
