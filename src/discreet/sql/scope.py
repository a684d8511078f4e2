"""What the names in a statement mean: the domain's table, and its attributes by name or by qualified name."""

from dataclasses import dataclass, field

from sqlglot import exp

from discreet.domain.attribute import Attribute, Category
from discreet.domain.domain import Domain
from discreet.errors import UnknownTable, UnsupportedQuery
from discreet.sql.syntax import only, only_named, refused
from discreet.sql.tokens import SHOWN_CHARACTERS, shown

GROUP_SUFFIX = "_group"
MOST_EVALUATIONS = 200
MOST_VALUES = 1 << 24
"""Values of the sub-expressions of a statement, over all their cells: some 128 MB of numbers."""


@dataclass(frozen=True)
class DerivedColumn:
    """A column that an attribute decides: a value for each of its codes. What hierarchies and code lists add."""

    name: str
    axis: int
    values: tuple[object, ...]


@dataclass(frozen=True)
class Scope:
    """A domain under the name that the statement gives it. Names are the same in either case, as in SQL."""

    domain: Domain
    qualifier: str
    axes: dict[str, int]
    derived: dict[str, DerivedColumn] = field(default_factory=dict)
    """Columns beside the attributes, by their names in lower case."""
    evaluated: list[int] = field(default_factory=list, compare=False, repr=False)
    """How many values were looked at, for each time that an expression of the statement was evaluated."""

    def count_evaluation(self, values: int) -> None:
        """Refuse a statement with so many expressions, or expressions over so many values, that evaluating them takes
        long or needs much memory: before it is begun."""
        self.evaluated.append(values)
        if len(self.evaluated) > MOST_EVALUATIONS:
            raise UnsupportedQuery(
                f"the statement has more than {MOST_EVALUATIONS} expressions over columns; compare columns with values,"
                " or ask in parts"
            )
        if sum(self.evaluated) > MOST_VALUES:
            raise UnsupportedQuery(
                f"the statement's expressions look at {sum(self.evaluated):,} values of columns and their parts, and at"
                f" most {MOST_VALUES:,} are looked at; compare columns with values, or ask in parts"
            )

    @classmethod
    def of(cls, select: exp.Select, domain: Domain) -> "Scope":
        """The scope of a SELECT, whose one table must be the domain's."""
        source = select.args.get("from_")
        if source is None:
            raise UnsupportedQuery(f"the statement has no FROM; ask FROM {domain.name}")
        table = source.this
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            raise refused(table.this if isinstance(table, exp.Table) else table, f"FROM {domain.name}")
        only_named(table, f"FROM {domain.name}")
        if table.name.lower() != domain.name.lower():
            raise UnknownTable(f"there is no table {shown(table.name)}; ask FROM {domain.name}")
        return cls.over(domain, table.alias or table.name)

    @classmethod
    def over(cls, domain: Domain, name: str = "") -> "Scope":
        """The scope of a domain under a name."""
        axes = {attribute.name.lower(): axis for axis, attribute in enumerate(domain.attributes)}
        return cls(domain, (name or domain.name).lower(), axes, hierarchy_columns(domain))

    def knows(self, column: exp.Column) -> bool:
        return column.name.lower() in self.axes or self.derived_of(column) is not None

    def derived_of(self, column: exp.Column) -> DerivedColumn | None:
        """The column beside the attributes that a name means."""
        if column.table and column.table.lower() != self.qualifier:
            return None
        return None if column.name.lower() in self.axes else self.derived.get(column.name.lower())

    def axis(self, column: exp.Column) -> int:
        """The axis of a column; an unknown one raises with the near ones named."""
        only(column, ("this", "table"), f"a column of {self.domain.name}")
        if not isinstance(column.this, exp.Identifier):
            raise refused(column.this, f"a column of {self.domain.name}")
        if column.table and column.table.lower() != self.qualifier:
            raise UnsupportedQuery(f"there is no table {shown(column.table)} here; its name is {self.qualifier}")
        axis = self.axes.get(column.name.lower())
        return self.domain.axis(column.name[:SHOWN_CHARACTERS]) if axis is None else axis

    def is_person(self, node: exp.Expression) -> bool:
        """Whether it is the column whose values are people."""
        person = self.domain.person
        if not isinstance(node, exp.Column) or person is None or node.name.lower() in self.axes:
            return False
        return node.name.lower() == person.lower() and (not node.table or node.table.lower() == self.qualifier)

    def name_of(self, column: exp.Column) -> str:
        if self.is_person(column):
            return str(self.domain.person)
        derived = self.derived_of(column)
        return self.attribute(column).name if derived is None else derived.name

    def attribute(self, column: exp.Column) -> Attribute:
        return self.domain.attributes[self.axis(column)]


def hierarchy_columns(domain: Domain) -> dict[str, DerivedColumn]:
    """The groups of every hierarchy, as columns: NAME_group has the narrowest, NAME_group1 the widest, NAME_group2 the
    next, as in cubes. Undeclared and missing values are in none."""
    found = {}
    for axis, attribute in enumerate(domain.attributes):
        if not isinstance(attribute, Category):
            continue
        depth, beyond = len(attribute.levels), [None] * (attribute.size - attribute.cells)
        for level, down_to in [("", depth), *((str(level), level) for level in range(1, depth + 1))] if depth else []:
            groups = [_narrowest(attribute, code, down_to) for code in range(attribute.cells)]
            name = f"{attribute.name}{GROUP_SUFFIX}{level}"
            found[name.lower()] = DerivedColumn(name, axis, (*groups, *beyond))
    return found


def _narrowest(attribute: Category, code: int, down_to: int) -> str | None:
    """The narrowest group of a value in the first levels."""
    groups = [level[code] for level in attribute.levels[:down_to] if level[code] is not None]
    return groups[-1] if groups else None
