"""Consumer, for threads and for asyncio: bad values meet our errors, or exactly what confluent-kafka raises for them."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from membership_client import Consumer, aio
from membership_client.config import MemberConfig
from tests.arguments.bad_values import BAD, WAITS
from tests.arguments.feeding import GUARD_S, Attempt, Call, Hung, Outcome, Stopwatch, feed, here, in_thread
from tests.arguments.kinds import is_in
from tests.arguments.surface import Place, places
from tests.arguments.tables import CONFIG_KEYS, MINIMAL, QUIET, SASL, TABLE

pytestmark = pytest.mark.deep

_ENDLESS = WAITS | {"-1", "-inf", "None"}
"""As confluent-kafka has it, a negative timeout is no timeout."""
_WAITS = {
    "cluster_id",
    "committed",
    "consume",
    "get_watermark_offsets",
    "getmany",
    "getone",
    "list_topics",
    "offsets_for_times",
    "poll",
    "seek_to_beginning",
    "seek_to_end",
    "seek_to_time",
}
_ASKS_BROKERS = {"committed", "get_watermark_offsets"}
_SECONDS = frozenset({"True", "False", "decimal", "fraction"})
"""Numbers of seconds, as in confluent-kafka, whose methods of these names fail here for want of a broker."""
_MAKES = {"Consumer", "GroupMember", "close"}


class _Module:
    """A part of a module's names."""

    def __init__(self, name: str, **names: Any) -> None:
        self.__name__, self.__all__ = name, list(names)
        self.__dict__.update(names)


SYNC = list(places(_Module("membership_client", Consumer=Consumer)))  # type: ignore[arg-type]
AIO = list(places(aio))


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of the values are names of trace files."""
    monkeypatch.chdir(tmp_path)


def _arguments(place: Place) -> dict[str, Any]:
    waits = place.name in _WAITS or place.path == "membership_client.aio.GroupMember.commit"
    seconds = _SECONDS if place.name in _ASKS_BROKERS else frozenset()
    return {"leave_out": (_ENDLESS | seconds) if waits else frozenset()}


def _more(place: Place) -> dict[str, str]:
    """What an object must be configured with, so that the method takes good values."""
    return SASL if place.name == "set_sasl_credentials" else {}


def _context(call: Call) -> Call:
    """What is a context manager is entered and left."""

    def enter(*values: Any, **named: Any) -> Any:
        made = call(*values, **named)
        if isinstance(made, contextlib.AbstractContextManager) and not isinstance(made, Consumer):
            with made:
                return None
        return made

    return enter


def _new(*values: Any, **named: Any) -> Consumer:
    return Consumer(QUIET)


@pytest.mark.parametrize("place", SYNC, ids=str)
def test_bad_values(place: Place) -> None:
    """poll(nan) used to spin for ever, commit(message=5) to raise AttributeError."""
    attempt: Attempt = here if place.name == "stop_on_signals" else in_thread
    if place.name in _MAKES:
        complaints = list(feed(place, _made(place), TABLE, model=_model(place)))
    else:
        config = QUIET | _more(place)
        theirs = confluent_kafka.Consumer(config)
        with Consumer(config) as consumer:
            call, model = _context(getattr(consumer, place.name)), getattr(theirs, place.name, None)
            complaints = list(feed(place, call, TABLE, attempt=attempt, model=model, **_arguments(place)))
        theirs.close()
    assert not complaints, "\n".join(map(str, complaints))


def _model(place: Place) -> Call | None:
    """confluent-kafka's constructor. It is asked only about what ours lets through to it."""
    return (lambda config: confluent_kafka.Consumer(config).close()) if place.name == "Consumer" else None


def _made(place: Place) -> Call:
    def make(*values: Any, **named: Any) -> None:
        if place.name == "close":
            consumer = Consumer(QUIET)
            try:
                consumer.close(*values, **named)
            finally:
                consumer.close()
        else:
            Consumer(*values, **named).close()

    return make


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """One that runs on a thread of its own."""
    made = asyncio.new_event_loop()
    thread = threading.Thread(target=made.run_forever, daemon=True)
    thread.start()
    yield made
    made.call_soon_threadsafe(made.stop)
    thread.join()
    made.close()


