"""A verifier of published buckets, written apart from the publisher: it reads the folder, and trusts nothing in it.

It shares no code with what publishes but the reader of domains. Limits are compared exactly, as fractions.
"""

import hashlib
import json
import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.domain.attribute import Attribute, Integer
from discreet.domain.read import parse_domain
from discreet.errors import ArchiveError, DiscreetError

SURE = 1e-6
"""Numbers are called telling where chance alone would make them look so less often than this, in all that is tried."""

MOST_PRICED = 1 << 20
"""Values times sizes that a proof of the least loss is gone through for."""

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class FolderFinding:
    """One thing that was looked at."""

    what: str
    holds: bool
    detail: str


@dataclass(frozen=True)
class FolderVerdict:
    """All findings about a folder."""

    findings: tuple[FolderFinding, ...]

    @property
    def holds(self) -> bool:
        return all(finding.holds for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        return {"holds": self.holds, "findings": [vars(finding) for finding in self.findings]}


def check_buckets(path: str | Path) -> FolderVerdict:
    """Look at everything that a folder of buckets promises. Raises ArchiveError where there is no such folder."""
    folder = Path(path)
    if not folder.exists():
        raise ArchiveError(f"there is no {folder}; name a folder of buckets that was published")
    if not (folder / "datapackage.json").is_file():
        raise ArchiveError(f"{folder} is not a folder of buckets: it has no datapackage.json")
    findings: list[FolderFinding] = []
    try:
        package = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
        findings.append(_finding("files", _sealed, folder, package))
        tables = _Tables.read(folder, package["buckets"])
        findings.append(FolderFinding("columns", True, "the tables share the bucket's number only"))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, DiscreetError, pa.ArrowException) as error:
        words = str(error) if isinstance(error, _Wrong) else "the folder cannot be read as two tables and a description"
        return FolderVerdict((*findings, FolderFinding("columns", False, words)))
    looks: dict[str, Callable[[_Tables], str]] = {
        "numbers": _numbers,
        "totals": _totals,
        "sizes": _sizes,
        "limits": _limits,
        "least": _least,
        "fakes": _fakes,
        "order": _order,
        "numbering": _numbering,
    }
    for what, look in looks.items():
        findings.append(_finding(what, look, tables))
        if what == "numbers" and not findings[-1].holds:
            break  # the rest counts by number
    return FolderVerdict(tuple(findings))


class _Wrong(ValueError):
    """What was found wrong, in words."""


def _finding(what: str, look: Callable[..., str], *about: Any) -> FolderFinding:
    try:
        return FolderFinding(what, True, look(*about))
    except _Wrong as wrong:
        return FolderFinding(what, False, str(wrong))
    except (ValueError, LookupError, TypeError, ArithmeticError):
        return FolderFinding(what, False, "what the description says of it cannot be read")


@dataclass(frozen=True, eq=False)
class _Tables:
    """The two tables as codes, and what the description says of them."""

    about: dict[str, Any]
    people: tuple[Codes, ...]
    """A column for each quasi-identifier."""
    people_number: Codes
    value: Codes
    value_number: Codes
    labels: tuple[str, ...]
    """Of the sensitive values."""

    @classmethod
    def read(cls, folder: Path, about: dict[str, Any]) -> "_Tables":
        domain, number, sensitive = parse_domain(about["domain"]), about["number"], about["sensitive"]
        qit, st = pq.read_table(folder / "qit.parquet"), pq.read_table(folder / "st.parquet")
        if sensitive in qit.column_names:
            raise _Wrong(f"{sensitive} is among the people's columns")
        if qit.column_names != [*about["columns"], number] or st.column_names != [number, sensitive]:
            raise _Wrong("the tables have other columns than the description says")
        return cls(
            about,
            tuple(_codes(domain[name], qit.column(name)) for name in about["columns"]),
            _whole(qit.column(number)),
            _codes(domain[sensitive], st.column(sensitive)),
            _whole(st.column(number)),
            domain[sensitive].labels,
        )

    @property
    def buckets(self) -> int:
        return int(self.people_number.max())

    @property
    def size_of(self) -> Codes:
        """By number less one."""
        return np.bincount(self.people_number - 1, minlength=self.buckets)


def _whole(column: pa.ChunkedArray) -> Codes:
    if column.null_count or not pa.types.is_integer(column.type):
        raise _Wrong("the bucket's number is missing or no whole number somewhere")
    return np.asarray(column, np.int64)


