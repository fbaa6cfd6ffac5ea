"""Judges mutants: each in a forked process that has everything imported, by the tests that run its line, the fastest first."""

from __future__ import annotations

import functools
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import signal
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tests.mutations.children import Tell, in_child
from tests.mutations.judges import Judge, Judges, Means, Record, watched
from tests.mutations.mutants import Mutant
from tests.mutations.packages import module_of

CAUGHT, TIMED_OUT, SURVIVED, NOT_FOUND = "caught", "timed out", "survived", "not found"
LEAST_SOUND = 0.95
"""If fewer of the tests pass without a mutant, something is wrong with how they are run, and all mutants would seem caught."""
_ENDLESS = 3600.0
START_S = 60.0
"""How long importing and collecting may take."""
WATCH_S = 600.0
"""How long one test may take while it is watched, which makes it many times slower, on a busy machine."""
SHORTEST_CPU_S = 0.5
"""A test that computes longer than this and ten times what it took before is ended."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant, and by which test."""

    mutant: Mutant
    outcome: str
    by: str = ""


@dataclass
class Bench:
    """What is known of the tests, and how mutants are given to them."""

    records: dict[str, Record]
    means: Means
    tests_of: dict[tuple[str, int], list[str]] = field(default_factory=lambda: defaultdict(list))
    tests_in: dict[Path, list[str]] = field(default_factory=lambda: defaultdict(list))
    kills: Counter[tuple[Path, str, str]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        for record in sorted(self.records.values(), key=lambda record: record.cpu_s):
            for line in record.lines:
                self.tests_of[line].append(record.name)
            files = {Path(file) for file, _ in record.lines}
            for place in files | {file.parent for file in files}:
                self.tests_in[place].append(record.name)

    def tests(self, mutant: Mutant) -> list[str]:
        """Those that run its line, or, at import, anything of its file; first those that caught others of the function.

        Of a file that only declares things no line is run after its import: then those that run anything of its package.
        """
        declared = self.tests_in[mutant.file] or self.tests_in[mutant.file.parent]
        names = self._at_line(mutant) if mutant.function else declared
        used = accumulate(self.records[name].cpu_s for name in names)
        affordable = [name for name, sum_s in zip(names, used, strict=True) if sum_s <= self.means.budget_s]
        return sorted(affordable, key=lambda name: -self.kills[mutant.file, mutant.function, name])

    def _at_line(self, mutant: Mutant) -> list[str]:
        """Those of all its lines.

        A line may have no event, such as a constant in a longer call: then those of the line before, and after them all
        tests of the file, since what runs only in a forked child is not seen.
        """
        file = str(mutant.file)
        own = {
            name for line in range(mutant.line, mutant.last_line + 1) for name in self.tests_of.get((file, line), ())
        }
        if own:
            return sorted(own, key=lambda name: self.records[name].cpu_s)
        lines = range(mutant.line, max(mutant.line - 15, 0), -1)
        near = next((tests for line in lines if (tests := self.tests_of.get((file, line)))), [])
        return [*near, *(name for name in self.tests_in[mutant.file] if name not in near)]

    def judge(self, mutant: Mutant, work: Callable[[Tell], object]) -> Verdict:
        """`work` tells each test that it begins, and CAUGHT when one fails."""
        told, ended = in_child(work, self._patience_s)
        if told == [NOT_FOUND]:
            raise RuntimeError(f"{mutant.file} was changed meanwhile: {mutant.function} is not where it was")
        if ended and (not told or told[-1] != CAUGHT):
            return Verdict(mutant, SURVIVED)
        by = next((name for name in reversed(told) if name != CAUGHT), "import")
        self.kills[mutant.file, mutant.function, by] += 1
        return Verdict(mutant, CAUGHT if ended else TIMED_OUT, by)

    def _patience_s(self, told: str | None) -> float:
        if told not in self.records:
            return START_S
        return self.means.patience_s + 10 * self.records[told].took_s


def _run(names: Iterable[str], judges: dict[str, Judge], bench: Bench, tell: Tell) -> None:
    for name in names:
        tell(name)
        # Its signal ends the process: a loop without an end is noticed soon, however busy the machine is.
        signal.setitimer(signal.ITIMER_PROF, SHORTEST_CPU_S + 10 * bench.records[name].cpu_s)
        if name in judges and not judges[name]():
            tell(CAUGHT)
            return


# --- mutants of functions: their code is exchanged --------------------------------------------------------------------


def judge_functions(
    mutants: Sequence[Mutant], files: Sequence[Path], means: Means, hear: Callable[[Verdict], object]
) -> Bench:
    """All happens in processes of its own: here nothing of the project is imported."""
    benches: list[Bench] = []

    def heard(news: Any) -> None:
        match news:
            case str():
                raise RuntimeError(f"the process that judges failed:\n{news}")
            case dict():
                benches.append(Bench(news, means))
            case (place, outcome, by):
                hear(Verdict(mutants[place], outcome, by))

    told, ended = in_child(
        lambda tell: Judges(means, lambda judges: _judge_or_tell(mutants, files, means, judges, tell)).collect(),
        lambda _: _ENDLESS,
        heard,
    )
    if not benches:
        tests = " ".join(means.tests)
        raise RuntimeError(f"too many tests fail without a mutant, or pytest --collect-only {tests} fails")
    if not ended or len(told) <= len(mutants):
        raise RuntimeError(f"only {len(told) - 1} of {len(mutants)} mutants were judged: the process that judges ended")
    return benches[0]


def _judge_or_tell(
    mutants: Sequence[Mutant], files: Sequence[Path], means: Means, judges: dict[str, Judge], tell: Tell
) -> None:
    """Tells what was raised: pytest would only print it, and nothing of that is seen."""
    try:
        _judge_all(mutants, files, means, judges, tell)
    except Exception:  # noqa: BLE001 - raised again by the process that listens
        tell(traceback.format_exc())


def _judge_all(
    mutants: Sequence[Mutant], files: Sequence[Path], means: Means, judges: dict[str, Judge], tell: Tell
) -> None:
    # Some files, such as net/tls.py, are imported only where they are needed, and their functions would not be found.
    for file in files:
        importlib.import_module(module_of(file))
    bench = Bench(_watch(judges, files), means)
    if len(bench.records) < LEAST_SOUND * len(judges):
        return
    tell(bench.records)
    functions = _functions({str(file.resolve()): file for file in files})
    gc.freeze()  # What is collected in a child is copied for it.
    for place, mutant in enumerate(mutants):
        verdict = bench.judge(mutant, functools.partial(_judge_function, mutant, functions, bench, judges))
        tell((place, verdict.outcome, verdict.by))


def _watch(judges: dict[str, Judge], files: Sequence[Path]) -> dict[str, Record]:
    """Of the tests that pass twice: while they are watched, and as they will be run with mutants, which tells what they take."""
    caches = _caches({str(file.resolve()) for file in files})

    def work(tell: Tell) -> None:
        for name, judge in judges.items():
            for cache in caches:  # Or only the first test that needs such a function would be seen to run it.
                cache.cache_clear()
            tell(watched(name, judge, files))

    def control(tell: Tell) -> None:
        for name, judge in judges.items():
            began, cpu = time.monotonic(), time.process_time()
            passed = judge()
            tell((name, passed, time.process_time() - cpu, time.monotonic() - began))

    told, _ = in_child(work, lambda _: WATCH_S)
    again, _ = in_child(control, lambda _: WATCH_S)
    took = {name: {"cpu_s": cpu_s, "took_s": took_s} for name, passed, cpu_s, took_s in again if passed}
    return {
        record.name: replace(record, **took[record.name]) for record in told if record.passed and record.name in took
    }


def _caches(files: set[str]) -> list[Any]:
    """What `functools.cache` made of functions of these files."""
    wrappers = (one for one in gc.get_objects() if isinstance(one, functools._lru_cache_wrapper))
    return [one for one in wrappers if getattr(one.__wrapped__, "__code__", _caches.__code__).co_filename in files]


_Functions = dict[tuple[Path, str, int], list[FunctionType]]


def _functions(files: dict[str, Path]) -> _Functions:
    found: _Functions = defaultdict(list)
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and (file := files.get(one.__code__.co_filename)):
            found[file, one.__code__.co_qualname, one.__code__.co_firstlineno].append(one)
    return found


def _judge_function(mutant: Mutant, functions: _Functions, bench: Bench, judges: dict[str, Judge], tell: Tell) -> None:
    found = [
        (function, code)
        for code in _codes(mutant.compiled())
        for function in functions.get((mutant.file, code.co_qualname, code.co_firstlineno), ())
        if len(function.__code__.co_freevars) == len(code.co_freevars)
    ]
    if not any(code.co_qualname == mutant.function for _, code in found):
        tell(NOT_FOUND)
        return
    for function, code in found:
        function.__code__ = code
    _run(bench.tests(mutant), judges, bench, tell)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


# --- mutants of what runs at import: the module is imported with them --------------------------------------------------


def judge_module(mutant: Mutant, bench: Bench) -> Verdict:
    """To be called in a process that has imported nothing of the project; see `import_libraries`."""
    names = bench.tests(mutant)

    def work(tell: Tell) -> None:
        def use(judges: dict[str, Judge]) -> None:
            tell("collected")
            _run(names, judges, bench, tell)

        sys.meta_path.insert(0, _Spoiled(mutant))
        tell(CAUGHT)  # Until it has been imported and the tests have been collected.
        Judges(bench.means, use).collect(_paths(names))

    return bench.judge(mutant, work)


def _paths(names: Iterable[str]) -> list[str]:
    return sorted({name.partition("::")[0] for name in names if "::" in name})


class _Spoiled(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant
        self._name = module_of(mutant.file)

    def find_spec(self, fullname: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._mutant.file.resolve(), loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(self._mutant.compiled(), module.__dict__)


def import_libraries(means: Means) -> None:
    """Import what the tests import beside the project, so that each process that is forked has it."""

    def work(tell: Tell) -> None:
        Judges(means, lambda _: tell(list(sys.modules))).collect()

    told, _ = in_child(work, lambda _: START_S)
    for name in told[0] if told else ():
        if name.partition(".")[0] not in {
            "membership_client",
            "membership_client_spark",
            "tests",
            "conftest",
            "__main__",
        }:
            with suppress(Exception):
                importlib.import_module(name)
