"""Plays on an embedded broker, through its socket: as `BrokerPlayer`, in the place of the fake.

White box where a broker lets nobody choose: topics get the ids that those of the real broker have.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from membership_client.core.events import Request, Response
from membership_client.testing import ClusterAdmin, EmbeddedKafka
from membership_client.testing.embedded.broker import Brokers
from membership_client.testing.fake_patterns import Evaluation
from membership_client.testing.fake_topics import FakeTopic
from tests.conformance.broker_player import BrokerPlayer
from tests.net.conversation import Conversation


class EmbeddedPlayer(BrokerPlayer):
    """Its clock is the real one, so time passes for it while it passes for the other broker."""

    def __init__(self, conversation: Conversation, admin: ClusterAdmin, embedded: EmbeddedKafka) -> None:
        super().__init__(conversation, admin)
        self._group_id = conversation.group_id
        self._embedded = embedded
        self.stirred = False

    @classmethod
    @contextlib.contextmanager
    def on(
        cls, embedded: EmbeddedKafka, group_id: str, admin: ClusterAdmin, topics: Iterable[FakeTopic]
    ) -> Iterator[EmbeddedPlayer]:
        with Conversation.about(group_id, embedded.bootstrap_servers) as conversation:
            player = cls(conversation, admin, embedded)
            for topic in topics:
                player.learn(topic.name, topic)
            yield player

    def ask(self, request: Request) -> Response:
        before = self._embedded._look(self._evaluated)
        answer = super().ask(request)
        self._embedded.wait_for(lambda: not self._embedded._look(self._evaluates_patterns))
        # Patterns are evaluated within a millisecond, mostly before anybody could see that they wait: once they are stated,
        # and again by any heartbeat when topics have come. The other broker may take longer.
        self.stirred = bool(getattr(request, "regex", None)) or before != self._embedded._look(self._evaluated)
        return answer

    def _evaluates_patterns(self, brokers: Brokers) -> bool:
        group = brokers.cluster.groups.consumer(self._group_id)
        return group is not None and group.patterns.ready_at is not None

    def _evaluated(self, brokers: Brokers) -> dict[str, Evaluation]:
        group = brokers.cluster.groups.consumer(self._group_id)
        return {} if group is None else dict(group.patterns._evaluated)

    def pass_time(self, seconds: float) -> None:
        """Nothing to do: the other player waits."""

    def learn(self, name: str, topic: FakeTopic | None) -> None:
        """That is how the topic is from now on; None if there is none of that name."""
        self._embedded._change(lambda brokers, _: _learn(brokers, name, topic))


def _learn(brokers: Brokers, name: str, topic: FakeTopic | None) -> None:
    cluster = brokers.cluster
    known = cluster.topics.find(name)
    if known is not None and (topic is None or topic.topic_id != known.topic_id):
        cluster.delete_topic(name)
        known = None
    if topic is not None and known is None:
        cluster.topics.known.next_id = topic.topic_id.int
        cluster.topics.create(name, topic.partitions)
    elif topic is not None and known is not None and topic.partitions > known.partitions:
        cluster.topics.grow(name, topic.partitions)
