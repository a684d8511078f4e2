"""How a domain fits a table, as the custodian is told it on their own machine: exact, confidential, kept nowhere."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class OddValue:
    """A value that has no code of its own: how many rows have it, and the declared value that is written most alike."""

    text: str
    rows: int
    nearest: str | None


@dataclass(frozen=True)
class ColumnFit:
    """What one column does to the rows. A row may be counted in several columns."""

    name: str
    outside: int
    """Rows with a value that is not declared: left out, clamped or `(other)`, as the domain says."""
    missing: int
    unreadable: int
    """Rows with a text that is no number or date, where the domain says that the column holds such."""
    rounded: int
    """Rows with a number between two whole ones, which the domain clamps to the lower of them."""
    lost: int
    """Rows that are not in the population because of this column, whatever the others say."""
    outside_is: str
    missing_is: str
    nobody: int
    """Declared values that no row has."""
    nobody_has: tuple[str, ...]
    """The first of them."""
    odd: tuple[OddValue, ...]
    """The most frequent values outside, or not readable."""
    advice: tuple[str, ...]
    """Settings that would give rows a code, with what they would do."""


@dataclass(frozen=True)
class Fit:
    """How a domain fits a table. Exact, and so confidential: it says of single rows what no release may."""

    rows: int
    kept: int
    """Rows that answers are about."""
    columns: tuple[ColumnFit, ...]
    nameless: int = 0
    """Rows that fit the domain and are left out because they name nobody: no id, one that is not on the roster, or a
    parent that is not there."""
    beyond_bound: int = 0
    """Rows that fit the domain and are left out because their person has more than are kept of one."""
    erased: int = 0
    """Rows that fit the domain and are left out because their person was erased."""

    late: int = 0
    """Rows of periods that were closed before an append: left out."""
    to_come: int = 0
    """Rows of periods that are not closed yet: a later append takes them."""
    alike: int = 0
    """Rows with a key that another row has too, by which rows of a table below know their parent: such a table is
    refused."""
    table: str | None = None
    """Which of several tables it is of."""
    empty: tuple[str, ...] = ()
    """Of a table that grows: the periods that are taken and that no row is of."""

    @property
    def lost(self) -> int:
        """Rows that answers will not be about. One of a period to come is not lost, nor one that was taken before."""
        return self.rows - self.kept - self.late - self.to_come

    def loses_more_than(self, share: float) -> bool:
        """Whether more than this share of the rows is lost, or not readable in some column, or there are no rows. Rows
        of people who were erased are left out on purpose."""
        worst = max([self.lost - self.erased, *(column.unreadable for column in self.columns)])
        return worst > share * self.rows or not self.rows

    @property
    def misses_its_periods(self) -> bool:
        """Whether the rows are hardly those of the periods that are being closed: none is kept, or most are of later
        ones. So it looks where a period was skipped, or another's file was named."""
        return bool(self.late + self.to_come) and (not self.kept or 2 * self.to_come > self.rows)


Fitted = Callable[[Fit], None]
"""Told how a domain fits; it may raise, and then nothing is made."""


def in_order(fit: Fit) -> Iterator[ColumnFit]:
    """The columns by what they lose, most first."""
    yield from sorted(fit.columns, key=lambda column: (-column.lost, -column.outside - column.unreadable))
