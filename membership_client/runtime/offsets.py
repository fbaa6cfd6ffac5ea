"""Committed offsets, over the member's own coordinator connection, with its member id and newest epoch.

A commit that ownership no longer covers is refused here, before it reaches the broker: the member that owns the partition now
has started where the last accepted commit said, and must not be set back. Topics are named by id where broker and member
know it: a position in a topic that was deleted says nothing about another that got its name.
"""

from __future__ import annotations

import enum
import queue
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from uuid import UUID

from membership_client.core.error_codes import Code, code_name
from membership_client.core.events import (
    CommitOffsets,
    CoordinatorDoubted,
    Failed,
    FailureKind,
    FetchOffsets,
    MembershipDoubted,
    OffsetsCommitted,
    OffsetsFetched,
    Refused,
    Request,
    Response,
)
from membership_client.core.member import Member
from membership_client.core.policy import denied_offsets
from membership_client.errors import (
    MembershipError,
    NotOwnedError,
    OffsetAccessError,
    OffsetError,
    OffsetTimeoutError,
    TopicGoneError,
)
from membership_client.runtime.coordinator_requests import CoordinatorRequest
from membership_client.runtime.ownership import Ownership, OwnershipNumbers, committable
from membership_client.runtime.worker import Worker
from membership_client.types import GroupProtocol, Offset, TopicPartition


class Verdict(enum.Enum):
    AGAIN = "it passes: ask again, with the newest epoch"
    ELSEWHERE = "not the coordinator: find it, then ask again"
    GONE = "the membership that this commit speaks for is over"
    NO_TOPIC = "the topic is gone; another one may have its name now"
    DENIED = "access has to be granted first"
    REFUSED = "asking again would not help"


VERDICTS: Mapping[int, Verdict] = MappingProxyType(
    {
        Code.COORDINATOR_LOAD_IN_PROGRESS: Verdict.AGAIN,
        Code.REQUEST_TIMED_OUT: Verdict.AGAIN,
        Code.UNKNOWN_TOPIC_OR_PARTITION: Verdict.AGAIN,
        Code.UNSTABLE_OFFSET_COMMIT: Verdict.AGAIN,
        Code.STALE_MEMBER_EPOCH: Verdict.AGAIN,
        Code.REBALANCE_IN_PROGRESS: Verdict.AGAIN,
        # A cooperative member that joined meanwhile still owns what it keeps, in a generation that it may not know yet.
        Code.ILLEGAL_GENERATION: Verdict.AGAIN,
        Code.THROTTLING_QUOTA_EXCEEDED: Verdict.AGAIN,
        Code.NOT_COORDINATOR: Verdict.ELSEWHERE,
        Code.COORDINATOR_NOT_AVAILABLE: Verdict.ELSEWHERE,
        Code.UNKNOWN_MEMBER_ID: Verdict.GONE,
        Code.FENCED_INSTANCE_ID: Verdict.GONE,
        Code.FENCED_MEMBER_EPOCH: Verdict.GONE,
        Code.GROUP_ID_NOT_FOUND: Verdict.GONE,
        Code.UNKNOWN_TOPIC_ID: Verdict.NO_TOPIC,
        Code.GROUP_AUTHORIZATION_FAILED: Verdict.DENIED,
        Code.TOPIC_AUTHORIZATION_FAILED: Verdict.DENIED,
    }
)
"""What an error means for a commit or a fetch of offsets; a code that is not listed is REFUSED."""


_NEVER_SENT = frozenset({FailureKind.UNENCODABLE, FailureKind.UNSUPPORTED})
"""Failures that a repetition of the request would not change."""

_METADATA_LAG_S = 0.3
"""For so long a coordinator may not know a new topic because its metadata are older than the topic."""


class _TransientError(Exception):
    """This attempt failed, and another one may succeed."""


class _TimedOutError(_TransientError):
    """No answer came in time. The last attempt may have had hardly any time left."""


