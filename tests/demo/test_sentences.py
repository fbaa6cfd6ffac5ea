"""Every change is shown with its cause."""

from __future__ import annotations

from membership_client import MemberState
from membership_client.demo.events import ErrorLine
from membership_client.demo.sentences import sentences_of
from tests.demo.recorded import gives, gone, seen, started, takes

GROUP_CHANGED = "group changed: the coordinator gave us a new target"


def test_a_handover_names_both_sides() -> None:
    """The giver learns only that the group changed; the sentence also names the member that joined."""
    told = sentences_of(
        [
            started(1, "a", 1),
            takes(2, "a", 1, 0, 1),
            started(3, "b", 2),
            gives(4, "a", 1, 1, cause=GROUP_CHANGED),
            takes(5, "b", 2, 1, cause=GROUP_CHANGED),
        ]
    )
    assert [line.text for line in told if line.tone in {"give", "gain"}] == [
        "takes 0 1 (joined the group)",
        "gives up 1 (b joined: the coordinator gave us a new target)",
        f"takes 1 from a ({GROUP_CHANGED})",
    ]


def test_a_replacement_takes_its_own_back() -> None:
    told = sentences_of(
        [started(1, "a", 1), takes(2, "a", 1, 0), gone(3, "a", 1, -9), started(4, "a", 2), takes(5, "a", 2, 0)]
    )
    assert [line.text for line in told][-3:] == [
        "was killed with SIGKILL: it could not leave the group",
        "starts as process 2 (static, instance id a)",
        "takes 0 back (joined the group)",
    ]


def test_only_changes_of_state_are_told() -> None:
    """A member reports every heartbeat, and only changes become sentences."""
    told = sentences_of(
        [seen(1, "a", 1), seen(2, "a", 1), seen(3, "a", 1, epoch=2), seen(4, "a", 1, MemberState.FENCED)]
    )
    assert [line.text for line in told] == [
        "STABLE at epoch 1, owns nothing",
        "STABLE at epoch 2, owns nothing",
        "FENCED (None)",
    ]


def test_a_repeated_complaint_is_told_once_and_without_the_log_prefix() -> None:
    error = ErrorLine(at=1, name="a", pid=1, text="[g/a]: held by another")
    assert [line.text for line in sentences_of([error, error])] == ["held by another"]