@pytest.mark.parametrize("place", AIO, ids=str)
def test_bad_values_for_asyncio(place: Place, loop: asyncio.AbstractEventLoop) -> None:
    """The same of the classes for asyncio, which may be awaited."""

    def attempt(call: Call) -> Outcome:
        try:
            return asyncio.run_coroutine_threadsafe(_timed(call), loop).result(GUARD_S)
        except TimeoutError:
            return Outcome(Hung())

    made: Any = attempt(_maker(place)).value
    theirs = confluent_kafka.Consumer(QUIET | _more(place))
    call = _aio_call(place) if place.name in _MAKES else getattr(made, place.name)
    is_theirs = place.owner == "Consumer" and place.name != "close"
    model = getattr(theirs, place.name, None) if is_theirs else _model(place)
    complaints = list(feed(place, call, TABLE, attempt=attempt, model=model, **_arguments(place)))
    attempt(made.close)
    theirs.close()
    assert not complaints, "\n".join(map(str, complaints))


def _maker(place: Place) -> Call:
    kind, config = (aio.Consumer, QUIET) if "Consumer" in place.path else (aio.GroupMember, MINIMAL)
    return lambda: kind(config | _more(place))


def _aio_call(place: Place) -> Call:
    async def call(*values: Any, **named: Any) -> None:
        made = _maker(place)() if place.name == "close" else place.found(*values, **named)
        try:
            if place.name == "close":
                await made.close(*values, **named)
        finally:
            await made.close()

    return call


async def _timed(call: Call) -> Outcome:
    """On the loop's thread, which has nothing else to do."""
    watch = Stopwatch()
    try:
        return watch.outcome(await _awaited(call))
    except Exception as error:  # noqa: BLE001 - it is looked at
        return watch.outcome(error)


async def _awaited(call: Call) -> Any:
    made = call()
    if isinstance(made, contextlib.AbstractAsyncContextManager) and inspect.isasyncgen(getattr(made, "gen", None)):
        async with made:
            return None
    return await made if inspect.isawaitable(made) else made


KEYS = {name.replace("_", "."): kind for name, kind in CONFIG_KEYS.items()}
_FLAGS = frozenset({"True", "False", "0", "1"})
_MAY_BE_EMPTY = {
    "client.id",
    "client.rack",
    "group.instance.id",
    "group.remote.assignor",
    "partition.assignment.strategy",
}
OWN = {
    "enable.auto.commit": _FLAGS,
    "enable.auto.offset.store": _FLAGS,
    "auto.commit.interval.ms": frozenset({"0", "1", "0.0", "1.5", "digits"}),
    "auto.offset.reset": frozenset[str](),
    "on_commit": frozenset({"None", "function", "class"}),
}


def test_every_key_of_a_member_is_known() -> None:
    """A new key needs a row."""
    assert set(CONFIG_KEYS) == set(MemberConfig.__dataclass_fields__)


def _in_a_mapping(key: str) -> frozenset[str]:
    """What is taken there, too, because librdkafka takes it there."""
    if key in _MAY_BE_EMPTY:
        return frozenset({"None", "empty", "word", "digits", "many digits", "newline"})
    if key in {"enable.metrics.push", "telemetry.member.id.label"}:
        return _FLAGS
    return frozenset({"digits", "1.5", "0.0"}) if key.endswith((".ms", ".bytes", ".keep")) else frozenset({"digits"})


@pytest.mark.parametrize("key", [*KEYS, *OWN])
def test_bad_values_of_keys(key: str) -> None:
    """on_commit=5 used to be found by the first commit, in the middle of a poll()."""
    takes = KEYS[key].takes | _in_a_mapping(key) if key in KEYS else OWN[key]
    wrong = []
    for name, value in BAD.items():
        try:
            Consumer({**QUIET, key: value}).close()
        except confluent_kafka.KafkaException:
            continue
        except Exception as error:  # noqa: BLE001 - it is looked at
            wrong.append(f"{key}=<{name}>: raw {error!r}"[:150])
        else:
            wrong += [f"{key}=<{name}>: silence"] if not is_in(takes, name) else []
    assert not wrong, "\n".join(wrong)
