"""Programs made by seeds. Only such calls are chosen whose outcome does not depend on who is faster."""

from __future__ import annotations

import random
from collections import Counter

from confluent_kafka import OFFSET_BEGINNING

from tests.differential.program import Place, Program, Step
from tests.differential.wrong_calls import WRONG_CALLS

_STEPS = range(7, 16)
_FAR_OFFSET = 10_000
"""An offset beyond all records, for which the reset policy decides."""


def program_of(seed: int, *, outage: bool = False) -> Program:
    """With an `outage` the broker stops once, and comes back."""
    return _Author(seed, outage=outage).write()


class _Author:
    def __init__(self, seed: int, *, outage: bool) -> None:
        self._random = random.Random(seed)
        self._seed = seed
        self._topics = tuple(self._random.choices((1, 1, 2, 3), k=2))
        self._threads = self._random.randint(1, 3)
        self._steps: list[Step] = []
        self._ends: Counter[tuple[int, int]] = Counter()
        """The number of records that were produced, by partition."""
        self._mode = "idle"
        self._held: list[Place] = []
        """Partitions that are assigned."""
        self._protocol = self._random.choice(("classic", "consumer"))
        self._strategy = self._random.choice(("range", "roundrobin", "cooperative-sticky"))
        self._was_subscribed = False
        self._subscribed_to: tuple[int, ...] = ()
        self._outage = outage
        self._shared = self._random.random() < 0.2 and not outage
        """True with a second consumer now and then. It is not known which of them reads what, so only safe calls are made."""
        self._auto_store = self._shared or self._random.random() < 0.65
        self._auto_commit = self._shared or self._random.random() < 0.5

    def write(self) -> Program:
        for number, partitions in enumerate(self._topics):
            for partition in range(partitions):
                self._produce(Place(number, partition), self._random.randint(0, 3))
        self._begin()
        steps = self._random.choice(_STEPS)
        stops_at = self._random.randrange(steps) if self._outage else None
        for number in range(steps):
            if number == stops_at:
                self._stop_broker()
            self._next()
        if self._shared:
            self._add("drain", "poll")
        self._add("close", thread=self._random.randrange(self._threads))
        if self._random.random() < 0.15:
            self._after_close()
        return Program(self._seed, self._config(), self._topics, tuple(self._steps), exact=not self._shared)

    def _config(self) -> tuple[tuple[str, object], ...]:
        config: dict[str, object] = {
            "group.protocol": self._protocol,
            "enable.auto.commit": self._auto_commit,
            "enable.auto.offset.store": self._auto_store,
        }
        if self._auto_commit:
            config["auto.commit.interval.ms"] = 3_600_000
        if self._outage:
            config["reconnect.backoff.max.ms"] = 500
        if self._protocol == "classic":
            config["partition.assignment.strategy"] = self._strategy
            # Longer than a broker takes to start on a busy machine: whether members are out after that is a matter of luck.
            config["session.timeout.ms"] = 60_000 if self._outage else 6000
            config["heartbeat.interval.ms"] = 200
        return tuple(config.items())

    def _at(self, place: Place, offset: int) -> Place:
        """Not beyond the end, where it depends on who is faster: the reset, or the next record that is produced."""
        return place._replace(offset=min(offset, self._ends[place.topic, place.partition]))

    def _add(self, call: str, *arguments: object, thread: int | None = None) -> None:
        by = self._random.randrange(self._threads) if thread is None else thread
        self._steps.append(Step(by, call, arguments))

    # --- what is read ------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if self._random.random() < 0.3:
            self._idle_call()
        if self._shared or self._random.random() < 0.6:
            self._subscribe()
        else:
            self._assign()

    def _subscribe(self) -> None:
        topics = tuple(sorted(self._random.sample((0, 1), self._random.randint(1, 2))))
        how = self._random.choice(("plain", "callbacks", "callbacks", "pattern"))
        topics = (0, 1) if how == "pattern" else topics
        cooperative = (self._protocol, self._strategy) == ("classic", "cooperative-sticky")
        if self._mode == "subscribed" and (topics == self._subscribed_to or cooperative):
            return  # See differences.py.
        self._subscribed_to = topics
        self._add("subscribe", topics, how)
        self._held = [Place(topic, partition) for topic in topics for partition in range(self._topics[topic])]
        self._add("settle", topics)
        self._mode = "subscribed"
        self._was_subscribed = True
        for place in self._held:
            self._produce(place, self._random.randint(2, 6))

    def _assign(self) -> None:
        everything = [Place(topic, number) for topic, count in enumerate(self._topics) for number in range(count)]
        self._held = sorted(self._random.sample(everything, self._random.randint(1, len(everything))))
        starts = (OFFSET_BEGINNING, 0, 1, None)
        chosen = [place if (at := self._random.choice(starts)) is None else self._at(place, at) for place in self._held]
        self._add(self._random.choice(("assign", "assign", "incremental_assign")), tuple(chosen))
        if any(place.offset < 0 for place in chosen):
            # Or else a commit may come before librdkafka has looked up where to start, or a later assignment: librdkafka
            # starts that one, too, where the late answer says (see start_offsets.py).
            self._drain()
        self._mode = "assigned"

    def _next(self) -> None:
        if self._mode == "idle":
            self._random.choice(
                (self._subscribe, self._idle_call) if self._must_subscribe() else (self._assign, self._subscribe)
            )()
            return
        if self._shared:
            self._random.choice((self._share, self._produce_some, self._drain, self._wrong_argument, self._subscribe))()
            return
        common = (
            self._read,
            self._read,
            self._drain,
            self._produce_some,
            self._commit,
            self._commit,
            self._look,
            self._look,
        )
        others = (self._seek, self._pause, self._resume, self._wrong_call, self._store, self._change)
        self._random.choice((*common, *others))()

    def _place(self) -> Place:
        return self._random.choice(self._held)

    def _some(self) -> tuple[Place, ...]:
        return tuple(sorted(self._random.sample(self._held, self._random.randint(1, len(self._held)))))

    def _produce_some(self) -> None:
        self._produce(self._place(), self._random.randint(1, 6))

    def _produce(self, place: Place, count: int) -> None:
        self._ends[place.topic, place.partition] += count
        self._add("produce", place, count)

    def _read(self) -> None:
        self._add("read", self._place(), self._random.randint(1, 4), self._random.choice(("poll", "consume")))

    def _drain(self) -> None:
        self._add("drain", self._random.choice(("poll", "consume")))

    # --- offsets -----------------------------------------------------------------------------------------------------

    def _commit(self) -> None:
        how = self._random.choice(("all", "message", "offsets"))
        if not self._auto_commit and self._random.random() < 0.5:
            how += " async"  # Only then reports of these can be told from those of automatic commits.
        if how.startswith("offsets"):
            metadata = self._random.choice((None, None, "note", "")) if not self._auto_commit else None
            places = tuple(self._at(p, self._random.randint(0, 3))._replace(metadata=metadata) for p in self._some())
            self._add("commit", how, places)
        else:
            self._add("commit", how, ())

    def _store(self) -> None:
        if self._random.random() < 0.5:
            self._add("store_offsets", "message", ())
        else:
            self._add("store_offsets", "offsets", tuple(self._at(p, self._random.randint(0, 5)) for p in self._some()))

    def _seek(self) -> None:
        offset = self._random.choice((OFFSET_BEGINNING, 0, 1, 2, _FAR_OFFSET))
        place = self._place()
        self._add("seek", place._replace(offset=offset) if offset == _FAR_OFFSET else self._at(place, offset))

    def _pause(self) -> None:
        self._add("pause", self._some())

    def _resume(self) -> None:
        self._add("resume", self._some())

    def _look(self) -> None:
        looks = ("position", "committed", "assignment", "memberid", "get_watermark_offsets", "offsets_for_times")
        look = self._random.choice((*looks, "position", "committed", "consumer_group_metadata", "list_topics"))
        if look in {"position", "committed", "offsets_for_times"}:
            self._add(look, tuple(p._replace(offset=0) if look == "offsets_for_times" else p for p in self._some()))
        elif look == "get_watermark_offsets":
            self._add(look, self._place())
        else:
            self._add(look)

    # --- changes -----------------------------------------------------------------------------------------------------

    def _change(self) -> None:
        if self._mode == "subscribed":
            self._random.choice((self._unsubscribe, self._subscribe))()
        else:
            self._random.choice((self._unassign, self._assign_again, self._give_one_back))()

    def _must_subscribe(self) -> bool:
        """After a subscription confluent-kafka's commits of an assignment of one's own are refused: UNKNOWN_MEMBER_ID."""
        return self._was_subscribed

    def _unsubscribe(self) -> None:
        self._add("unsubscribe")
        self._mode = "idle"

    def _unassign(self) -> None:
        if self._random.random() < 0.3:
            self._add("unsubscribe")
        self._add("unassign")
        self._mode = "idle"

    def _assign_again(self) -> None:
        self._add("unassign")
        self._assign()

    def _give_one_back(self) -> None:
        gone = self._place()
        self._add("incremental_unassign", (gone,))
        self._held.remove(gone)
        if not self._held:
            self._add("unassign")
            self._mode = "idle"

    def _share(self) -> None:
        """A second consumer comes, reads its share, and goes."""
        topics = tuple(sorted({place.topic for place in self._held}))
        self._add("second_joins", topics)
        if self._random.random() < 0.7:
            self._produce_some()
        self._add("drain", "poll")
        self._add("second_leaves", topics)

    # --- a broker that stops -----------------------------------------------------------------------------------------

    def _stop_broker(self) -> None:
        """Meanwhile only calls that need no broker, with nothing left to come: the others end when their time is up."""
        if self._mode == "idle":
            (self._subscribe if self._must_subscribe() else self._assign)()
        self._drain()
        self._add("broker_stops")
        for _ in range(self._random.randint(1, 4)):
            self._call_alone()
        self._add("broker_starts")
        for place in self._held:
            self._produce(place, self._random.randint(1, 3))
        self._drain()

    def _call_alone(self) -> None:
        call = self._random.choice(ALONE)
        self._add(call, *((self._some(),) if call in {"position", "pause"} else ()))

    # --- calls that are refused, or do nothing -----------------------------------------------------------------------

    def _idle_call(self) -> None:
        place = Place(0, 0)
        calls: tuple[tuple[str, tuple[object, ...]], ...] = (
            ("assignment", ()), ("memberid", ()), ("position", ((place,),)), ("committed", ((place,),)),
            ("unassign", ()), ("unsubscribe", ()), ("seek", (place._replace(offset=0),)), ("pause", ((place,),)),
            ("resume", ((place,),)), ("commit", ("all", ())), ("commit", ("offsets", (self._at(place, 1),))),
            ("store_offsets", ("offsets", (self._at(place, 1),))), ("poll_nothing", ()), ("consumer_group_metadata", ()),
            ("incremental_unassign", ((place,),)), ("wrong", (self._random.choice(WRONG),)),
        )  # fmt: skip
        call, arguments = self._random.choice(calls)
        self._add(call, *arguments)

    def _wrong_argument(self) -> None:
        self._add("wrong", self._random.choice(WRONG))

    def _wrong_call(self) -> None:
        unknown = Place(1, 7)
        calls: tuple[tuple[str, tuple[object, ...]], ...] = (
            ("seek", (unknown._replace(offset=0),)), ("pause", ((unknown,),)), ("resume", ((unknown,),)),
            ("position", ((unknown,),)), ("incremental_unassign", ((unknown,),)),
            ("store_offsets", ("offsets", (unknown._replace(offset=1),))),
        )  # fmt: skip
        if self._random.random() < 0.6:
            self._wrong_argument()
        else:
            call, arguments = self._random.choice(calls)
            self._add(call, *arguments)

    def _after_close(self) -> None:
        place = Place(0, 0)
        for call in self._random.sample(AFTER_CLOSE, 4):
            arguments: dict[str, tuple[object, ...]] = {
                "subscribe": ((0,), "plain"), "assign": ((place,),), "incremental_assign": ((place,),),
                "incremental_unassign": ((place,),), "commit": ("all", ()), "seek": (place._replace(offset=0),),
                "store_offsets": ("offsets", (place._replace(offset=1),)), "get_watermark_offsets": (place,),
                "position": ((place,),), "committed": ((place,),), "pause": ((place,),), "resume": ((place,),),
                "offsets_for_times": ((place._replace(offset=0),),),
            }  # fmt: skip
            self._add(call, *arguments.get(call, ()))


WRONG = tuple(name for name in WRONG_CALLS if name not in {"poll text", "consume timeout text", "subscribe items"})
"""Without those in which a record may come instead of an exception, and those that are accepted."""

ALONE = (
    "assignment", "memberid", "consumer_group_metadata", "poll_nothing", "consume_nothing", "position", "pause",
)  # fmt: skip
"""Without a broker."""

AFTER_CLOSE = (
    "subscribe", "unsubscribe", "poll_nothing", "assign", "unassign", "incremental_assign", "incremental_unassign", "assignment",
    "commit", "seek", "store_offsets", "get_watermark_offsets", "position", "committed", "pause", "resume", "memberid",
    "offsets_for_times", "close", "consume_nothing", "list_topics", "consumer_group_metadata",
)  # fmt: skip
