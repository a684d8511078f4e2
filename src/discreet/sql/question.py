"""What a SQL statement asks, in the domain's terms."""

from dataclasses import dataclass

from discreet.domain.region import Region
from discreet.query.query import (
    Combination,
    Count,
    Distinct,
    Group,
    Mean,
    People,
    ProfileSum,
    Quantile,
    Sum,
    group_name,
)

Measure = Count | Sum | Mean | Distinct | People | ProfileSum | Quantile | Combination


NULL = "NULL"
"""What people read where an expression has no value for a group."""


@dataclass(frozen=True)
class GroupColumn:
    """An output column that holds the labels of what GROUP BY groups by: an attribute, or an expression."""

    name: str
    attribute: Group


@dataclass(frozen=True)
class AggregateColumn:
    """An output column that holds noisy numbers. `query` carries its own region (WHERE and FILTER) and groups."""

    name: str
    query: Measure


Column = GroupColumn | AggregateColumn


@dataclass(frozen=True)
class OrderKey:
    """The place of an output column among `Question.columns`. Group columns are in the order of their codes."""

    column: int
    descending: bool = False


@dataclass(frozen=True)
class Question:
    """One SELECT. `by` has the attributes and expressions of GROUP BY, which every aggregate has in this order; `where`
    is the WHERE's region, empty where no point of the domain satisfies it. Order, limit and offset are for the noisy
    rows. `notes` say where the answer will differ from what was asked."""

    text: str
    by: tuple[Group, ...]
    where: Region
    columns: tuple[Column, ...]
    order_by: tuple[OrderKey, ...] = ()
    limit: int | None = None
    offset: int = 0
    notes: tuple[str, ...] = ()

    def name_of(self, group: Group) -> str:
        """What the column of a group's labels is called: its alias, or the attribute where it is not selected."""
        names = (c.name for c in self.columns if isinstance(c, GroupColumn) and c.attribute == group)
        return next(names, group_name(group))

    @property
    def aggregates(self) -> tuple[AggregateColumn, ...]:
        return tuple(column for column in self.columns if isinstance(column, AggregateColumn))
