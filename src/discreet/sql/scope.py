"""What the names in a statement mean: the domain's table, and its attributes by name or by qualified name."""

from dataclasses import dataclass

from sqlglot import exp

from discreet.domain.attribute import Attribute
from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.sql.syntax import only, refused
from discreet.sql.tokens import SHOWN_CHARACTERS, shown


@dataclass(frozen=True)
class Scope:
    """A domain under the name that the statement gives it. Names are the same in either case, as in SQL."""

    domain: Domain
    qualifier: str
    axes: dict[str, int]

    @classmethod
    def of(cls, select: exp.Select, domain: Domain) -> "Scope":
        """The scope of a SELECT, whose one table must be the domain's."""
        source = select.args.get("from_")
        if source is None:
            raise UnsupportedQuery(f"the statement has no FROM; ask FROM {domain.name}")
        table = source.this
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            raise refused(table.this if isinstance(table, exp.Table) else table, f"FROM {domain.name}")
        only(table, ("this", "alias"), f"FROM {domain.name}")
        if table.name.lower() != domain.name.lower():
            raise UnsupportedQuery(f"there is no table {shown(table.name)}; ask FROM {domain.name}")
        alias = table.args.get("alias")
        if alias is not None:
            only(alias, ("this",), f"FROM {domain.name} AS a_name")
        axes = {attribute.name.lower(): axis for axis, attribute in enumerate(domain.attributes)}
        return cls(domain, (table.alias or table.name).lower(), axes)

    def axis(self, column: exp.Column) -> int:
        """The axis of a column; an unknown one raises with the near ones named."""
        only(column, ("this", "table"), f"a column of {self.domain.name}")
        if not isinstance(column.this, exp.Identifier):
            raise refused(column.this, f"a column of {self.domain.name}")
        if column.table and column.table.lower() != self.qualifier:
            raise UnsupportedQuery(f"there is no table {shown(column.table)} here; its name is {self.qualifier}")
        axis = self.axes.get(column.name.lower())
        return self.domain.axis(column.name[:SHOWN_CHARACTERS]) if axis is None else axis

    def attribute(self, column: exp.Column) -> Attribute:
        return self.domain.attributes[self.axis(column)]
