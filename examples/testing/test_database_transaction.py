"""Rows and offset in one transaction of a database. The bug: a process that was away overwrites what others did meanwhile."""

import sqlite3
import time

import pytest
from confluent_kafka import TopicPartition

from membership_client.testing import StoryError, exactly_once_in, explore


def create(path=":memory:"):
    database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    database.execute("CREATE TABLE orders (value BLOB)")
    database.execute("CREATE TABLE offsets (number INTEGER PRIMARY KEY, next INTEGER)")
    return database


class Rows:
    def __init__(self, consumer, database):
        self.consumer = consumer
        self.database = database

    def on_assign(self, consumer, partitions):
        consumer.incremental_assign(
            [TopicPartition(p.topic, p.partition, self.next_offset(p.partition)) for p in partitions]
        )

    def next_offset(self, number):
        self.database.execute("INSERT OR IGNORE INTO offsets VALUES (?, 0)", (number,))
        return self.database.execute("SELECT next FROM offsets WHERE number = ?", (number,)).fetchone()[0]

    def write(self, message):
        time.sleep(0.1)  # The work.
        self.database.execute("BEGIN")
        self.database.execute("INSERT INTO orders VALUES (?)", (message.value(),))
        self.database.execute("COMMIT" if self.advance(message) else "ROLLBACK")

    def advance(self, message):
        """False if another member has been here: then the row must not be written either."""
        number, offset = message.partition(), message.offset()
        sql = "UPDATE offsets SET next = ? WHERE number = ? AND next = ?"
        return self.database.execute(sql, (offset + 1, number, offset)).rowcount == 1

    def run(self):
        self.consumer.subscribe(["orders"], on_assign=self.on_assign)
        try:
            while True:
                message = self.consumer.poll(1.0)
                if message is not None:
                    self.write(message)
        finally:
            self.consumer.close()


class RowsWithBug(Rows):
    def advance(self, message):
        number, offset = message.partition(), message.offset()
        self.database.execute("UPDATE offsets SET next = ? WHERE number = ?", (offset + 1, number))
        return True


CONFIG = {"enable.auto.commit": False, "auto.offset.reset": "earliest"}


def database_of(instance):
    if "database" not in instance.durable:
        instance.durable["database"] = create()
    return instance.durable["database"]


def program(instance):
    Rows(instance.consumer(CONFIG), database_of(instance)).run()


def program_with_bug(instance):
    RowsWithBug(instance.consumer(CONFIG), database_of(instance)).run()


def rows(durable):
    return [value for (value,) in durable["database"].execute("SELECT value FROM orders")]


def test_no_story_breaks_it():
    explore(program, checks=[exactly_once_in(rows)], seeds=10)


def test_the_bug_is_found():
    with pytest.raises(StoryError, match="is in the output 2 times"):
        explore(program_with_bug, checks=[exactly_once_in(rows)])
