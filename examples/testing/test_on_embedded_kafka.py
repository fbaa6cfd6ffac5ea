"""The first story: a program with a real consumer, on a broker in this process."""

import confluent_kafka
import pytest

from membership_client import Consumer
from membership_client.testing import What


def program(instance):
    consumer = instance.consumer({"enable.auto.commit": False})
    consumer.subscribe(["orders"])
    try:
        while True:
            message = consumer.poll(1.0)
            if message is not None:
                instance.processed(message)
                consumer.commit(message, asynchronous=False)
    finally:
        consumer.close()


@pytest.mark.parametrize("consumer", [Consumer, confluent_kafka.Consumer])
def test_a_second_instance_takes_over(kafka_group, consumer):
    kafka_group.produce(20)
    kafka_group.join("a", program, consumer=consumer)
    kafka_group.wait_processed(20)

    kafka_group.join("b", program, consumer=consumer)
    kafka_group.wait_assigned("a", "b")
    kafka_group.produce(20)
    kafka_group.wait_processed(40)

    kafka_group.leave("a")
    kafka_group.wait_assigned("b")
    kafka_group.check()


def test_a_member_that_is_fenced_comes_back(kafka_group):
    kafka_group.join("a", program)
    kafka_group.wait_assigned("a")
    kafka_group.fence("a")
    kafka_group.wait_for(lambda: any(kafka_group.history.of(What.LOST)))
    kafka_group.produce(20)
    kafka_group.wait_processed(20)
    kafka_group.check()
