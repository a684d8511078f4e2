"""`python -m mutants [ROOM …]`: try mutants, and print which ones no test noticed. Ends with 1 where those are many."""

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

from mutants.mutant import ROOT, Mutant
from mutants.named import named
from mutants.run import Outcome, copied, run_tests, try_out, warm
from mutants.sample import NUMBER, sampled
from mutants.suites import suite_of_room

OUT = ROOT / "mutants" / "out"
SURVIVORS = OUT / "survivors.json"
LEAST_KILLED = 0.95


def main() -> int:
    asked = _arguments()
    OUT.mkdir(exist_ok=True)
    tried = _chosen(asked)
    if asked.list:
        print("\n\n".join(map(str, tried)))
        return 0
    outcomes: list[tuple[Mutant, Outcome]] = []
    in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where a sync, of which tests do many, is free
    with tempfile.TemporaryDirectory(prefix="mutants-", dir=in_memory) as folder:
        for mutant, outcome in _outcomes(tried, asked.jobs, Path(folder)):
            outcomes.append((mutant, outcome))
            verdict = f"killed by {outcome.by}" if outcome.killed else f"SURVIVED\n{mutant.diff}"
            print(f"{len(outcomes)}/{len(tried)} {mutant.file}:{mutant.line} ({mutant.kind}): {verdict}", flush=True)
    survivors = [mutant for mutant, outcome in outcomes if not outcome.killed]
    SURVIVORS.write_text(json.dumps([[mutant.path, mutant.diff] for mutant in survivors], indent=1))
    _report(tried, survivors)
    unnoticed = [mutant for mutant in survivors if mutant in named()]
    return int(bool(unnoticed) or len(survivors) > (1 - LEAST_KILLED) * len(tried))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help="all of them where none is named")
    parser.add_argument("--seed", type=int, default=1, help="another sample of mutants")
    parser.add_argument("--times", type=int, default=1, help="so many times as many mutants")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    parser.add_argument("--again", action="store_true", help="only those that survived the last time")
    parser.add_argument("--list", action="store_true", help="only show them")
    return parser.parse_args()


def _chosen(asked: argparse.Namespace) -> list[Mutant]:
    """The mutants to try: those with a name, and a sample."""
    rooms = asked.rooms or list(NUMBER)
    chosen = [mutant for mutant in named() if mutant.room in rooms]
    for room in rooms:
        chosen += sampled(room, asked.seed, asked.times * NUMBER[room])
    if asked.again:
        survivors = json.loads(SURVIVORS.read_text())
        chosen = [mutant for mutant in chosen if [mutant.path, mutant.diff] in survivors]
    return chosen


def _outcomes(tried: list[Mutant], jobs: int, folder: Path) -> Iterator[tuple[Mutant, Outcome]]:
    """What became of each mutant. First the tests are run over the code as it is: they have to pass, or they would
    kill everything; and what they take is known from then on."""
    clean = copied(ROOT, folder / "clean")
    with ProcessPoolExecutor(jobs, get_context("fork"), warm) as pool:
        seconds: dict[str, float] = {}
        for outcome in pool.map(_unchanged, repeat(clean), sorted({mutant.room for mutant in tried})):
            seconds |= outcome.seconds
        for done in as_completed([pool.submit(_try, mutant, clean, seconds) for mutant in tried]):
            yield done.result()


def _unchanged(clean: Path, room: str) -> Outcome:
    """A room's tests over a copy without a mutant."""
    outcome = run_tests(clean, suite_of_room(room), longest=3600, keeping_bytecode=True)
    if outcome.killed:
        raise RuntimeError(f"{outcome.by} fails without any mutant")
    return outcome


def _try(mutant: Mutant, clean: Path, seconds: dict[str, float]) -> tuple[Mutant, Outcome]:
    """One mutant, in this process's own copy."""
    own = clean.parent / str(os.getpid())
    if not own.exists():
        copied(clean, own)
    return mutant, try_out(mutant, own, seconds)


def _report(tried: list[Mutant], survivors: list[Mutant]) -> None:
    print("\nSurvivors:" if survivors else "\nNo survivors.")
    for mutant in survivors:
        print(f"\n{mutant}")
    print(f"\n{'room':10}{'mutants':>8}{'killed':>8}{'survived':>10}")
    all_of, left = Counter(mutant.room for mutant in tried), Counter(mutant.room for mutant in survivors)
    for room, number in all_of.items():
        print(f"{room:10}{number:8}{number - left[room]:8}{left[room]:10}")
    killed = len(tried) - len(survivors)
    print(f"{'all':10}{len(tried):8}{killed:8}{len(survivors):10}   {killed / max(len(tried), 1):.1%} killed")


if __name__ == "__main__":
    sys.exit(main())
