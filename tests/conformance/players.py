"""What a script can be played on: something that answers, lets time pass, and shows the group as it is."""

from __future__ import annotations

from typing import Protocol

from membership_client.core.events import Request, Response
from membership_client.testing.described import GroupDescription
from membership_client.testing.fake_topics import FakeTopic


class Player(Protocol):
    def ask(self, request: Request) -> Response:
        """The answer to one request; no other is under way."""

    def pass_time(self, seconds: float) -> None:
        """Returns when so much of its time has passed."""

    def picture(self) -> GroupDescription | None:
        """The group from the inside, members in order of their ids; None if there is no such group."""


class Rival(Player, Protocol):
    """What is held to the broker: it is told of topics, which the broker makes."""

    stirred: bool
    """The last request began work in the background."""

    def learn(self, name: str, topic: FakeTopic | None) -> None:
        """That is how the topic is from now on; None if there is none of that name."""
