"""Everything a consumer can be asked: offsets by time, watermarks, topics, positions, commits, the assignment, its id."""
# ruff: noqa: T201 - printing is its job

import sys

import confluent_kafka
from confluent_kafka import Consumer

Places = list[confluent_kafka.TopicPartition]


def show(what: str, places: Places) -> None:
    print(what, [(place.partition, place.offset, place.metadata, place.leader_epoch) for place in sorted(places)])


def look_before(consumer: Consumer, topic: str) -> None:
    everywhere = [confluent_kafka.TopicPartition(topic, number) for number in range(3)]
    show("assigned before:", consumer.assignment())
    show("committed before:", consumer.committed(everywhere, timeout=10))
    show("position before:", consumer.position(everywhere))
    low, high = consumer.get_watermark_offsets(everywhere[0], timeout=10)
    print("watermarks:", low, high)
    found = consumer.list_topics(topic, timeout=10).topics[topic]
    print("partitions:", sorted(found.partitions), found.error)


def look_during(consumer: Consumer, topic: str) -> None:
    places = consumer.assignment()
    print("assigned:", sorted((place.topic, place.partition) for place in places) == [(topic, n) for n in range(3)])
    show("position:", consumer.position(places))
    show("committed:", consumer.commit(asynchronous=False) or [])
    show("committed:", consumer.committed(places))
    print("cached watermarks:", consumer.get_watermark_offsets(places[0], cached=True))
    print("a member id:", bool(consumer.memberid()), type(consumer.consumer_group_metadata()).__name__)


def look_by_time(consumer: Consumer, topic: str, at_ms: int) -> None:
    times = [confluent_kafka.TopicPartition(topic, number, at_ms + number) for number in range(3)]
    show("by time:", consumer.offsets_for_times(times, timeout=10))


def main() -> None:
    servers, group, topic = sys.argv[1:]
    config = {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"}
    with Consumer(config | {"enable.auto.commit": False}) as consumer:
        look_before(consumer, topic)
        consumer.subscribe([topic])
        times: dict[int, int] = {}
        for _ in range(300):
            message = consumer.poll(timeout=60)
            assert message is not None
            assert message.error() is None
            times[message.offset() or 0] = message.timestamp()[1]
        look_during(consumer, topic)
        look_by_time(consumer, topic, times[30])
        consumer.unsubscribe()
        while consumer.assignment():
            consumer.poll(0.1)
        show("committed after:", consumer.committed([confluent_kafka.TopicPartition(topic, 1)]))


if __name__ == "__main__":
    main()
