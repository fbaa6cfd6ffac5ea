"""`membership_client.confluent`: all that a program imports from confluent_kafka, with our Consumer in it."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys

import confluent_kafka
import confluent_kafka.admin
import confluent_kafka.serialization
import pytest

import membership_client
import membership_client.aio
import membership_client.confluent as drop_in

OURS = {"Consumer", "DeserializingConsumer"}


def test_every_name_of_theirs_is_there() -> None:
    """The same objects, but for the two consumers, which are ours."""
    assert set(confluent_kafka.__all__) <= set(drop_in.__all__)
    public = {name for name in dir(confluent_kafka) if not name.startswith("_")} | set(confluent_kafka.__all__)
    modules = {"admin", "aio", "kafkatest"}  # Loaded when they are imported.
    differing = {name for name in public - modules if getattr(drop_in, name) is not getattr(confluent_kafka, name)}
    assert differing == OURS | {"deserializing_consumer"}
    assert drop_in.__version__ == confluent_kafka.__version__


def test_the_consumers_are_ours_and_theirs() -> None:
    """A program that asks with isinstance gets the answer that it is used to."""
    assert drop_in.Consumer is membership_client.Consumer
    assert issubclass(drop_in.DeserializingConsumer, membership_client.Consumer)
    assert issubclass(drop_in.DeserializingConsumer, confluent_kafka.DeserializingConsumer)


def test_a_name_that_neither_has() -> None:
    """As in any other module."""
    with pytest.raises(AttributeError, match="Consumers"):
        drop_in.Consumers  # noqa: B018 - it is the looking that counts
    with pytest.raises(ImportError):
        from membership_client.confluent import nothing  # noqa: F401
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("membership_client.confluent.nothing")


@pytest.mark.parametrize("module", ["admin", "serialization", "error", "cimpl", "aio.producer", "serializing_producer"])
def test_its_modules_are_theirs_and_no_copies(module: str) -> None:
    """A second copy would have exception classes that no `except` of the program knows."""
    found = importlib.import_module(f"membership_client.confluent.{module}")
    assert found is importlib.import_module(f"confluent_kafka.{module}")
    assert found.__name__ == f"confluent_kafka.{module}"


def test_the_asyncio_module_has_our_consumer() -> None:
    """The bug: it was confluent-kafka's class, so a program had another membership than it thought. The rest is theirs."""
    ours, theirs = (importlib.import_module(f"{package}.aio") for package in (drop_in.__name__, "confluent_kafka"))
    assert drop_in.aio is ours
    assert ours.__all__ == theirs.__all__
    assert issubclass(ours.AIOConsumer, membership_client.aio.Consumer)
    assert {name for name in ours.__all__ if getattr(ours, name) is not getattr(theirs, name)} == {"AIOConsumer"}
    with pytest.raises(AttributeError, match="Consumers"):
        ours.Consumers  # noqa: B018 - it is the looking that counts


def test_the_asyncio_consumer_has_every_method_and_argument() -> None:
    """Their methods take what their Consumer's take, so those signatures are the ones to compare with."""
    ours, theirs = (importlib.import_module(f"{package}.aio") for package in (drop_in.__name__, "confluent_kafka"))
    public = {name for name in vars(theirs.AIOConsumer) if not name.startswith("_")}
    assert public <= set(dir(ours.AIOConsumer))
    given = [list(inspect.signature(kind).parameters) for kind in (ours.AIOConsumer, theirs.AIOConsumer)]
    assert given[0] == given[1]


def test_the_module_of_the_deserializing_consumer_has_ours() -> None:
    """Some programs import it from there."""
    module = importlib.import_module("membership_client.confluent.deserializing_consumer")
    assert module.DeserializingConsumer is drop_in.DeserializingConsumer


PROGRAM = """
from {package} import *
from {package} import Consumer, KafkaException, TopicPartition, OFFSET_BEGINNING
from {package}.admin import AdminClient, NewTopic
from {package}.error import ConsumeError
from {package}.serialization import StringDeserializer
import {package}.admin as other
assert other.AdminClient is AdminClient and issubclass(ConsumeError, KafkaException)
print(Consumer.__module__, TopicPartition("orders", 0, OFFSET_BEGINNING), Producer.__name__)
"""


def test_a_program_changes_its_import_only() -> None:
    """Every form of import works; the Consumer is ours where the import is."""
    printed = {
        package: subprocess.run(
            [sys.executable, "-c", PROGRAM.format(package=package)],
            check=True,
            timeout=60,
            capture_output=True,
            text=True,
        ).stdout.partition(" ")
        for package in ("confluent_kafka", "membership_client.confluent")
    }
    theirs, ours = printed.values()
    assert ours[0] == "membership_client.consumer.consumer"
    assert theirs[0] != ours[0]
    assert theirs[2] == ours[2]


def test_the_package_itself_stays_light() -> None:
    """`import membership_client` loads neither confluent-kafka nor this module."""
    program = (
        "import sys, membership_client; "
        "assert not {'confluent_kafka', 'membership_client.confluent'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_bad_deserializers_are_refused_as_theirs() -> None:
    """A deserializer and its builder at once are a ValueError; a bad key is a KafkaException. Nothing stays open."""
    config = {"bootstrap.servers": "127.0.0.1:1", "group.id": "shop", "log_level": 0}
    with pytest.raises(ValueError, match=r"key\.deserializer"):
        drop_in.DeserializingConsumer({**config, "key.deserializer": str, "key.deserializer.builder": object()})
    with pytest.raises(confluent_kafka.KafkaException):
        drop_in.DeserializingConsumer({**config, "value.deserializer": str, "no.such.key": 1})


def test_consume_is_not_there() -> None:
    """As in confluent-kafka: a batch would have to say which of its records failed."""
    with drop_in.DeserializingConsumer(
        {"bootstrap.servers": "127.0.0.1:1", "group.id": "shop", "log_level": 0}
    ) as consumer:
        assert consumer.poll(0) is None
        with pytest.raises(NotImplementedError):
            consumer.consume(1, 0)
