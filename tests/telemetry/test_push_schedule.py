"""When a member asks for the subscription and when it pushes, for every answer, by values."""

from __future__ import annotations

import math
from uuid import UUID

import pytest

from membership_client.core.events import Failed, FailureKind, Refused
from membership_client.net.telemetry_requests import TelemetrySubscription, TelemetryTaken
from membership_client.telemetry.push_schedule import (
    ASK_AGAIN_S,
    PREFIX,
    PushCode,
    PushSchedule,
    answered,
    ended,
    too_large,
    under_way,
)
from membership_client.values import replace

CLIENT = UUID(int=7)
WANTED = TelemetrySubscription(
    client_instance_id=CLIENT,
    subscription_id=3,
    accepted_compressions=(1,),
    interval_s=60.0,
    most_bytes=1_000_000,
    delta=True,
    prefixes=("*",),
)
NEW = PushSchedule()
PUSHING = answered(under_way(NEW), WANTED, 100.0, 0.5)


def after(code: int, schedule: PushSchedule = PUSHING) -> PushSchedule:
    return answered(under_way(schedule), Refused(code), 1000.0, 0.5)


def test_a_new_member_asks_at_once() -> None:
    """It asks for a subscription, without an id of its own."""
    assert PushSchedule(due_at=-math.inf, client_instance_id=None, subscription=None) == NEW


@pytest.mark.parametrize(("spread", "due_at"), [(0.0, 130.0), (0.5, 160.0), (1.0, 190.0)])
def test_the_first_push_comes_within_half_and_one_and_a_half_intervals(spread: float, due_at: float) -> None:
    """Otherwise all clients would push at the same moment after a broker's restart."""
    schedule = answered(under_way(NEW), WANTED, 100.0, spread)
    assert schedule == PushSchedule(
        due_at=due_at, client_instance_id=CLIENT, subscription=WANTED, interval_s=60.0, is_over=False
    )


def test_the_next_push_comes_an_interval_later() -> None:
    """Only the first push is spread."""
    assert answered(under_way(PUSHING), TelemetryTaken(), 160.0, 0.9) == replace(PUSHING, due_at=220.0)


def test_while_a_request_is_under_way_none_is_due() -> None:
    """A receiver that hangs gets no second request."""
    assert under_way(PUSHING).due_at == math.inf


def test_a_subscription_without_metrics_is_asked_for_again() -> None:
    """It is asked for after its interval, under the same id, without a push."""
    schedule = answered(under_way(NEW), replace(WANTED, prefixes=()), 100.0, 0.5)
    assert schedule == PushSchedule(due_at=160.0, client_instance_id=CLIENT, subscription=None, interval_s=60.0)


@pytest.mark.parametrize("prefix", ["*", "", "org.apache", PREFIX, PREFIX + "heartbeat"])
def test_a_subscription_that_wants_some_of_the_metrics_gets_them(prefix: str) -> None:
    """Names match by their beginning, whichever of the two is longer."""
    told = replace(WANTED, prefixes=("org.apache.kafka.producer.", prefix))
    assert answered(under_way(NEW), told, 100.0, 0.5).subscription == told


def test_a_subscription_to_other_metrics_gets_no_empty_pushes() -> None:
    """These are the metrics of fetching, which librdkafka pushes."""
    told = replace(WANTED, prefixes=("org.apache.kafka.consumer.fetch.", "org.apache.kafka.producer."))
    schedule = answered(under_way(NEW), told, 100.0, 0.5)
    assert (schedule.subscription, schedule.due_at) == (None, 160.0)


@pytest.mark.parametrize(("told_s", "interval_s"), [(0.0, ASK_AGAIN_S), (-5.0, ASK_AGAIN_S), (0.001, 0.1), (0.1, 0.1)])
def test_an_interval_that_would_make_it_spin_is_not_believed(told_s: float, interval_s: float) -> None:
    """The mock broker of librdkafka answers with 0."""
    schedule = answered(under_way(NEW), replace(WANTED, interval_s=told_s), 100.0, 0.5)
    assert (schedule.interval_s, schedule.due_at) == (interval_s, 100.0 + interval_s)


