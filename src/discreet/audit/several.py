"""Several tables of the same people, as the audit reads them: what a person is in all of them, and which part of that a
charge on one table may name. Worked out from the declaration by itself, as docs/reference/journal-format.md says it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.audit.price import ClaimedCost
from discreet.audit.terms import Terms, Unreadable
from discreet.domain.attribute import Attribute
from discreet.domain.domain import Domain
from discreet.domain.tables import LinkedTables
from discreet.ledger.declared import tables_in
from discreet.ledger.ledger import Ledger

JOINT = "one budget for what all tables together tell"
"""What every guarantee of such a vault says."""


@dataclass(frozen=True)
class AuditedTable:
    """A table: its domain, how many rows of a person it has, and its axes among those of a person."""

    domain: Domain
    rows: int
    axes: tuple[int, ...]

    def terms(self, terms: Terms) -> Terms:
        """What a measurement of this table costs a person."""
        return replace(terms, max_rows=self.rows)

    def own(self, cost: ClaimedCost, person: Domain) -> ClaimedCost:
        """A cost over a person's points as one over the table's. Raises Unreadable where it spares some other table."""
        others = [axis for axis in range(len(person.shape)) if axis not in self.axes]
        for low, high, _ in cost.pieces:
            if any((low[axis], high[axis]) != (0, person.shape[axis] - 1) for axis in others):
                raise Unreadable("it is paid only by people with certain rows in another table")
        pieces = tuple((self._seen(low), self._seen(high), units) for low, high, units in cost.pieces)
        return replace(cost, pieces=pieces)

    def _seen(self, corner: Sequence[int]) -> tuple[int, ...]:
        return tuple(corner[axis] for axis in self.axes)


def audited_tables(tables: LinkedTables) -> tuple[Domain, dict[str, AuditedTable]]:
    """What a person is, and each table. An attribute of somebody's only row in a table is one of the person, wherever
    it is seen; one of other rows is an attribute of a row of the table that is looked at."""
    rows = {table.name: table.max_rows for table in tables}
    parents = {table.name: table.parent for table in tables}
    own = {table.name: table.domain.attributes[: table.own] for table in tables}
    axes: dict[tuple[str | None, str, str], int] = {}
    attributes: list[Attribute] = []
    found: dict[str, AuditedTable] = {}
    for table in tables:
        mine, above = [], table.name
        while above is not None:
            for attribute in own[above]:
                key = (None if rows[above] == 1 else table.name, above, attribute.name)
                if key not in axes:
                    axes[key] = len(attributes)
                    seen = () if key[0] in (None, above) else (table.name,)
                    attributes.append(replace(attribute, name=".".join((*seen, above, attribute.name))))
                mine.append(axes[key])
            above = parents[above]  # type: ignore[assignment]  # the root has none, and ends it
        found[table.name] = AuditedTable(table.domain, table.max_rows, tuple(mine))
    return Domain("person", tuple(attributes), max_rows=sum(rows.values())), found


def found_in(tables: LinkedTables) -> dict[str, Sequence[str]]:
    """The values that were found of each attribute that declares none, by its table and its name."""
    return {
        f"{table.name}.{name}": values
        for table in tables
        for name, values in table.domain.found.items()
        if name in [own.name for own in table.domain.attributes[: table.own]]
    }


def books_of(account: Ledger, table: str | None) -> Ledger:
    """The vault's account of its one table, or of one of several. Raises UnknownTable where there is no such."""
    return account if table is None else account.at(tables_in(account.header).place(table))


def unjoint(header: Mapping[str, Any], terms: Terms, tables: Mapping[str, AuditedTable]) -> str:
    """Why a header does not promise something about a person in all tables; nothing where it does."""
    if header.get("rows") != [[name, table.rows] for name, table in tables.items()]:
        return "its guarantees count other rows of a person than its tables have"
    return "" if terms.of_person else "its budget is for a row, and a person has rows in several tables"
