"""Trace files that no member wrote, each named by what is wrong with it."""

from __future__ import annotations

import copy
import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.diagnose.traces import Recorded

Lines = list[dict[str, Any]]
Make = Callable[[Lines], bytes]

ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m\x7f\u202e\u2028"
"""Clears the screen, sets the title of the window, colours by a C1 byte, deletes, and writes from right to left."""

_TICK = {"is": "Tick"}


def a_trace() -> Lines:
    """A short valid run: a join, heartbeats, a warning."""
    member = Recorded.named("m1").owning(0, 1).stays_stable(12.0)
    member.note("warning", budget="POLL", call=None, spent=1.0, limit=2.0, thread="t", stack=["a.py:1 in f"])
    member.stays_stable(3.0)
    return [json.loads(line) for line in member.kept.lines]


def write_all(folder: Path, wrong: Mapping[str, Make]) -> dict[str, Path]:
    """The paths of the files, by what is wrong with them."""
    found = {}
    for number, (name, make) in enumerate(wrong.items()):
        found[name] = folder / f"{number:03}.jsonl"
        found[name].write_bytes(make(copy.deepcopy(_WHOLE)))
    return found


def text_of(lines: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def ran(folder: Path) -> list[dict[str, Any]]:
    """The result of each command for each file, in a process with limited memory."""
    command = [sys.executable, "-m", "tests.trace.run_commands", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def flaws(case: Mapping[str, Any]) -> list[str]:
    """What is wrong with how a command handled a hostile file; empty if it gave a result or one sentence."""
    both = case["out"] + case["err"]
    unprinted = {letter for letter in both if letter != "\n" and not letter.isprintable()}
    sentence = case["err"].startswith(case["path"]) and case["err"].count("\n") == 1 and len(case["err"]) < 1000
    wrong = {
        f"a traceback: {case['raised']}": case["raised"] is not None,
        f"the exit code {case['code']}": case["code"] not in {0, 1, 2},
        f"letters that steer terminals: {unprinted}": bool(unprinted),
        f"no sentence: {case['err']!r}": case["code"] == 2 and not (sentence and ", line " in case["err"]),
        f"words beside a result: {case['err']!r}": case["code"] != 2 and case["err"] != "",
        "no result": case["code"] != 2 and not case["out"],
    }
    return [what for what, is_so in wrong.items() if is_so]


def refuse_constant(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


# --- ways to spoil it ------------------------------------------------------------------------------------------------


def header(**wrong: Any) -> Make:
    return lambda lines: text_of([lines[0] | wrong, *lines[1:]])


def header_without(key: str) -> Make:
    return lambda lines: text_of([{k: v for k, v in lines[0].items() if k != key}, *lines[1:]])


def start(**wrong: Any) -> Make:
    return lambda lines: text_of([lines[0] | {"start": lines[0]["start"] | wrong}, *lines[1:]])


def last_step(**wrong: Any) -> Make:
    return lambda lines: text_of([*lines[:-1], lines[-1] | wrong])


def more(*entries: dict[str, Any]) -> Make:
    """Steps after the last one, each with the keys that a step must have."""
    least = {"state": "STABLE", "epoch": 1, "event": _TICK}
    return lambda lines: text_of([*lines, *({"at": lines[-1]["at"] + 1.0} | least | entry for entry in entries)])


def note(**facts: Any) -> Make:
    return lambda lines: text_of([*lines, {"at": lines[-1]["at"], "note": "warning", **facts}])


def raw(text: str | bytes) -> Make:
    """A line of these bytes after the others."""
    line = text.encode() if isinstance(text, str) else text
    return lambda lines: text_of(lines) + line + b"\n"


def replaced(old: str, new: str) -> Make:
    def make(lines: Lines) -> bytes:
        text = text_of(lines).decode()
        assert old in text, old
        return text.replace(old, new).encode()

    return make


def answered(**response: Any) -> Make:
    return more({"event": {"is": "Answered", "request_id": 99, "response": {"is": "HeartbeatAccepted", **response}}})


def nested(depth: int) -> str:
    return '{"at":1.0,"note":"warning","stack":' + "[" * depth + "]" * depth + "}"


def callback(number: int) -> dict[str, Any]:
    run = {"is": "RunCallback", "call_id": number, "kind": "ASSIGNED", "partitions": ["orders-0"], "epoch": 1}
    run |= {"cause": {"is": "Cause", "kind": "JOINED", "detail": "x"}, "deadline": None, "provisional": False}
    return {"effects": [run]}


def fence(number: int) -> dict[str, Any]:
    return {"state": "FENCED" if number % 2 else "STABLE", "owned": {"orders": "" if number % 2 else "0"}, "cause": "x"}


def runs(count: int) -> Make:
    return lambda lines: b"".join(text_of([lines[0] | {"pid": pid}, *lines[1:3]]) for pid in range(count))


_WHOLE = a_trace()
_TOPIC = "6f726465-7273-0000-0000-000000000000"

HOSTILE: dict[str, Make] = {
    # Bytes and text.
    "bytes that are no UTF-8": raw(b'{"at":1.0,"note":"\xff\xfe\x80"}'),
    "UTF-16": lambda lines: text_of(lines).decode().encode("utf-16"),
    "a byte order mark": lambda lines: b"\xef\xbb\xbf" + text_of(lines),
    "NUL bytes": raw(b"\0" * 1000),
    "compressed": lambda lines: gzip.compress(text_of(lines)),
    "a line that is a list": raw("[1]"),
    "a line that is a number": raw("17"),
    "an empty line": raw(""),
    "steps before the header": lambda lines: text_of(lines[1:]),
    "a log of escape sequences": lambda _: (ESCAPES + "\n").encode() * 3,
    # Depth.
    "a note nested 60 deep": raw(nested(60)),
    "a note nested 900 deep": raw(nested(900)),
    "a note nested 100,000 deep": raw(nested(100_000)),
    "a header nested 300 deep": replaced('"client":', '"x":' + "[" * 300 + "]" * 300 + ',"client":'),
    "a start nested 200 deep": replaced('"start": {', '"start": {"target":' + '{"a":' * 200 + "1" + "}" * 200 + ","),
    # Numbers.
    "NaN as the time of day": header(wall=float("nan")),
    "Infinity as a time": last_step(at=float("inf")),
    "NaN as a time": last_step(at=float("nan")),
    "1e999 as a time": raw('{"at":1e999,"note":"x"}'),
    "NaN in a note": note(spent=float("nan"), limit=float("-inf")),
    "a whole number of 5,000 digits": raw('{"at":' + "9" * 5000 + ',"note":"x"}'),
    "a process number of 4,000 digits": header(pid=10**3999),
    "a process number that is true": header(pid=True),
    "an epoch of 2**70": last_step(epoch=2**70),
    "an epoch that is a fraction": last_step(epoch=1.5),
    "an interval of 1e300 s": answered(epoch=1, interval_s=1e300),
    "an interval that is the text nan": answered(epoch=1, interval_s="nan"),
    "an interval that is the text inf": answered(epoch=1, interval_s="inf"),
    "an interval of 2**80": answered(epoch=1, interval_s=2**80),
    "processor time of 1e308": last_step(cpu=1e308),
    "lateness that is a text": last_step(late="x"),
    "a callback that began in the year 5000": more(
        callback(7), {"event": {"is": "CallbackReturned", "call_id": 7, "began_at": 1e11}}
    ),
    "a callback that began before the flood": more(
        callback(7), {"event": {"is": "CallbackReturned", "call_id": 7, "began_at": -9e10}}
    ),
    # Times.
    "a time of day of 1e12": header(wall=1e12),
    "a time of day of -9e10": header(wall=-9e10),
    "a header at -9e10 and steps at 9e10": lambda lines: text_of(
        [lines[0] | {"at": -9e10, "wall": 9e10}, *(line | {"at": 9e10} for line in lines[1:])]
    ),
    "a step three thousand years later": last_step(at=9e10),
    "jumps of the clock that add up": more(*({"jumped": 9e10} for _ in range(20))),
    "a jump of the clock back to before year 1": more({"jumped": -9e10}),
    "a jump of the clock that is null": last_step(jumped=None),
    "a jump of the clock that is a text": last_step(jumped="1"),
    "times that go back": lambda lines: text_of([lines[0], *reversed(lines[1:])]),
    "a time that is true": last_step(at=True),
    "a step without a time": raw('{"note":"x"}'),
    # Partitions.
    "partitions 0-999999999": last_step(owned={"orders": "0-999999999"}),
    "partitions 0-999999999 at the start": start(owned={_TOPIC: "0-999999999"}),
    "partitions 0-999999999 in an answer": answered(epoch=1, interval_s=5.0, assignment={_TOPIC: "0-999999999"}),
    "partitions 0-199999 on each of 500 lines": more(*({"owned": {"orders": "0-199999"}} for _ in range(500))),
    "partitions 0-99999 of 500 topics": last_step(owned={f"t{number}": "0-99999" for number in range(500)}),
    "partition 2147483648": last_step(owned={"orders": "2147483648"}),
    "partition -5": last_step(owned={"orders": "-5"}),
    "partitions 9-1": last_step(owned={"orders": "9-1"}),
    "partitions 1-2-3": last_step(owned={"orders": "1-2-3"}),
    "partitions x": last_step(owned={"orders": "x"}),
    "partitions in Arabic digits": last_step(owned={"orders": "٣"}),
    "partitions that are a list": last_step(owned=["orders"]),
    "partitions that are numbers": last_step(owned={"orders": 3}),
    "a callback for partition orders-99999999999999": replaced('"orders-0"', '"orders-99999999999999"'),
    # Names.
    **{f"escape sequences in {key}": header(**{key: ESCAPES}) for key in ("group", "member", "instance", "host")},
    **{f"escape sequences in {key}": header(**{key: ESCAPES}) for key in ("pod", "spark", "client")},
    "escape sequences in client and a bad start": header(client=ESCAPES, start=[ESCAPES]),
    "escape sequences as the version": header(trace=ESCAPES),
    "escape sequences in a state": last_step(state=ESCAPES),
    "escape sequences in the name of an event": last_step(event={"is": ESCAPES}),
    "escape sequences in the name of a field": last_step(event={"is": "Tick", ESCAPES: ESCAPES}),
    "escape sequences in a cause": more({"cause": ESCAPES, "state": "FENCED", "owned": {ESCAPES: "0"}}),
    "escape sequences in a note": note(stack=[ESCAPES], thread=ESCAPES, **{ESCAPES: ESCAPES}),
    "escape sequences in what a replay finds different": last_step(effects=[{"is": ESCAPES}]),
    "escape sequences in a difference of state": replaced('"state": "STABLE"', '"state": "FATAL"'),
    "lone surrogates in group": header(group="\ud800", instance="\udfff"),
    "lone surrogates in a topic": more({"owned": {"\udc80": "0"}, "cause": "\ud9ff"}),
    "lone surrogates in a note": note(thread="\udc80", stack=["\udcff"]),
    "lone surrogates in client and a bad start": header(client="\ud800", start="\ud800"),
    "a group whose name is a megabyte": header(group="g" * (1 << 20)),
    "a field whose name is a megabyte": last_step(event={"is": "Tick", "x" * (1 << 20): 1}),
    # Shapes.
    "a version that is true": header(trace=True),
    "a version that is a list": header(trace=[1]),
    "a group that is a list": header(group=["g"]),
    "an instance id that is a number": header(instance=3),
    **{f"no {key} in the header": header_without(key) for key in ("group", "member", "instance", "host", "pid")},
    **{f"no {key} in the header": header_without(key) for key in ("wall", "at", "start")},
    "a start that is a text": header(start="x"),
    "a start without a configuration": header(start={"is": "Member", "member_id": "m1"}),
    "a start with a heartbeat interval of 0": replaced(
        '"is": "MemberConfig"', '"is": "MemberConfig", "heartbeat_interval_ms": 0'
    ),
    "a start with topics that are a text": start(subscription={"is": "Subscribe", "topics": "orders"}),
    "an event that is a text": last_step(event="Tick"),
    "an event that is null": last_step(event=None),
    "an event that is an effect": last_step(event={"is": "Stop"}),
    "an event whose class is a list": last_step(event={"is": ["Tick"]}),
    "effects that are an object": last_step(effects={"is": "Stop"}),
    "effects that are a number": last_step(effects=3),
    "an effect that is null": last_step(effects=[None]),
    "a problem that is a list": last_step(problem=[1]),
    "a state that is a list": last_step(state=["STABLE"]),
    "a note that is an object": raw('{"at":1.0,"note":{"x":1}}'),
    "a cause that is an object": last_step(cause={"x": [1]}),
    "a callback of a kind that is a number": replaced('"kind": "ASSIGNED"', '"kind": 3'),
    "a header after each step": lambda lines: text_of(part for line in lines[1:] for part in (lines[0], line)),
}

LARGE: dict[str, Make] = {
    "a line of 17 MiB": raw('{"at":1.0,"note":"' + "x" * (17 << 20) + '"}'),
    "17 MiB without an end of line": lambda lines: b'{"at":' * (3 << 20),
    "a million empty lists in a note": raw('{"at":1.0,"note":"x","y":[' + ",".join(["[]"] * 1_000_000) + "]}"),
    "a hundred thousand ranges of partitions": last_step(owned={"orders": ",".join(["0-9999"] * 100_000)}),
    "20,000 partitions of one member": last_step(owned={"orders": "0-19999"}),
    "3,000 callbacks that never return": more(*map(callback, range(3000))),
    "3,000 fences": more(*map(fence, range(3000))),
    "1,000 runs": runs(1000),
}