class _UnknownTopics:
    """Topics that the coordinator says it does not know, and since when."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def known(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self._since.pop(partition.topic, None)

    def is_gone(self, topic: str) -> bool:
        """Has the coordinator not known the topic for so long that the topic does not exist?"""
        now = time.monotonic()
        return now - self._since.setdefault(topic, now) >= _METADATA_LAG_S


class MemberOffsets:
    """Commits and reads offsets as the member. Its methods block until the coordinator has answered.

    Any thread but the membership thread may call them.
    """

    def __init__(self, worker: Worker, ownership: OwnershipNumbers) -> None:
        self.ownership = ownership
        self._worker = worker
        self._unknown = _UnknownTopics()

    def commit(self, offsets: Mapping[TopicPartition, Offset], ownership: Ownership, timeout_s: float) -> None:
        """Commit all offsets, or raise; what the coordinator accepted before the error stays committed.

        Raises NotOwnedError when that ownership is over, also if the partition is owned once more.
        """
        left = dict(offsets)
        self._repeat(lambda deadline: self._commit_once(left, ownership, deadline), timeout_s)

    def committed(self, partitions: frozenset[TopicPartition], timeout_s: float) -> dict[TopicPartition, Offset | None]:
        """The offsets that any member of the group committed; None where there is none."""
        found: dict[TopicPartition, Offset | None] = {}
        self._repeat(lambda deadline: self._fetch_once(partitions, found, deadline), timeout_s)
        return found

    def _commit_once(self, left: dict[TopicPartition, Offset], ownership: Ownership, deadline: float) -> None:
        """Send one request for the offsets in `left`, and remove those that were committed."""
        response = self._ask(lambda member: self._commit_request(member, left, ownership), deadline)
        if not isinstance(response, OffsetsCommitted):
            raise self._unexpected(response, needs="READ")
        done = [p for p, code in response.codes.items() if code == Code.NONE]
        self._unknown.known(done)
        for partition in done:
            left.pop(partition, None)
        self._judge({p: response.codes.get(p, Code.UNKNOWN_SERVER_ERROR) for p in left}, needs="READ")

    def _commit_request(
        self, member: Member, offsets: Mapping[TopicPartition, Offset], ownership: Ownership
    ) -> CommitOffsets:
        """The request. Made on the membership thread, so that ownership and epoch belong to the same moment."""
        ours = committable(member).of_names({partition.topic for partition in offsets}, member.names)
        owned = frozenset(ours.named(member.names)) if member.epoch > 0 else frozenset()
        foreign = [p for p in offsets if p not in owned or self.ownership.is_over(p, ownership[p])]
        if foreign:
            raise NotOwnedError(f"Not owned any more: {', '.join(map(str, sorted(foreign)))}.", member.identity)
        return CommitOffsets(
            group_id=member.config.group_id,
            member_id=member.known_as,
            epoch=member.epoch,
            instance_id=member.config.group_instance_id,
            offsets=dict(offsets),
            topic_ids=_topic_ids(member, ours.topics),
        )

    def _fetch_once(
        self, wanted: frozenset[TopicPartition], found: dict[TopicPartition, Offset | None], deadline: float
    ) -> None:
        """Send one request for the partitions without an answer so far. None for those of a topic that does not exist."""
        left = wanted - found.keys()
        response = self._ask(lambda member: _fetch_request(member, left), deadline)
        if not isinstance(response, OffsetsFetched):
            raise self._unexpected(response, needs="DESCRIBE")
        self._unknown.known(response.offsets)
        found.update(response.offsets)
        missing = {p: response.codes.get(p, Code.UNKNOWN_SERVER_ERROR) for p in left - found.keys()}
        unknown = [p for p, code in missing.items() if code == Code.UNKNOWN_TOPIC_ID]
        found.update(dict.fromkeys(p for p in unknown if self._unknown.is_gone(p.topic)))
        self._judge({p: code for p, code in missing.items() if p not in found}, needs="DESCRIBE")

    def _repeat(self, attempt: Callable[[float], None], timeout_s: float) -> None:
        """Call `attempt` until it succeeds, fails for good, or time is up."""
        import tenacity  # noqa: PLC0415 - takes long: it loads asyncio

        deadline, answers = time.monotonic() + timeout_s, list[_TransientError]()
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_TransientError),
            # By the clock of the deadline: tenacity's own starts later, and would allow one attempt without time.
            stop=lambda _: time.monotonic() >= deadline,
            wait=tenacity.wait_random_exponential(multiplier=0.05, max=1.0),
        )
        try:
            retrying(_listening(attempt, answers), deadline)
        except tenacity.RetryError as gave_up:
            why = answers[-1] if answers else gave_up.last_attempt.exception()
            raise OffsetTimeoutError(f"Given up after {timeout_s:g} s: {why}", self._worker.member.identity) from why

    def _ask(self, make: Callable[[Member], Request], deadline: float) -> Response:
        """The coordinator's answer. Raises _TransientError if another attempt may succeed, another exception if not."""
        wanted = CoordinatorRequest(make)
        self._worker.run_request(wanted)
        try:
            outcome = wanted.reply.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise _TimedOutError("the coordinator did not answer.") from None
        if isinstance(outcome, MembershipError):
            raise outcome
        if isinstance(outcome, Failed) and outcome.kind in _NEVER_SENT:
            raise OffsetError(f"{outcome.detail}.", self._worker.member.identity)
        if isinstance(outcome, Failed):
            raise _TransientError(outcome.detail)
        return outcome

    def _unexpected(self, response: Response, *, needs: str) -> Exception:
        """The exception for a request that was refused as a whole, or got another request's answer."""
        if isinstance(response, Refused):
            self._judge({None: response.code}, needs=needs)
        return OffsetError("The coordinator sent an answer to another request.", self._worker.member.identity)

    def _judge(self, codes: Mapping[TopicPartition | None, int], *, needs: str) -> None:
        """Raise for the worst of these errors; return if there is none. `needs` is the operation that may be denied."""
        verdicts = {code: VERDICTS.get(code, Verdict.REFUSED) for code in codes.values()}
        if not verdicts:
            return
        code, verdict = max(verdicts.items(), key=lambda item: _GRAVITY.index(item[1]))
        places = sorted(p for p, c in codes.items() if c == code and p is not None)
        said = self._say(code, places, needs)
        self._doubt(verdict)
        lags = verdict is Verdict.NO_TOPIC and {self._unknown.is_gone(p.topic) for p in places} != {True}
        if lags or verdict in {Verdict.AGAIN, Verdict.ELSEWHERE}:
            raise _TransientError(said)
        error = _ERRORS[verdict](said, self._worker.member.identity)
        error.broker_code = code
        raise error

    def _doubt(self, verdict: Verdict) -> None:
        """Tell the member what the answer means for it, so that it does not wait for its next heartbeat."""
        if verdict is Verdict.ELSEWHERE and (coordinator := self._worker.member.coordinator):
            self._worker.post(CoordinatorDoubted(coordinator))
        if verdict is Verdict.GONE:
            self._worker.post(MembershipDoubted())

    def _say(self, code: int, places: Sequence[TopicPartition], needs: str) -> str:
        """What the coordinator answered; after a denial also what has to be granted."""
        said = code_name(code) + (f" for {', '.join(map(str, places))}" if places else "")
        topics = {place.topic for place in places}
        missing = denied_offsets(needs, self._worker.member.config.group_id, topics, code)
        return f"{missing} ({said})." if missing else f"{said}."


