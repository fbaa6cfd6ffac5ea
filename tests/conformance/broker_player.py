"""Plays on a real broker, over one connection and with our own codec."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace

from membership_client.core.events import Request, Response
from membership_client.testing import ClusterAdmin
from membership_client.testing.described import GroupDescription
from tests.net.conversation import Conversation


class BrokerPlayer:
    def __init__(self, conversation: Conversation, admin: ClusterAdmin) -> None:
        self._conversation = conversation
        self._admin = admin

    @classmethod
    @contextlib.contextmanager
    def about(cls, group_id: str, bootstrap_servers: str, admin: ClusterAdmin) -> Iterator[BrokerPlayer]:
        with Conversation.about(group_id, bootstrap_servers) as conversation:
            yield cls(conversation, admin)

    def ask(self, request: Request) -> Response:
        return self._conversation.ask(request)

    def pass_time(self, seconds: float) -> None:
        time.sleep(seconds)

    def picture(self) -> GroupDescription | None:
        try:
            found = self._admin.describe(self._conversation.group_id)
        except LookupError:
            return None
        return replace(found, members=tuple(sorted(found.members, key=lambda member: member.member_id)))
