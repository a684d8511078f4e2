"""What runs at the gate, line by line: run by test_paths.py in a process in which nothing is compiled.

`python -m tests.trust.paths` measures every kind of query over tables that could hardly differ more, each time with the
same random bits, and writes down each line of Discreet's own code (and of NumPy's) that ran, and for each call the kind
and size of every value that came in, and that was in sight when it returned. It prints as JSON how many steps each
measurement took, and the first step, if any, at which one of the tables went another way.
"""

import inspect
import json
import math
import secrets
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np

from discreet.domain.attribute import Integer
from discreet.domain.read import parse_domain
from discreet.ledger.budget import Budget, PureBudget, QueryBudget
from discreet.ledger.ledger import Ledger
from discreet.ledger.squared_budget import ConcentratedBudget
from discreet.noise.bits import SeededBits
from discreet.noise.law import Binomial, Exponential, Gaussian, Laplace
from discreet.query.cells import Amount, CellTable, Labelling
from discreet.query.choice import Candidate
from discreet.query.plan import Measurement, Plan
from discreet.query.profiles import PersonGroup, Profiles, Trait
from discreet.query.query import (
    Choice,
    Count,
    Distinct,
    People,
    ProfileSum,
    Quantile,
    Residual,
    SubsetCount,
    Sum,
    answer_shape,
)
from discreet.query.subset import Everyone, Seeded
from discreet.release import gate as gating
from discreet.release import quantile
from discreet.release.archive import Archive
from discreet.release.gate import Gate

DOMAIN = parse_domain("""
name = "people"
[attributes.age]
kind = "integer"
low = 0
high = 4
null = true
source = "a test"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "a test"
[attributes.wealth]
kind = "bins"
edges = [0, 10, 1000000]
grain = 0.5
source = "a test"
""")
ALL, WOMEN = DOMAIN.everything, DOMAIN.slab("sex", 0, 0)
PURE = PureBudget(Fraction(10**6), "add-remove")
CONCENTRATED = ConcentratedBudget(Fraction(10**5), "replace")
QUERIES = QueryBudget(100, Fraction(1), 1044, "exact", Fraction(1, 10**6), Fraction(1, 10**8), 101)
NARROW, WIDE = Exponential(Fraction(1, 2)), Exponential(Fraction(300))

CANDIDATES = (Candidate(("age",), (1000,) * 6, 3), Candidate(("sex", "wealth"), (7, 0, -2, 1000), 0))
_OWN = CellTable(("n",), (np.arange(3),), np.arange(3))
LINES = Profiles(
    (
        Trait(
            "COUNT(*)",
            "sum",
            Integer(name="n", source="a test", low=1, high=3),
            CellTable(("sex",), (np.array([0, 0]),), np.array([1])),
        ),
    ),
    (("age", "age"),),
)
KEPT = LINES.domain_of(DOMAIN).everything
BY_ROWS, ADDED = (
    PersonGroup(Labelling("n", _OWN, (1, 2, 3))),
    Amount("n", CellTable(("n",), (np.arange(3),), np.arange(1, 4))),
)

