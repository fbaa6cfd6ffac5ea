"""Mutation testing: `python -m tests.mutations`. Which one-line bugs, picked by a program, do the quick tests notice?

Exits with 1 if a package is below its goal, or if an entry of equivalents.py fits no mutant any more.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.mutations.equivalents import EQUIVALENTS
from tests.mutations.judges import Means
from tests.mutations.mutants import Mutant, mutants_of
from tests.mutations.packages import PACKAGES, SOURCES, packages_of, path_of
from tests.mutations.tally import Tally, say, shown
from tests.mutations.verdicts import SURVIVED, import_libraries, judge_functions, judge_module


def main(arguments: Sequence[str]) -> int:
    """Prints all it has to say."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("only", nargs="*", help="files or packages, such as core/joining.py or net; all without it")
    parser.add_argument("--share", type=float, default=1.0, help="judge this share of the mutants, picked at random")
    parser.add_argument("--seed", type=int, default=1, help="of that choice")
    parser.add_argument("--tests", nargs="+", help="that judge, instead of those of packages.py")
    parser.add_argument(
        "--seeds", type=int, default=300, help="of the simulation, that judge the core as well (%(default)s)"
    )
    parser.add_argument("--budget", type=float, default=10.0, help="seconds of tests for one mutant (%(default)s)")
    parser.add_argument(
        "--patience", type=float, default=30.0, help="seconds that a test may wait in vain (%(default)s)"
    )
    parser.add_argument("--survivors", type=Path, help="write each survivor to this file as soon as it is found")
    parser.add_argument("--again", type=Path, help="judge only the survivors in this file, of an earlier run")
    options = parser.parse_args(arguments)
    files = _files(options.only or [package.name for package in PACKAGES])
    means = _means(files, options)
    found = [mutant for file in files for mutant in mutants_of(file)]
    if options.again:
        earlier = _without_lines(options.again.read_text())
        found = [mutant for mutant in found if _without_lines(shown(mutant)) <= earlier]
    chosen = random.Random(options.seed).sample(found, round(len(found) * options.share))
    if options.survivors:
        options.survivors.write_text("")
    tally = judge(sorted(chosen, key=lambda mutant: (mutant.file, mutant.line)), means, options.survivors)
    say(*(shown(verdict.mutant) for verdict in tally.verdicts if verdict.outcome == SURVIVED), *tally.table())
    stale = (
        [one for one in EQUIVALENTS if not any(one.matches(mutant) for mutant in found)]
        if not options.only and not options.again
        else []
    )
    say(*(f"fits no mutant any more: {one}" for one in stale))
    say(f"{len(chosen)} of {len(found)} mutants in {tally.took_s() / 60:.0f} minutes, seed {options.seed}")
    return 1 if stale or tally.missed() else 0


def _files(names: Sequence[str]) -> list[Path]:
    paths = [path_of(name) for name in names]
    return [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))]


def _means(files: Sequence[Path], options: argparse.Namespace) -> Means:
    packages = packages_of(files)
    tests = options.tests or dict.fromkeys(test for package in packages for test in package.tests)
    if not tests:
        sys.exit("These files are in no package of packages.py: name the tests that judge them, by --tests.")
    seeds = options.seeds if any(package.is_simulated for package in packages) else 0
    return Means(tuple(tests), seeds, options.budget, options.patience)


def _without_lines(survivors: str) -> set[str]:
    """Each of them, without the number of its line: tests are written and lines removed between two runs."""
    return {
        re.sub(r":\d+ ", " ", one, count=1).rstrip()
        for one in re.split(rf"^(?={'|'.join(f'{source}/' for source in SOURCES)})", survivors, flags=re.MULTILINE)
        if one
    }


def judge(mutants: Sequence[Mutant], means: Means, survivors: Path | None = None) -> Tally:
    """First those of functions, then those of what runs at import."""
    real = [mutant for mutant in mutants if not any(one.matches(mutant) for one in EQUIVALENTS)]
    tally = Tally(len(real), [mutant for mutant in mutants if mutant not in real], survivors)
    import_libraries(means)
    in_functions = [mutant for mutant in real if mutant.function]
    bench = judge_functions(in_functions, sorted({mutant.file for mutant in real}), means, tally.add)
    for mutant in real:
        if not mutant.function:
            tally.add(judge_module(mutant, bench))
    return tally


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
