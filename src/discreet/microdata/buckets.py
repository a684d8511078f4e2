"""Published buckets: two tables that are joined by a bucket's number only, and what is said of them.

QIT has a line for each person: the quasi-identifiers and the bucket. ST has a line for each value: the bucket and the
sensitive value. [buckets, Section 3.1]
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.domain.columns import codes_of
from discreet.domain.domain import Domain
from discreet.domain.read import parse_domain
from discreet.errors import ArchiveError, DiscreetError
from discreet.exact import parse_exact
from discreet.ledger.guarantee import FPrivacy
from discreet.microdata.corruption import ListedValues
from discreet.microdata.folder import FORMAT, QIT, ST
from discreet.microdata.settings import Setting
from discreet.notebook import FieldsView
from discreet.release.package import read_package

if TYPE_CHECKING:
    from discreet.microdata.estimate import EstimatedRows

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Buckets(FieldsView):
    """A folder of buckets. Everything in it is public, and everything here is computed from it."""

    path: Path
    about: dict[str, Any]
    domain: Domain
    """The published columns and the sensitive one."""
    guarantee: FPrivacy
    """What the folder says that it promises; a vault knows whether rows were published again since."""

    @classmethod
    def load(cls, path: str | Path) -> "Buckets":
        """Open a folder, after checking that each of its bytes is what was written."""
        folder = Path(path)
        damaged = ArchiveError(f"the buckets in {folder} are damaged; restore them from a copy: they are public")
        try:
            about = read_package(folder, "buckets", FORMAT, "a folder of buckets")
            whole = parse_domain(about["domain"])
            part = _part(whole, (*about["columns"], about["sensitive"]))
            return cls(folder, about, part, FPrivacy(tuple(map(str, about.get("remarks", ())))))
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise damaged from None

    @property
    def sensitive(self) -> str:
        return str(self.about["sensitive"])

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.about["columns"])

    @property
    def number(self) -> str:
        """What the column of the bucket's number is called."""
        return str(self.about["number"])

    @property
    def fakes(self) -> int:
        """How many of a bucket's values nobody in it has."""
        return int(self.about["fakes"])

    @cached_property
    def limits(self) -> tuple[Fraction, ...]:
        """The limit of each code of the sensitive attribute."""
        by_value = self.about["limits"]["by_value"]
        return tuple(parse_exact(by_value[label]) for label in self.domain[self.sensitive].labels)

    @cached_property
    def counts(self) -> Integers:
        """How many people have each code of the sensitive attribute."""
        return np.array([self.about["counts"][label] for label in self.domain[self.sensitive].labels], np.int64)

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """(S, b): so many buckets of each size."""
        return tuple((size, number) for size, number in self.about["sizes"])

    @cached_property
    def setting(self) -> Setting:
        """The sizes, and which values are in buckets of which. With fakes the latter is not public, and left out."""
        if self.fakes:
            return Setting(self.sizes, ())
        size_of_line = self.size_of[self.listing[0]]
        values = len(self.limits)
        parts = [np.bincount(self.listing[1][size_of_line == size], minlength=values) for size, _ in self.sizes]
        return Setting(self.sizes, tuple(tuple(part.tolist()) for part in parts))

    @property
    def loss(self) -> int:
        return int(self.about["loss"])

    @property
    def least(self) -> int:
        """What every setting loses at least that keeps the limits with sizes that were allowed; 0 where it is not
        known. It follows from the frequencies, which are public."""
        return int(self.about.get("least", 0))

    @property
    def mse(self) -> float:
        return float(self.about["mse"])

    @property
    def qit(self) -> pa.Table:
        """The people: their quasi-identifiers, and the number of their bucket."""
        return pq.read_table(self.path / QIT)

    @property
    def st(self) -> pa.Table:
        """The sensitive values: the number of their bucket, and the value."""
        return pq.read_table(self.path / ST)

    @cached_property
    def bucket(self) -> Integers:
        """The bucket of each person, from 0, in the order of QIT."""
        return np.asarray(pq.read_table(self.path / QIT, columns=[self.number]).column(0), np.int64) - 1

    @cached_property
    def size_of(self) -> Integers:
        """How many people each bucket has."""
        return np.bincount(self.bucket)

    @cached_property
    def listing(self) -> tuple[Integers, Integers]:
        """The lines of ST as buckets, from 0, and codes."""
        table = self.st
        return np.asarray(table.column(self.number), np.int64) - 1, codes_of(
            self.domain[self.sensitive], table.column(self.sensitive)
        )

    @cached_property
    def listed(self) -> ListedValues:
        return ListedValues.of(*self.listing, self.size_of, self.counts, self.fakes)

    @cached_property
    def _codes(self) -> Any:
        def read(name: str) -> Integers:
            return codes_of(self.domain[name], pq.read_table(self.path / QIT, columns=[name]).column(0))

        return cache(read)

    def codes(self, name: str) -> Integers:
        """The codes of a published column, in the order of QIT."""
        return self._codes(name)  # type: ignore[no-any-return]

    def listed_among(self, codes: range) -> NDArray[np.float64]:
        """By bucket, how many of its people have a value among these codes; with fakes, on average."""
        listed = self.listed
        among = (listed.value >= codes.start) & (listed.value < codes.stop)
        weights = listed.expected[among]
        return np.bincount(listed.bucket[among], weights=weights, minlength=len(self.size_of)).astype(np.float64)

    def ask(self, sql: str, pairings: float = 0.95) -> "EstimatedRows":
        """Estimate the COUNTs of a SELECT over the published columns and the sensitive one, each with the range that
        it has over this share of all pairings within buckets. Public, and free."""
        from discreet.microdata.estimate import ask_buckets

        return ask_buckets(self, sql, pairings)

    def describe(self) -> dict[str, Any]:
        """What was published and what it promises."""
        kept = ("table", "sensitive", "columns", "records", "sizes", "loss", "mse", "fakes", "similar", "limits")
        return {
            **{name: self.about[name] for name in kept},
            "least": self.least,
            "guarantee": str(self.guarantee),
            "public": self.about["public"],
            "corruption": self.about["corruption"],
            "fakes_excludable": self.about["fakes_excludable"],
            "fakes_shown": self.about["fakes_shown"],
            "learnt": self.about["learnt"],
            "receipt": self.about["receipt"],
        }


def _part(domain: Domain, names: tuple[str, ...]) -> Domain:
    try:
        return Domain(domain.name, tuple(domain[name] for name in names))
    except DiscreetError:
        raise ValueError("the folder has columns that its domain does not have") from None