MEASURED: dict[str, tuple[Budget, tuple[Measurement, ...]]] = {
    "a count": (PURE, (Measurement(Count(WOMEN), Laplace(Fraction(7))),)),
    "counts": (PURE, (Measurement(Count(ALL, ("age", "sex")), Laplace(Fraction(100))),)),
    "Gaussian counts": (CONCENTRATED, (Measurement(Count(ALL, ("age",)), Gaussian(Fraction(50))),)),
    "sums": (PURE, (Measurement(Sum("wealth", WOMEN, ("age",)), Laplace(Fraction(1000))),)),
    "Gaussian sums": (CONCENTRATED, (Measurement(Sum("wealth", ALL), Gaussian(Fraction(10**9))),)),
    "residuals": (CONCENTRATED, (Measurement(Residual(ALL, ("age", "sex")), Gaussian(Fraction(50))),)),
    "different values": (PURE, (Measurement(Distinct(("age",), WOMEN, ("sex",)), Laplace(Fraction(7))),)),
    "people": (PURE, (Measurement(People(WOMEN, ("age",)), Laplace(Fraction(7))),)),
    "people by their rows": (
        PURE,
        (Measurement(ProfileSum(LINES, WOMEN, KEPT, ("age", BY_ROWS)), Laplace(Fraction(7))),),
    ),
    "a sum of what people have": (
        PURE,
        (Measurement(ProfileSum(LINES, WOMEN, KEPT, (), ADDED, 0, 3), Laplace(Fraction(7))),),
    ),
    "a minimum": (PURE, (Measurement(Quantile("age", Fraction(0), WOMEN), NARROW),)),
    "medians": (PURE, (Measurement(Quantile("age", Fraction(1, 2), ALL, ("sex",)), WIDE),)),
    "a third": (PURE, (Measurement(Quantile("age", Fraction(1, 3), DOMAIN.slab("age", 2, 5)), WIDE),)),
    "a high quantile": (PURE, (Measurement(Quantile("wealth", Fraction(95, 100), ALL), NARROW),)),
    "a choice": (PURE, (Measurement(Choice(CANDIDATES, ALL), WIDE),)),
    "subsets": (QUERIES, (Measurement(SubsetCount((Everyone(), Seeded(7)), WOMEN), Binomial(1044)),)),
    "many at once": (
        PURE,
        (
            Measurement(Count(ALL), Laplace(Fraction(7))),
            Measurement(Quantile("age", Fraction(1, 2), ALL), WIDE),
            Measurement(Count(ALL, ("sex",)), Laplace(Fraction(7))),
        ),
    ),
}
MUCH = 1 << 62

Fill = Callable[[tuple[int, ...]], Any]


def _crowd(place: int, size: int = MUCH, elsewhere: int = 0) -> Fill:
    """So many in one cell, the first or the last, and so many in every other."""

    def fill(shape: tuple[int, ...]) -> Any:
        array = np.full(shape, elsewhere, np.int64)
        array.flat[place] = size
        return array

    return fill


TABLES: dict[str, Fill] = {
    "nobody": lambda shape: np.zeros(shape, np.int64),
    "the same everywhere": lambda shape: np.full(shape, 1000, np.int64),
    "one person more": _crowd(-1, 1001, 1000),
    "all in the first cell": _crowd(0),
    "all in the last cell": _crowd(-1),
    "a debt in the first cell": _crowd(0, -MUCH),
    "some here, more there": lambda shape: np.array([n**3 for n in range(math.prod(shape))], np.int64).reshape(shape),
}
"""What exact answers are, of any shape. Only sums are ever below 0."""

Step = tuple[str, int, str, tuple[Any, ...]]


def _kind(value: Any) -> Any:
    """A value without what it is: its type, and how much memory it takes."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape
    if type(value) is int:
        return "int", max(1, -(-value.bit_length() // 30))
    if isinstance(value, list | tuple | dict | set | bytes):
        return type(value).__name__, len(value)
    return type(value).__name__


@contextmanager
def traced(*folders: Path) -> Iterator[list[Step]]:
    """The steps of the code in some folders, in order: where, what happened, and the kinds of values at both ends."""
    steps: list[Step] = []
    places = tuple(f"{folder}/" for folder in folders)

    def watch(frame: FrameType, event: str, value: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(places):
            return None
        kinds = () if event == "line" else tuple((key, _kind(local)) for key, local in frame.f_locals.items())
        steps.append((name, frame.f_lineno, event, (*kinds, _kind(value))))
        return watch

    sys.settrace(watch)
    try:
        yield steps
    finally:
        sys.settrace(None)


def first_difference(one: list[Step], other: list[Step]) -> str | None:
    """The first step at which two runs part, in words."""
    for number, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            kinds = sorted(str(kind) for kind in set(left[3]) ^ set(right[3]))[:4]
            return f"step {number}, {Path(left[0]).name}:{left[1]} or {Path(right[0]).name}:{right[1]}: {kinds}"
    return None if len(one) == len(other) else f"one ends after {min(len(one), len(other))} steps"


@contextmanager
def gated(budget: Budget) -> Iterator[Gate]:
    """A gate with a journal of its own, and no table yet."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal.sqlite"
        Ledger.create(journal, {"vault_id": f"paths-{secrets.token_hex(8)}"})
        yield Gate(DOMAIN, no_table, Ledger.open(journal, DOMAIN, budget), Archive(Path(folder)), SeededBits(5))