def _codes(attribute: Attribute, column: pa.ChunkedArray) -> Codes:
    """Codes by looking each distinct value up in the domain."""
    encoded = column.combine_chunks().dictionary_encode()
    labels = {"(other)": attribute.other_code or -1}
    if not isinstance(attribute, Integer):
        labels = {attribute.label(code): code for code in range(attribute.size)}
    known: list[int] = []
    for value in encoded.dictionary.to_pylist():
        whole = isinstance(attribute, Integer) and value not in labels
        code = int(value) - attribute.low if isinstance(attribute, Integer) and whole else labels.get(value, -1)
        if not 0 <= code < attribute.size:
            raise _Wrong(f"{attribute.name} has a value that is not in its domain")
        known.append(code)
    if column.null_count and attribute.null_code is None:
        raise _Wrong(f"{attribute.name} is missing somewhere, and its domain has no missing values")
    places = encoded.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
    return np.asarray(np.array([*known, attribute.null_code or 0], np.int64)[places], np.int64)


def _sealed(folder: Path, package: dict[str, Any]) -> str:
    said = {**package}
    seal = said.pop("sha256", None)
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    if seal != hashlib.sha256(text.encode()).hexdigest():
        raise _Wrong("the description was changed after it was written")
    for resource in package["resources"]:
        digest = hashlib.sha256((folder / resource["path"]).read_bytes()).hexdigest()
        if resource["hash"] != f"sha256:{digest}":
            raise _Wrong(f"{resource['path']} was changed after it was written")
    return f"their SHA-256 is {str(seal)[:16]}…, as described"


def _numbers(tables: _Tables) -> str:
    buckets = tables.buckets
    for which, numbers in (("QIT", tables.people_number), ("ST", tables.value_number)):
        if numbers.min() < 1 or numbers.max() != buckets or np.bincount(numbers)[1:].min() < 1:
            raise _Wrong(f"the buckets of {which} are not 1 to {buckets}, each with somebody in it")
    return f"buckets 1 to {buckets:,} in both tables"


def _totals(tables: _Tables) -> str:
    listed = np.bincount(tables.value_number - 1, minlength=tables.buckets)
    wrong = np.flatnonzero(listed != tables.size_of + int(tables.about["fakes"]))
    if wrong.size:
        raise _Wrong(f"{wrong.size:,} buckets list more or fewer values than they have people; one is {wrong[0] + 1}")
    return "every bucket lists a value for each of its people" + (" and its fakes" if tables.about["fakes"] else "")


def _sizes(tables: _Tables) -> str:
    sizes, numbers = np.unique(tables.size_of, return_counts=True)
    found = [[int(size), int(number)] for size, number in zip(sizes, numbers, strict=True)]
    if found != tables.about["sizes"] or len(tables.people_number) != tables.about["records"]:
        raise _Wrong(f"the buckets are {found}, not as described")
    listed = np.bincount(tables.value, minlength=len(tables.labels))
    said = np.array([tables.about["counts"][label] for label in tables.labels])
    if said.sum() != len(tables.people_number) or np.any(said > listed):
        raise _Wrong("the frequencies are not those of the values listed")
    loss = int(((sizes - 1) ** 2 * numbers).sum())
    mse = loss / max(1, len(tables.people_number) - 1)
    if loss != tables.about["loss"] or not math.isclose(mse, tables.about["mse"], rel_tol=1e-9):
        raise _Wrong(f"the loss is {loss}, not {tables.about['loss']}")
    return f"sizes, frequencies, loss {loss:,} and MSE as described"


