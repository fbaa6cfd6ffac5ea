"""Calls every public name of every member and consumer in a forked child, and prints how each call ended."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import queue
import sys
import threading
from typing import Any

from membership_client import Consumer, GroupMember, aio

WAIT_S = 10.0
CONFIG = {"bootstrap.servers": sys.argv[1], "group.id": "forked"}
FETCHING = {**CONFIG, "log_level": 0}


async def for_asyncio() -> list[Any]:
    return [aio.GroupMember(CONFIG), aio.Consumer(FETCHING)]


def names_of(thing: object) -> list[str]:
    """The public names of the class as it is before the fork."""
    special = ("__enter__", "__aenter__", "__iter__", "__aiter__", "__anext__")
    return [name for name in dir(type(thing)) if not name.startswith("_") or name in special]


async def use(thing: object, name: str) -> object:
    found = getattr(type(thing), name)
    value = getattr(thing, name) if isinstance(found, property) else found(thing)
    value = await value if inspect.isawaitable(value) else value
    return next(value) if inspect.isgenerator(value) else value


def outcome_of(thing: object, name: str) -> str:
    """How the call ended: the type of the exception, the value, or that it hangs."""
    outcome: queue.SimpleQueue[str] = queue.SimpleQueue()

    def work() -> None:
        try:
            outcome.put(str(asyncio.run(use(thing, name))))
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test reads it
            outcome.put(type(error).__name__)

    threading.Thread(target=work, daemon=True).start()
    try:
        return outcome.get(timeout=WAIT_S)
    except queue.Empty:
        return "hangs"


def say(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def main() -> None:
    member, consumer, idle = GroupMember(CONFIG), Consumer(FETCHING), Consumer(FETCHING)
    things = [member, consumer, idle, *asyncio.run(for_asyncio())]
    for thing in (member, consumer, *things[3:]):
        thing.subscribe(["orders"])
    consumer.poll(0.1)
    if (child := os.fork()) == 0:
        said = [(type(thing).__module__, name, outcome_of(thing, name)) for thing in things for name in names_of(thing)]
        say(said)
        return  # As programs end: the interpreter frees what the child has inherited.
    say(["exit", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])])
    for thing in things[:3]:
        thing.close(timeout_s=0.5)
    for thing in things[3:]:
        asyncio.run(thing.close(timeout_s=0.5))


main()