_ERRORS = {
    Verdict.NO_TOPIC: TopicGoneError,
    Verdict.GONE: NotOwnedError,
    Verdict.DENIED: OffsetAccessError,
    Verdict.REFUSED: OffsetError,
}
_GRAVITY = (Verdict.NO_TOPIC, Verdict.AGAIN, Verdict.ELSEWHERE, Verdict.GONE, Verdict.DENIED, Verdict.REFUSED)


def _listening(attempt: Callable[[float], None], answers: list[_TransientError]) -> Callable[[float], None]:
    """The attempt, which also adds each error that the coordinator answered to `answers`."""

    def listen(deadline: float) -> None:
        try:
            attempt(deadline)
        except _TransientError as error:
            if not isinstance(error, _TimedOutError):
                answers.append(error)
            raise

    return listen


def _fetch_request(member: Member, partitions: frozenset[TopicPartition]) -> FetchOffsets:
    inside = member.epoch > 0
    return FetchOffsets(
        group_id=member.config.group_id,
        member_id=member.known_as if inside else None,
        epoch=member.epoch if inside else -1,
        partitions=partitions,
        # Of two topics with the same name, the one that is being assigned counts, not the one that is still to be given back.
        topic_ids=_topic_ids(member, member.owned.topics) | _topic_ids(member, member.wanted_topics),
    )


def _topic_ids(member: Member, topics: frozenset[UUID]) -> dict[str, UUID]:
    """The ids of the topics whose id is known."""
    names = {member.names[topic]: topic for topic in topics if topic in member.names}
    if member.protocol is not GroupProtocol.CLASSIC:
        return names
    return {name: topic_id for name, topic_id in member.classic.topic_ids.items() if name in names}