def _least(tables: _Tables) -> str:
    """What no setting loses less than, by a price for each value: added up again, in whole numbers."""
    said, loss = int(tables.about.get("least", 0)), int(tables.about["loss"])
    if not said:
        return "not stated"
    if said > loss:
        raise _Wrong(f"every setting is said to lose {said:,}, and this one loses {loss:,}")
    proof = tables.about.get("proof")
    if proof is None:
        return f"{said:,}, by the word of whoever published it"
    smallest, largest = map(int, proof["sizes"])
    if not 0 < smallest <= largest or (largest - smallest + 1) * len(tables.labels) > MOST_PRICED:
        raise _Wrong("its proof is of other sizes than buckets have")
    prices = [int(proof["prices"][label]) for label in tables.labels]
    counts = [int(tables.about["counts"][label]) for label in tables.labels]
    limits = [Fraction(tables.about["limits"]["by_value"][label]) for label in tables.labels]
    dearest_first = sorted(range(len(prices)), key=lambda value: -prices[value])
    for size in range(smallest, largest + 1):
        room, cost = size, 0
        for value in dearest_first:
            held = min(counts[value], limits[value] * size // 1, room)
            room, cost = room - held, cost + held * prices[value]
        if not room and cost > int(proof["parts"]) * (size - 1) ** 2:
            raise _Wrong(f"a bucket of {size} may hold records that cost more than it loses: nothing is proved")
    proved = math.ceil(Fraction(sum(map(operator.mul, counts, prices)), int(proof["parts"])))
    sizes = f"with buckets of {smallest} to {largest}"
    if proved < said:
        return f"{proved:,} {sizes} by prices, added up again; {said:,} by the word of an integer program"
    return f"no setting {sizes} loses less than {said:,}: by prices, added up again"


def _limits(tables: _Tables) -> str:
    limits = [Fraction(tables.about["limits"]["by_value"][label]) for label in tables.labels]
    pairs, times = np.unique((tables.value_number - 1) * len(limits) + tables.value, return_counts=True)
    bucket, value = pairs // len(limits), pairs % len(limits)
    sizes = tables.size_of[bucket]
    # Only as many comparisons as there are different ones, in exact numbers.
    most = int(sizes.max()) + int(tables.about["fakes"]) + 1
    cases, often = np.unique((value * most + times) * most + sizes, return_counts=True)
    broken, largest, worst = 0, Fraction(0), ""
    for case, number in zip(cases.tolist(), often.tolist(), strict=True):
        which, held, size = case // most**2, case // most % most, case % most
        largest = max(largest, Fraction(held, size))
        if Fraction(held, size) > limits[which]:
            broken += number
            worst = worst or f"{held} of {tables.labels[which]} in a bucket of {size}"
    if broken:
        raise _Wrong(f"{broken:,} limits are broken; one by {worst}")
    return f"all {len(pairs):,} shares within their limits; the largest is {float(largest):.4g}"


def _fakes(tables: _Tables) -> str:
    fakes = int(tables.about["fakes"])
    if not fakes:
        return "none"
    pairs, times = np.unique((tables.value_number - 1) * len(tables.labels) + tables.value, return_counts=True)
    once = np.bincount(pairs[times == 1] // len(tables.labels), minlength=tables.buckets)
    if once.min() < fakes:
        raise _Wrong(f"a bucket lists {once.min()} values once, and a fake is listed once: it cannot have {fakes}")
    shown = int((once == fakes).sum())
    return f"{fakes} in each bucket; in {shown:,} of {tables.buckets:,} nothing else is listed once, so that they show"


def _order(tables: _Tables) -> str:
    for which, columns in (
        ("QIT", (tables.people_number, *tables.people)),
        ("ST", (tables.value_number, tables.value)),
    ):
        undecided = np.ones(len(columns[0]) - 1, np.bool_)
        for column in columns:
            step = np.diff(column)
            if np.any(undecided & (step < 0)):
                raise _Wrong(f"the lines of {which} are in an order that its content does not explain")
            undecided &= step == 0
    return "lines are in the order of their content, which tells nothing more"


def _numbering(tables: _Tables) -> str:
    """Whether buckets with close numbers, or with high ones, are alike: numbers must have been drawn by lot."""
    buckets = tables.buckets
    if buckets < 30:
        return "too few buckets to tell"
    tried = list(_traits(tables))
    bound = -NormalDist().inv_cdf(SURE / (4 * len(tried)))
    for what, trait in tried:
        if not trait.std():
            continue
        scores = (trait - trait.mean()) / trait.std()
        rising = float(scores @ (np.arange(buckets) - (buckets - 1) / 2)) / math.sqrt(buckets * (buckets**2 - 1) / 12)
        alike = float(scores[:-1] @ scores[1:]) / math.sqrt(buckets)
        if max(abs(rising), abs(alike)) > bound:
            raise _Wrong(f"the buckets' numbers go with {what}: they were not drawn by lot")
    return "numbers go with neither sizes, nor people, nor values"


def _traits(tables: _Tables) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """What a bucket has, as one number; by ranks, so that a few extreme ones do not decide."""
    size_of = tables.size_of
    yield "their sizes", _ranks(size_of.astype(np.float64))
    for name, codes in zip(tables.about["columns"], tables.people, strict=True):
        yield name, _ranks(np.bincount(tables.people_number - 1, weights=codes) / size_of)
    listed = np.bincount(tables.value_number - 1)
    yield "the values", _ranks(np.bincount(tables.value_number - 1, weights=tables.value) / listed)


def _ranks(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    _, places, times = np.unique(numbers, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(times) - (times - 1) / 2)[places], np.float64)
