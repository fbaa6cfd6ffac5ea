"""The intended differences between our Consumer and confluent_kafka.Consumer, and why. docs/differences.md has the same table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.differential.canonical import Raised
from tests.differential.program import Step


@dataclass(frozen=True, slots=True)
class Difference:
    """`covers` is told a call and both outcomes; None if the random programs are made so that they do not meet it."""

    what: str
    ours: str
    theirs: str
    reason: str
    covers: Callable[[Step, object, object], bool] | None = None

    def row(self) -> str:
        """The row of the table in the documents."""
        return f"| {self.what} | {self.ours} | {self.theirs} | {self.reason} |"


def _is_about_a_former_group(step: Step, ours: object, theirs: object) -> bool:
    if step.call == "commit":
        return "UNKNOWN_MEMBER_ID" in str(theirs)
    family = {"assign", "unassign", "incremental_assign", "incremental_unassign"}
    return step.call in family and isinstance(theirs, Raised) and theirs.code == "_STATE"


def _is_a_commit_of_what_is_not_owned(step: Step, ours: object, theirs: object) -> bool:
    return step.call == "commit" and "_ASSIGNMENT_LOST" in str(ours)


DIFFERENCES = (
    Difference(
        what="`assign`, `unassign` and the incremental forms after `unsubscribe`",
        ours="either form works, and commits are accepted",
        theirs="only the form of the group's protocol works, else `_STATE`; commits fail with `UNKNOWN_MEMBER_ID`",
        reason="the group was left, so its protocol and its members do not concern an assignment of one's own",
        covers=_is_about_a_former_group,
    ),
    Difference(
        what="`assign`, `unassign` and the incremental forms while subscribed",
        ours="in all protocols, for partitions that the consumer owns; `_INVALID_ARG` for others",
        theirs="any partition in an eager group; `_STATE` or `_CONFLICT` outside of callbacks in the others",
        reason="two consumers would read the same partition",
    ),
    Difference(
        what="`subscribe` after `assign`",
        ours="ends the assignment first, as `unassign` does",
        theirs="classic: the first rebalance ends it; KIP-848: it stays beside what the group assigns, and `poll` raises "
        "`_CONFLICT` for a partition that is in both",
        reason="the consumer would read partitions that it does not own, and its commits of them would be refused",
    ),
    Difference(
        what="`seek`",
        ours="works from `on_assign` on",
        theirs="`_STATE` until librdkafka fetches the partition",
        reason="a program cannot know when that is",
    ),
    Difference(
        what="`pause`",
        ours="ends when the partition is taken away",
        theirs="a partition that comes back later may still be paused",
        reason="a new owner has not paused it, even if that owner is the same consumer",
    ),
    Difference(
        what="`unsubscribe`",
        ours="runs the callbacks and gives the partitions back before it returns",
        theirs="the next `poll` does",
        reason="a program that does not poll again would keep the partitions for `max.poll.interval.ms`",
    ),
    Difference(
        what="`subscribe` to the topics that are subscribed",
        ours="changes nothing but the callbacks",
        theirs="an eager group gives all partitions back and reads again from the committed offsets",
        reason="a rebalance without a change costs the whole group time",
    ),
    Difference(
        what="a `cooperative-sticky` group",
        ours="after `subscribe` to other topics commits what was read of the topics that it no longer subscribes to, and runs `on_revoke`",
        theirs="may run `on_lost` for their partitions and commit nothing; `close` may commit nothing, either, after other members joined and left",
        reason="the consumer owns its partitions until it has given them back",
    ),
    Difference(
        what="automatic commits before a partition is given up",
        ours="not if the same offset is committed already, so its metadata stays",
        theirs="once more, without metadata",
        reason="the request would change nothing, and the group waits for it",
    ),
    Difference(
        what="`subscribe([5])`",
        ours="`TypeError`",
        theirs='subscribes to "5"',
        reason="a number as a topic is a mistake",
    ),
    Difference(
        what="an `on_assign` that raises",
        ours="is called again with the same partitions, after a pause that grows; nothing of them is read before it returns",
        theirs="is not called again; its partitions are read all the same",
        reason="a program that could not load its state would read without it",
    ),
    Difference(
        what="partitions in `on_assign`",
        ours="are assigned when it begins, so `assignment` has them, and `pause` and `store_offsets` concern them",
        theirs="are assigned by its own `assign` or `incremental_assign`, or when it has returned: before that `assignment` "
        "is empty, `pause` is forgotten, and `store_offsets` raises `_UNKNOWN_PARTITION`",
        reason="what a callback does to its partitions should have an effect",
    ),
    Difference(
        what="`incremental_assign` of some of the partitions in `on_assign`",
        ours="the others are read as well, from where they were committed; `incremental_unassign` stops them. A second call moves the partitions",
        theirs="the others are not read; a second call of the same partitions raises `_CONFLICT`",
        reason="a partition that is owned and not read is mostly a mistake, and nothing reports that its lag grows",
    ),
    Difference(
        what="a commit in `on_assign`",
        ours="is accepted for its partitions; where they start was looked up before, and only `assign` with offsets and `seek` change it",
        theirs="is accepted, and its partitions start there",
        reason="`seek`, `pause` and `position` work in `on_assign`, which needs the start",
    ),
    Difference(
        what="automatic commits when `on_revoke` raises",
        ours="are not made for its partitions",
        theirs="are made",
        reason="records that the callback could not finish must be delivered again",
    ),
    Difference(
        what="`on_assign` with an empty list under KIP-848",
        ours="is called once when a consumer has joined and no partition is left for it, as in a classic group",
        theirs="is not called",
        reason="a program that waits for its first assignment learns that it is in the group",
    ),
    Difference(
        what="`max.poll.interval.ms` below `session.timeout.ms`",
        ours="is accepted",
        theirs="`_INVALID_ARG` with the classic protocol, accepted with KIP-848",
        reason="heartbeats do not depend on `poll`, so the two times have nothing to do with each other",
    ),
    Difference(
        what="no `bootstrap.servers`",
        ours="the constructor raises `_INVALID_ARG`",
        theirs="waits for ever",
        reason="such a consumer can never reach a broker",
    ),
    Difference(
        what="`group.protocol` not given",
        ours="`auto`: KIP-848 where the brokers have it",
        theirs="`classic`",
        reason="see the guide; `memberid()` is None until the first join in both",
    ),
    Difference(
        what="commits of partitions that a subscribed consumer does not own",
        ours="`NotOwnedError`, with `_ASSIGNMENT_LOST`, mostly without a request to the broker",
        theirs="the broker's answer; the broker may accept the commit",
        reason="the commit would overwrite the offset of the new owner",
        covers=_is_a_commit_of_what_is_not_owned,
    ),
    Difference(
        what="automatic commits",
        ours="do not cover the record that the last `poll` returned, until the next call or `close`",
        theirs="cover it at once",
        reason="the record would be lost by a crash while it is processed",
    ),
    Difference(
        what="`with` block left by an exception",
        ours="commits nothing more automatically",
        theirs="commits what was read",
        reason="the record whose processing raised it must be delivered again",
    ),
    Difference(
        what="errors that end the membership",
        ours="`poll` raises them",
        theirs="`poll` returns them as a message, once",
        reason="a loop that ignores messages with errors would idle for ever",
    ),
    Difference(
        what="metadata of commits",
        ours='"note" is committed as "note"',
        theirs='as "note" and a NUL: it reads metadata up to a NUL, so without one its `committed` may raise `UnicodeDecodeError`; ours may, too, while it is not subscribed',
        reason="other clients see the NUL; ours reads metadata with and without it",
    ),
    Difference(
        what="`close`",
        ours="returns a `CloseReport`",
        theirs="returns None",
        reason="the report says what was done within the time, and what was not",
    ),
)


def is_intended(step: Step, ours: object, theirs: object) -> bool:
    return any(difference.covers is not None and difference.covers(step, ours, theirs) for difference in DIFFERENCES)
