"""A story in virtual time: sessions that end and processes that stand still for minutes cost no time."""

from contextlib import suppress

from confluent_kafka import KafkaException


def program(instance):
    consumer = instance.consumer({"enable.auto.commit": False})
    consumer.subscribe(["orders"], on_lost=lambda consumer, partitions: None)
    try:
        while True:
            message = consumer.poll(1.0)
            if message is None:
                continue
            instance.processed(message)
            with suppress(KafkaException):  # Its partition was lost meanwhile: the next owner reads it again.
                consumer.commit(message, asynchronous=False)
    finally:
        consumer.close()


def test_a_crash_loses_no_record(virtual_group):
    virtual_group.produce(20)
    virtual_group.join("a", program)
    virtual_group.join("b", program)
    virtual_group.wait_assigned("a", "b")

    virtual_group.crash("a")
    virtual_group.produce(20)
    virtual_group.advance(8.0)  # The session of "a" ends 6 s after its last heartbeat.
    virtual_group.wait_assigned("b")
    virtual_group.wait_processed(40)
    virtual_group.check()


def test_a_process_that_stood_still_has_lost_its_partitions(virtual_group):
    virtual_group.join("a", program)
    virtual_group.wait_assigned("a")

    virtual_group.stall("a", 300.0)
    virtual_group.join("b", program)
    virtual_group.produce(20)
    virtual_group.wait_processed(20)
    virtual_group.advance(300.0)
    virtual_group.wait_assigned("a", "b")
    history = virtual_group.check()
    assert [name for instance, name, _ in history.callbacks if instance == "a"] == ["on_lost"]
