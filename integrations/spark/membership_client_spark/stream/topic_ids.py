"""The ids of a query's topics: a topic that was deleted and created again has the same name and another id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException, TopicCollection, Uuid
from confluent_kafka.admin import AdminClient

from membership_client import ConnectionProblem
from membership_client_spark.errors import TopicRecreatedError
from membership_client_spark.stream.offsets import StreamOffset

_TIMEOUT_S = 30.0
_NONE = str(Uuid(0, 0))
"""What brokers before Kafka 2.8 are taken to say."""


class TopicIds:
    """Belongs to one thread, and blocks while it asks."""

    def __init__(self, clients: Mapping[str, Any], topics: tuple[str, ...]) -> None:
        self._admin = AdminClient({**clients, "log_level": 0})
        self._topics = topics
        self.known: Mapping[str, str] = {}
        """As last asked, without topics that do not exist at the moment."""

    def now(self) -> Mapping[str, str]:
        """Asks the brokers. ConnectionProblem if they do not answer."""
        answers = self._admin.describe_topics(TopicCollection(list(self._topics)), request_timeout=_TIMEOUT_S)
        found = {}
        for topic, answer in answers.items():
            try:
                found[topic] = str(answer.result().topic_id)
            except KafkaException as error:
                if error.args[0].retriable():
                    raise ConnectionProblem(f"The id of {topic} cannot be looked up: {error}.") from error
        self.known = {topic: known for topic, known in found.items() if known != _NONE}
        return self.known

    def check(self, done: StreamOffset) -> None:
        """TopicRecreatedError if a topic has another id than in the checkpoint."""
        for topic, known in self.now().items():
            before = done.topic_ids.get(topic, known)
            if known != before:
                raise TopicRecreatedError(
                    f"{topic} has the id {known}, and had {before} when the checkpoint was written."
                )
