"""Lost answers, cut and silent connections, with a real broker behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from membership_client import ConnectionProblem, MemberState
from membership_client.core import reasons
from membership_client.core.events import Heartbeat, JoinGroup, Send
from tests.integration.classic import classic, wait_shared
from tests.integration.members import eventually, log_about
from tests.integration.proxy import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP
from tests.integration.test_process_faults import no_descriptors

if TYPE_CHECKING:
    from tests.integration.conftest import GroupFactory, ProxiedKafka
    from tests.integration.members import WatchedMember

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


def heartbeat_epochs(member: WatchedMember) -> list[int]:
    """The epochs of all heartbeats it sent, in order."""
    requests = [effect.request for effect in member.effects if isinstance(effect, Send)]
    return [request.epoch for request in requests if isinstance(request, Heartbeat)]


@pytest.mark.parametrize("policy", ["wait", "takeover", "fail"])
def test_a_static_join_whose_answer_is_lost(proxied_kafka: ProxiedKafka, new_group: GroupFactory, policy: str) -> None:
    """Kafka refuses the repeated join as if a stranger held the instance id (fatal elsewhere); we release ourselves."""
    group = new_group(proxied_kafka)
    proxied_kafka.proxy.swallow_answers(HEARTBEAT)
    member = group.join("one", group_instance_id_conflict=policy)
    group.wait_for_shares([member], group.partitions(6))
    # Joined and lost the answer, refused as a stranger, released itself, joined.
    assert heartbeat_epochs(member)[:4] == [0, 0, -2, 0]
    assert member.error is None
    assert MemberState.FATAL not in member.states


def test_a_dynamic_join_whose_answer_is_lost(proxied_kafka: ProxiedKafka, new_group: GroupFactory) -> None:
    """The join is repeated under the same member id, so there is still one member in the group."""
    group = new_group(proxied_kafka)
    proxied_kafka.proxy.swallow_answers(HEARTBEAT)
    member = group.join()
    group.wait_for_shares([member], group.partitions(6))
    assert heartbeat_epochs(member)[:2] == [0, 0]


@pytest.mark.parametrize("instance_id", [None, "one"])
def test_lost_answers_in_a_rebalance(
    proxied_kafka: ProxiedKafka, new_group: GroupFactory, instance_id: str | None
) -> None:
    """Whatever answer is lost while partitions move, the request is repeated, and no member is fenced."""
    group = new_group(proxied_kafka)
    first = group.join(instance_id)
    group.wait_for_shares([first], group.partitions(6))
    proxied_kafka.proxy.swallow_answers(HEARTBEAT, count=4)
    second = group.join()
    group.wait_for_shares([first, second], group.partitions(6))
    assert MemberState.FENCED not in first.states + second.states
    assert not first.listener.of("lost")


def test_a_join_that_gets_lost_while_partitions_are_kept(proxied_kafka: ProxiedKafka, new_group: GroupFactory) -> None:
    """Heartbeats beside it keep the session alive, and tell when the group goes on without us.

    It used to be waited for as long as a rebalance may take, and what was kept was read while others owned it.
    """
    group = new_group(proxied_kafka)
    settings = classic("cooperative-sticky", session_timeout_ms=6000, max_poll_interval_ms=9000)
    kept = group.join(client_id="held-back", **settings)
    wait_shared(group, [kept])
    proxied_kafka.proxy.hold_requests(JOIN_GROUP, b"held-back")
    other = group.join(**settings)
    eventually(lambda: kept.listener.of("lost"), "the loss of what it kept")
    fence = next(step for step in kept.steps if step.after.state is MemberState.FENCED)
    assert fence.before.dialogue is not None
    assert isinstance(fence.before.dialogue.request, JoinGroup)
    assert "UNKNOWN_MEMBER_ID" in str(fence.after.cause)
    proxied_kafka.proxy.resume()
    wait_shared(group, [kept, other])


def test_a_leave_whose_answer_is_lost(proxied_kafka: ProxiedKafka, new_group: GroupFactory) -> None:
    """The coordinator does not know the member of the repeated leave, which is what was wanted."""
    group = new_group(proxied_kafka)
    member = group.join()
    member.wait_stable()
    proxied_kafka.proxy.swallow_answers(LEAVE_GROUP)
    report = member.close()
    assert report.clean
    assert "already out of the group" in report.steps[-1].outcome


def test_a_short_cut_costs_nothing(proxied_kafka: ProxiedKafka, new_group: GroupFactory) -> None:
    """Connections that break and cannot be made for a while: visible meanwhile, forgotten after, no callback."""
    group = new_group(proxied_kafka)
    member = group.join()
    before = member.wait_stable()
    proxied_kafka.proxy.cut()
    cut = member.wait(lambda snapshot: snapshot.error is not None)
    assert isinstance(cut.error, ConnectionProblem)
    assert (cut.state, cut.owned) == (MemberState.STABLE, before.owned)
    proxied_kafka.proxy.mend()
    after = member.wait(lambda snapshot: snapshot.error is None)
    assert (after.epoch, after.owned, len(member.calls)) == (before.epoch, before.owned, 1)


def test_silence_costs_nothing(proxied_kafka: ProxiedKafka, new_group: GroupFactory) -> None:
    """A network that swallows everything for longer than the request timeout but shorter than the session."""
    group = new_group(proxied_kafka)
    member = group.join(request_timeout_ms=500, socket_connection_setup_timeout_ms=500)
    before = member.wait_stable()
    proxied_kafka.proxy.stall()
    silent = member.wait(lambda snapshot: snapshot.error is not None)
    assert isinstance(silent.error, ConnectionProblem)
    assert "did not answer within 0.5 s" in str(silent.error)
    proxied_kafka.proxy.resume()
    after = member.wait(lambda snapshot: snapshot.error is None)
    assert (after.epoch, after.owned, len(member.calls)) == (before.epoch, before.owned, 1)


def test_silence_beyond_the_session_costs_the_partitions(proxied_kafka: ProxiedKafka, new_group: GroupFactory) -> None:
    """A member that was given up meanwhile learns it at once, loses its partitions and joins again by itself."""
    group = new_group(proxied_kafka, consumer_session_timeout_ms=3000)
    member = group.join(request_timeout_ms=500, socket_connection_setup_timeout_ms=500)
    member.wait_stable()
    proxied_kafka.proxy.cut()
    said = log_about(proxied_kafka.cluster, member.snapshot.member_id)
    eventually(lambda: "session expired" in said(), "the session's end")
    proxied_kafka.proxy.mend()
    member.wait(lambda snapshot: bool(member.listener.of("lost")))
    group.wait_for_shares([member], group.partitions(6))
    assert [(call.kind, call.partitions) for call in member.calls] == [
        ("assigned", group.partitions(6)),
        ("lost", group.partitions(6)),
        ("assigned", group.partitions(6)),
    ]


def test_a_classic_session_ends_here_too(proxied_kafka: ProxiedKafka, new_group: GroupFactory) -> None:
    """The coordinator cannot tell the member that its session is over: the member counts by itself, and tells it when it is back."""
    group = new_group(proxied_kafka)
    member = group.join(
        group_protocol="classic", session_timeout_ms=3000, heartbeat_interval_ms=200, request_timeout_ms=1000
    )
    member.wait_stable()
    proxied_kafka.proxy.cut()
    eventually(lambda: member.listener.of("lost"), "the lost callback")
    proxied_kafka.proxy.mend()
    eventually(lambda: member.assignment() == group.partitions(6), "partitions again")
    said = log_about(proxied_kafka.cluster, group.id)
    eventually(lambda: f"client reason: {reasons.SESSION_ENDED}" in said(), "the reason in the log")


def test_no_descriptors_left_for_a_connection_that_broke(proxied_kafka: ProxiedKafka, new_group: GroupFactory) -> None:
    """What the member has it keeps, and says what is missing; when there are some again, it goes on as if nothing was."""
    group = new_group(proxied_kafka)
    member = group.join()
    before = member.wait_stable()
    with no_descriptors():
        proxied_kafka.proxy.reset()
        waiting = member.wait(lambda snapshot: "Too many open files" in str(snapshot.error))
    assert (waiting.state, waiting.owned) == (MemberState.STABLE, before.owned)
    after = member.wait(lambda snapshot: snapshot.error is None)
    assert (after.epoch, after.owned, len(member.calls)) == (before.epoch, before.owned, 1)
