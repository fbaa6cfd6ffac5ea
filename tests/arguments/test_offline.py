"""Every public parameter is fed every bad value: a typed error, or success, and never a hang."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import membership_client
from membership_client import ConfigError, GroupMember, admin, health, identity
from membership_client.admin import GroupAdmin, GroupView
from membership_client.core.assignors import registry
from tests.arguments.bad_values import WAITS
from tests.arguments.feeding import feed
from tests.arguments.surface import Place, places
from tests.arguments.tables import MINIMAL, NOBODY, SASL, TABLE

OURS = {"membership_client.MemberConfig.without_effect", "membership_client.admin.GroupView"}
"""Called by us alone."""
THE_APPLICATIONS = ("membership_client.RebalanceListener.", "membership_client.CallbackRunner")
"""Called by us alone, and written by applications."""
ELSEWHERE = "membership_client.Consumer"

_WAIT = {"membership_client.GroupMember.commit", "membership_client.GroupMember.committed"}
"""Wait for a coordinator, which is not there: a long timeout is waited for."""

PLACES = [
    place
    for place in itertools.chain(*map(places, (membership_client, admin, health, identity)))
    if place.path not in OURS and not place.path.startswith((*THE_APPLICATIONS, ELSEWHERE))
]


def _context() -> membership_client.CallbackContext:
    context = membership_client.CallbackContext()
    context.mark_lost()
    return context


def _view() -> GroupView:
    return GroupView(
        group_id="shop", protocol="consumer", state="Empty", epoch=1, assignment_epoch=1, assignor="", members=()
    )


MAKERS: dict[str, Callable[[], Any]] = {
    "GroupMember": lambda: GroupMember(MINIMAL),
    "GroupAdmin": lambda: GroupAdmin(NOBODY, timeout_s=0.01),
    "CallbackContext": _context,
    "GroupView": _view,
}


@contextlib.contextmanager
def callable_of(place: Place) -> Iterator[Callable[..., Any]]:
    """What to call: a function, a constructor whose object is closed at once, or a method of an object made for it."""
    if place.owner is None:
        yield lambda *values, **named: _closed(place.found(*values, **named))
    elif place.name == "close":
        yield functools.partial(_made_and_closed, place.owner)
    else:
        made = GroupMember(MINIMAL | SASL) if place.name == "set_sasl_credentials" else MAKERS[place.owner]()
        try:
            yield getattr(made, place.name)
        finally:
            _closed(made)


def _made_and_closed(owner: str, *values: Any, **named: Any) -> Any:
    made = MAKERS[owner]()
    try:
        return made.close(*values, **named)
    finally:
        made.close()


def _closed(made: Any) -> Any:
    with contextlib.suppress(AttributeError):
        made.close()
    return made


@pytest.fixture(autouse=True)
def _assignors_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Assignors are known to the whole process, and so to all other tests: `x` was a strategy from then on."""
    monkeypatch.setattr(registry, "_own", {})


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_bad_values(place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Of 433 bad inputs 63 once gave a raw exception, 72 silence, and 6 hung."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with callable_of(place) as call:
        complaints = list(feed(place, call, TABLE, leave_out=WAITS if place.path in _WAIT else frozenset()))
    assert not complaints, "\n".join(map(str, complaints))


@pytest.mark.parametrize("within_s", [None, "x", float("nan"), [1]])
def test_what_is_no_time_for_a_trace_to_be_written(within_s: Any) -> None:
    """The class of `member.trace` has no public name, and so is not found by looking: flush("x") was a TypeError."""
    with GroupMember(MINIMAL) as member, pytest.raises(ConfigError, match="within_s is a number of seconds"):
        member.trace.flush(within_s)
