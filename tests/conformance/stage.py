"""The real broker's side of every script: topics that are made once, and a fresh group for each run."""

from __future__ import annotations

import contextlib
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from kio.schema.metadata.v12 import MetadataRequest, MetadataResponse
from kio.schema.metadata.v12.request import MetadataRequestTopic
from kio.schema.types import TopicName

from membership_client.partitions import NOTHING
from membership_client.testing import ClusterAdmin, EmbeddedKafka
from membership_client.testing.fake_assignor import hash_of_id
from membership_client.testing.fake_topics import FakeTopic
from membership_client.testing.wire import ask, parse_addresses
from tests.conformance.broker_player import BrokerPlayer
from tests.conformance.buckets import apart
from tests.conformance.embedded_player import EmbeddedPlayer
from tests.conformance.fake_player import FakePlayer, settings_of
from tests.conformance.names import Names
from tests.conformance.play import Pair
from tests.conformance.players import Rival
from tests.conformance.script import TOPICS, Script, Terms
from tests.net.conversation import Conversation
from tests.net.patience import until

_BATCH = 8
"""Groups are configured a few at a time: whether a coordinator knows of it takes a while to find out."""


class Stage:
    """Pairs of players, each about a group of its own; the broker may be shared with anybody."""

    def __init__(self, bootstrap_servers: str, *, max_size: int | None = None) -> None:
        self._servers = bootstrap_servers
        self._max_size = max_size
        self._admin = ClusterAdmin(bootstrap_servers)
        self._prefix, self._topics = self._make_topics()
        self._groups: dict[Terms, list[str]] = defaultdict(list)

    @contextlib.contextmanager
    def pair(self, script: Script) -> Iterator[Pair]:
        prefix, topics = self._make_topics() if script.changes_topics else (self._prefix, self._topics)
        names = Names(self._group(script.terms), prefix, topics)
        if script.changes_topics:
            self._await_coordinator()
        with (
            self._rival(names, script.terms) as rival,
            BrokerPlayer.about(names.group_id, self._servers, self._admin) as broker,
        ):
            yield Pair(names, rival, broker, self._resize)

    def _rival(self, names: Names, terms: Terms) -> contextlib.AbstractContextManager[Rival]:
        settings = settings_of(terms, self._max_size)
        return contextlib.nullcontext(FakePlayer(names.group_id, names.topics.values(), settings))

    # --- topics ------------------------------------------------------------------------------------------------------

    def _make_topics(self) -> tuple[str, Mapping[str, FakeTopic]]:
        prefix, topics = f"conformance-{uuid.uuid4().hex[:8]}-", dict[str, FakeTopic]()
        for symbol, partitions in TOPICS.items():
            topics[symbol] = self._make_topic(prefix + symbol, partitions, topics.values())
        return prefix, topics

    def _make_topic(self, name: str, partitions: int, others: Iterable[FakeTopic]) -> FakeTopic:
        """Until a broker draws an id whose place among the others in Java's hash tables is certain."""
        while True:
            self._admin.create_topic(name, partitions)
            topic = self._look_up(name)
            if apart([hash_of_id(known.topic_id) for known in (*others, topic)]):
                return topic
            self._admin.delete_topic(name)

    def _resize(self, names: Names, symbol: str, partitions: int) -> FakeTopic | None:
        """Returns when the coordinator has heard of it. What is so already stays: a script that was made shorter may say so."""
        name, known = names.prefix + symbol, names.topics.get(symbol)
        if known is None and partitions:
            self._make_topic(name, partitions, names.topics.values())
        elif known is not None and not partitions:
            self._admin.delete_topic(name)
        elif known is not None and partitions > known.partitions:
            self._admin.add_partitions(name, partitions)
        self._await_coordinator()
        return self._look_up(name) if partitions else None

    def _look_up(self, name: str) -> FakeTopic:
        wanted = MetadataRequestTopic(topic_id=None, name=TopicName(name))
        request = MetadataRequest(
            topics=(wanted,), allow_auto_topic_creation=False, include_topic_authorized_operations=False
        )
        topic = ask(parse_addresses(self._servers)[0], request, MetadataResponse).topics[0]
        assert topic.topic_id is not None
        return FakeTopic(name, topic.topic_id, len(topic.partitions))

    # --- groups ------------------------------------------------------------------------------------------------------

    def _group(self, terms: Terms) -> str:
        """A group nobody ever used, whose coordinator goes by the terms."""
        if not self._groups[terms]:
            self._groups[terms] = [f"conformance-{uuid.uuid4().hex}" for _ in range(_BATCH)]
            with ThreadPoolExecutor(_BATCH) as pool:
                list(pool.map(lambda group_id: self._configure(group_id, terms), self._groups[terms]))
            self._await_coordinator()
        return self._groups[terms].pop()

    def _configure(self, group_id: str, terms: Terms) -> None:
        configure(self._admin, group_id, terms)

    def _await_coordinator(self) -> None:
        """A coordinator that assigns a topic has heard of everything that came before it."""
        newest = f"newest-{uuid.uuid4().hex}"
        self._admin.create_topic(newest)
        with Conversation.about(newest, self._servers) as group:
            until(lambda: group.join(topics=(newest,)).assignment != NOTHING)
            group.beat(-1)


class EmbeddedStage(Stage):
    """An embedded broker in the place of the fake."""

    def __init__(self, bootstrap_servers: str, embedded: EmbeddedKafka, *, max_size: int | None = None) -> None:
        super().__init__(bootstrap_servers, max_size=max_size)
        self._embedded = embedded
        self._embedded_admin = ClusterAdmin(embedded.bootstrap_servers)

    def _rival(self, names: Names, terms: Terms) -> contextlib.AbstractContextManager[Rival]:
        configure(self._embedded_admin, names.group_id, terms)
        return EmbeddedPlayer.on(self._embedded, names.group_id, self._embedded_admin, names.topics.values())


def configure(admin: ClusterAdmin, group_id: str, terms: Terms) -> None:
    admin.set_group_config(
        group_id,
        consumer_session_timeout_ms=round(terms.session_timeout_s * 1000),
        consumer_heartbeat_interval_ms=round(terms.heartbeat_interval_s * 1000),
        consumer_assignment_interval_ms=round(terms.assignment_interval_s * 1000),
    )
