"""What a name after FROM can stand for, while rows are inlined."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from discreet.errors import UnsupportedQuery
from discreet.sql.lookup import Lookup


@dataclass(frozen=True)
class TableRows:
    """Rows of a table: columns by their names as expressions over attributes, and the conditions they meet. An open
    one has all attributes as well."""

    table: str
    """Its name, in lower case."""
    columns: Mapping[str, exp.Expression] = field(default_factory=dict)
    where: tuple[exp.Expression, ...] = ()
    is_open: bool = True
    joined: Mapping[str, Mapping[str, exp.Expression]] = field(default_factory=dict)
    """Columns of look-up tables, by the names that the tables have here."""
    numbered: tuple[exp.Expression, ...] | None = None
    """Where its columns number each person's rows: what these met before."""
    lines: exp.Select | None = None
    """Where a row is a line of a person: the SELECT that makes them. See `per_person.py`."""


@dataclass(frozen=True)
class Code:
    """A look-up table."""

    lookup: Lookup


@dataclass(frozen=True)
class Results:
    """What a query over noisy answers makes, or a SELECT of aggregates over rows."""

    tree: exp.Query


Relation = TableRows | Results | Code
Relations = Mapping[str, Relation]
"""What names stand for at a place of the statement."""


def renamed(relation: Relation, alias: exp.Expression | None) -> Relation:
    """A relation under an alias that names its columns: t(a, b)."""
    names = [column.name for column in alias.args.get("columns") or ()] if alias is not None else []
    if not names or not isinstance(relation, TableRows):
        return relation
    if relation.is_open or len(names) > len(relation.columns):
        raise UnsupportedQuery("name the columns of rows in their own SELECT, with AS")
    kept = [*relation.columns.values()]
    return replace(relation, columns={name.lower(): kept[place] for place, name in enumerate(names)})
