"""Sealed messages: what was said arrives as it was said and in order, and everything else is refused. No sockets."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from membership_client_spark.leases.wire import (
    NotOursError,
    Opener,
    Sealer,
    challenge,
    challenge_in,
    check_proof,
    line,
    new_secret,
    parsed,
    session_key,
)

SECRET, DRIVER, SLOT = new_secret(), challenge(), challenge()
KEY = session_key(SECRET, "driver", DRIVER, SLOT)
STOP = {"stop": "stopped", "reason": "because I say so"}


def sealed(*messages: dict[str, Any]) -> list[bytes]:
    sealer = Sealer(KEY)
    return [sealer.seal(message) for message in messages]


@given(st.lists(st.dictionaries(st.text(), st.integers() | st.text() | st.none())))
def test_messages_arrive_as_they_were_said(messages: list[dict[str, Any]]) -> None:
    """Whatever is in them; each on a line of its own."""
    opener, lines = Opener(KEY), sealed(*messages)
    assert [opener.open(one) for one in lines] == messages
    assert all(one.count(b"\n") == 1 and one.endswith(b"\n") for one in lines)


@pytest.mark.parametrize("given", [None, 7, "", "x", "0" * 63, "0" * 65, "A" * 64, "0" * 64 + "\n"])
def test_what_is_no_challenge_is_refused(given: object) -> None:
    """Proofs and keys are made of it: a colon in one would shift its borders."""
    with pytest.raises(NotOursError, match="no challenge"):
        challenge_in({"challenge": given})


@pytest.mark.parametrize("given", [None, 7, "", "\u00e4" * 64, "1" * 64])
def test_what_is_no_proof_is_refused(given: object) -> None:
    """Also letters that cannot be compared in constant time."""
    with pytest.raises(NotOursError, match="wrong proof"):
        check_proof(given, "0" * 64)


@pytest.mark.parametrize("received", [b"", b"{}", b"{\n", b"[]\n", b"\xff\n", b"[" * 100_000 + b"\n"])
def test_what_is_no_whole_message_is_refused(received: bytes) -> None:
    """Whatever JSON makes of it."""
    with pytest.raises(NotOursError):
        parsed(received)


def test_a_message_that_is_repeated_is_refused() -> None:
    """A relay that has heard a stop cannot say it again later."""
    first, _ = sealed(STOP, {})
    opener = Opener(KEY)
    opener.open(first)
    with pytest.raises(NotOursError):
        opener.open(first)


def test_messages_in_another_order_are_refused() -> None:
    """The second one before the first."""
    with pytest.raises(NotOursError):
        Opener(KEY).open(sealed({}, STOP)[1])


def test_a_message_that_is_left_out_is_noticed_at_the_next() -> None:
    """A relay that swallows a stop has to swallow everything after it, which is a line that broke."""
    first, _, third = sealed({}, STOP, {})
    opener = Opener(KEY)
    opener.open(first)
    with pytest.raises(NotOursError):
        opener.open(third)


def test_what_a_relay_makes_up_is_refused() -> None:
    """Without a MAC, with that of another message, with one of its own making."""
    honest = sealed({})[0]
    for forged in (line(STOP), honest[:64] + line(STOP), Sealer(new_secret()).seal(STOP), b"", b"\n", b"\xff" * 100):
        with pytest.raises(NotOursError):
            Opener(KEY).open(forged)


@given(st.randoms(use_true_random=False))
def test_a_message_that_was_changed_is_refused(chance: random.Random) -> None:
    """In any bit, at any place."""
    changed = bytearray(sealed(STOP)[0])
    changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    with pytest.raises(NotOursError):
        Opener(KEY).open(bytes(changed))


def test_a_message_that_was_cut_is_refused_at_every_length() -> None:
    """Half a message is none."""
    whole = sealed(STOP)[0]
    for length in range(len(whole)):
        with pytest.raises(NotOursError):
            Opener(KEY).open(whole[:length])


@pytest.mark.parametrize(
    "other",
    [
        session_key(SECRET, "slot", DRIVER, SLOT),
        session_key(SECRET, "driver", challenge(), SLOT),
        session_key(SECRET, "driver", DRIVER, challenge()),
        session_key(new_secret(), "driver", DRIVER, SLOT),
    ],
    ids=["the other direction", "another connection", "another slot's", "another run's"],
)
def test_messages_of_another_direction_or_connection_are_refused(other: bytes) -> None:
    """What a slot said is not echoed to it, and what was recorded yesterday not said today."""
    with pytest.raises(NotOursError):
        Opener(other).open(sealed(STOP)[0])