def no_table() -> Any:
    raise LookupError("a run brings its own table")


def run(gate: Gate, measurements: tuple[Measurement, ...], fill: Fill, *places: Path) -> tuple[list[Step], Any]:
    """The steps from a charge to its recorded answer, and the answer, over a table whose exact answers are made up."""

    def evaluate(queries: Any) -> list[Any]:
        watch = sys.gettrace()
        sys.settrace(None)
        exact = [(query, fill(answer_shape(query, DOMAIN))) for query in queries]
        sys.settrace(watch)
        return [array if isinstance(query, Sum) else np.abs(array) for query, array in exact]

    table: Any = SimpleNamespace(id=None, require=lambda _: None, evaluate=evaluate)
    with traced(*places) as steps:
        release = replace(gate, _table=lambda: table, bits=SeededBits(5)).measure(Plan(measurements))
    return steps, [answer.units.tolist() for answer in release.answers]


def compared(budget: Budget, measurements: tuple[Measurement, ...]) -> dict[str, Any]:
    """How many steps a plan takes, and where tables first part, if they do."""
    package = Path(gating.__file__).parents[1]
    places = (*(package / room for room in ("domain", "noise", "query", "release")), Path(np.__file__).parent)
    with gated(budget) as gate:
        run(gate, measurements, TABLES["nobody"])  # what is kept for the next time is public
        runs = {name: run(gate, measurements, fill, *places) for name, fill in TABLES.items()}
    first, _ = runs["nobody"]
    parted = {name: first_difference(first, steps) for name, (steps, _) in runs.items()}
    return {
        "steps": len(first),
        "parted": {name: where for name, where in parted.items() if where},
        "answers": {name: answers for name, (_, answers) in runs.items()},
    }


def _early_end() -> None:
    """A quantile of nobody is drawn without looking."""
    draw = quantile.distances

    def distances(counts: Any, level: Fraction, margin: int) -> Any:
        if not counts.any():
            return np.zeros_like(counts), np.zeros_like(counts)
        return draw(counts, level, margin)

    _plant(quantile, "distances", distances)


def _large_numbers() -> None:
    """Sums beyond 53 bits are made of Python's integers."""
    split = gating._answer_to

    def answer_to(query: Any, read: Any) -> Any:
        exact = read.astype(object) if np.abs(read).max(initial=0) > 1 << 53 else read
        return split(query, np.array(exact, np.int64))

    _plant(gating, "_answer_to", answer_to)


def _plant(module: Any, name: str, function: Any) -> None:
    # Under the name of the module's own file, so that it is traced like the rest of it.
    code = function.__code__.replace(co_filename=inspect.getfile(module))
    function.__code__ = code
    setattr(module, name, function)


PLANTED: dict[str, tuple[Callable[[], None], str]] = {
    "an early end": (_early_end, "medians"),
    "large numbers": (_large_numbers, "sums"),
}


def main() -> None:
    warnings.simplefilter("ignore")  # words wrap, as they are meant to
    gating.require_production = lambda _: None  # type: ignore[assignment]  # the same bits each time
    found = {name: compared(*measured) for name, measured in MEASURED.items()}
    for name, (plant, measured) in PLANTED.items():
        plant()
        found[name] = compared(*MEASURED[measured])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
