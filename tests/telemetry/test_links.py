"""The application's span that triggered a rebalance is linked, and no other span."""

from __future__ import annotations

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan

from membership_client.core.events import Event, Subscribe, Unsubscribe
from membership_client.types import MemberState
from tests.telemetry.recorder import facts
from tests.telemetry.told import Told
from tests.worker.scene import SUBSCRIBE

S = MemberState


def links_of(span: ReadableSpan) -> list[int]:
    return [link.context.span_id for link in span.links]


def span_asking(told: Told, event: Event) -> int:
    """The id of an application's span in which the event was posted."""
    with told.recorder.tracer.start_as_current_span("application") as span:
        told.ask(event)
        return span.get_span_context().span_id


def test_a_join_links_to_the_span_that_subscribed() -> None:
    """That span is not the parent: a request that starts a consumer ends long before the group has settled."""
    told = Told()
    asking = span_asking(told, SUBSCRIBE)
    told.until_state(S.STABLE)
    (rebalance,) = told.rebalances
    assert links_of(rebalance) == [asking]
    assert rebalance.parent is None


def test_a_changed_subscription_is_linked_when_its_answer_comes() -> None:
    """The member stays stable until the coordinator has an assignment for it."""
    told = Told().stable()
    told.scene.brokers.cluster.topics.create("more", 2)
    asking = span_asking(told, Subscribe(frozenset({"orders", "more"})))
    told.until(lambda: len(told.scene.worker.member.owned) == 8)
    told.until_state(S.STABLE)
    rebalance = told.rebalances[1]
    assert facts(rebalance)["membership.cause.kind"] == "subscription_changed"
    assert links_of(rebalance) == [asking]


def test_a_changed_subscription_is_linked_to_its_own_span_and_to_no_older_one() -> None:
    """One subscription changed nothing, and one was made outside of any span."""
    told = Told().stable()
    told.scene.brokers.cluster.topics.create("more", 2)
    span_asking(told, SUBSCRIBE)
    told.scene.pass_time(20.0)
    told.ask(Subscribe(frozenset({"orders", "more"})))
    told.until(lambda: len(told.scene.worker.member.owned) == 8)
    told.until_state(S.STABLE)
    assert facts(told.rebalances[1])["membership.cause.kind"] == "subscription_changed"
    assert links_of(told.rebalances[1]) == []


def test_an_unsubscription_links_the_rebalance_that_it_begins_and_the_one_it_cuts_short() -> None:
    """If the member is stable, a new span begins; in the middle of a join the open span gets the link."""
    told = Told().stable()
    leaving = span_asking(told, Unsubscribe())
    told.until_state(S.UNSUBSCRIBED)
    assert links_of(told.rebalances[1]) == [leaving]
    told.ask(SUBSCRIBE)
    told.until_state(S.JOINING)
    cutting = span_asking(told, Unsubscribe())
    told.until_state(S.UNSUBSCRIBED)
    assert links_of(told.rebalances[2]) == [cutting]


def test_a_rebalance_that_the_group_wants_is_linked_to_nothing() -> None:
    """A subscription that changed nothing is not linked to later rebalances."""
    told = Told().stable()
    span_asking(told, SUBSCRIBE)
    told.scene.pass_time(20.0)
    told.drop()
    told.until_state(S.FENCED)
    told.until_state(S.STABLE)
    assert links_of(told.rebalances[1]) == []


def test_a_close_that_ends_the_member_on_the_callers_thread_is_no_child_of_its_span() -> None:
    """The context of that thread is the application's."""
    told = Told()
    with told.recorder.tracer.start_as_current_span("application"):
        told.stable()
        assert trace.get_current_span().is_recording()
    assert told.rebalances[0].parent is None