def test_a_changed_subscription_is_asked_for_at_once() -> None:
    """UNKNOWN_SUBSCRIPTION_ID means that an operator changed the subscription. The id of the client stays."""
    schedule = after(PushCode.UNKNOWN_SUBSCRIPTION_ID)
    assert schedule == replace(PUSHING, subscription=None, due_at=1000.0)
    again = answered(under_way(schedule), replace(WANTED, subscription_id=4), 1000.0, 0.0)
    assert again.due_at == 1030.0  # So a broker that always says so is asked twice a minute at most.


def test_a_subscription_that_is_unknown_when_it_is_asked_for_is_not_asked_for_at_once() -> None:
    """Otherwise such a broker would be asked again without pause."""
    assert after(PushCode.UNKNOWN_SUBSCRIPTION_ID, NEW).due_at == 1000.0 + ASK_AGAIN_S


@pytest.mark.parametrize("code", [PushCode.TELEMETRY_TOO_LARGE, PushCode.UNSUPPORTED_COMPRESSION_TYPE])
def test_what_the_broker_takes_is_asked_for_again(code: int) -> None:
    """It is asked for an interval later, because it may have changed."""
    assert after(code) == replace(PUSHING, subscription=None, due_at=1060.0)


def test_metrics_that_are_not_sent_because_they_are_too_large_count_as_refused() -> None:
    """The schedule is the same as after the broker's refusal."""
    assert too_large(PUSHING, 1000.0) == after(PushCode.TELEMETRY_TOO_LARGE)


@pytest.mark.parametrize("code", [PushCode.THROTTLING_QUOTA_EXCEEDED, -1, 31, 999])
def test_a_throttled_or_unknown_refusal_is_tried_again_an_interval_later(code: int) -> None:
    """The next push is for the same subscription."""
    assert after(code) == replace(PUSHING, due_at=1060.0)


@pytest.mark.parametrize("code", [PushCode.INVALID_REQUEST, PushCode.INVALID_RECORD, PushCode.UNSUPPORTED_VERSION])
def test_a_refusal_that_would_come_again_is_the_end(code: int) -> None:
    """KIP-714 says so."""
    assert after(code) == ended(PUSHING)
    assert after(code, NEW) == ended(NEW)


@pytest.mark.parametrize("schedule", [NEW, PUSHING])
def test_a_broker_without_a_receiver_is_asked_again_later(schedule: PushSchedule) -> None:
    """It costs nothing, because the connection knows that the broker has no such request."""
    failed = Failed(1, FailureKind.UNSUPPORTED, "needs GetTelemetrySubscriptions")
    due = replace(schedule, subscription=None, due_at=1000.0 + ASK_AGAIN_S)
    assert answered(under_way(schedule), failed, 1000.0, 0.5) == due


@pytest.mark.parametrize("kind", [kind for kind in FailureKind if kind is not FailureKind.UNSUPPORTED])
def test_a_push_without_an_answer_is_followed_by_the_next_one(kind: FailureKind) -> None:
    """Its numbers are not sent again, as in Java, because the broker may have them."""
    assert answered(under_way(PUSHING), Failed(1, kind, "it broke"), 1000.0, 0.5) == replace(PUSHING, due_at=1060.0)


def test_after_the_end_no_answer_begins_anything() -> None:
    """This holds for the answer to the last push, and to a request that was under way before."""
    for outcome in (WANTED, TelemetryTaken(), Refused(PushCode.UNKNOWN_SUBSCRIPTION_ID)):
        assert answered(ended(PUSHING), outcome, 1000.0, 0.5) == ended(PUSHING)
    assert ended(PUSHING).due_at == math.inf
