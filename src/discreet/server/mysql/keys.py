"""The columns of a table as a catalogue lists them, and the keys along which several tables are joined.

Of several tables the columns that tell people and rows apart are listed too, so that tools find how to join them. What
is in them is never shown.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mysql_mimic import ResultColumn

from discreet.domain.attribute import Attribute
from discreet.domain.tables import LinkedTable, LinkedTables
from discreet.server.mysql.columns import comment, number_column, text_column, type_name, whole_column
from discreet.sql.tables import keys_of

KEY_TYPE = "varchar(255)"
"""What is in a key is nobody's business, and so is its type."""
Line = dict[str, Any]


@dataclass(frozen=True)
class ListedColumn:
    """A column, and what MySQL calls its part in a key: PRI, UNI, MUL or nothing."""

    name: str
    type: str
    comment: str
    null: bool = False
    key: str = ""

    @property
    def sampled(self) -> ResultColumn:
        """The column of a table's rows, had any been shown."""
        made = {"bigint": whole_column, "double": number_column}
        return made.get(self.type, text_column)(self.name)

    @classmethod
    def of(cls, attribute: Attribute) -> "ListedColumn":
        return cls(attribute.name, type_name(attribute), comment(attribute), attribute.null)


@dataclass(frozen=True)
class ForeignKey:
    """A column of a table, and that of its parent which it is equal to."""

    table: str
    column: str
    parent: str
    its: str

    @property
    def name(self) -> str:
        return f"{self.table}_{self.parent}"


def key_columns(table: LinkedTable, tables: LinkedTables) -> tuple[str, ...]:
    """The columns that tell a table's rows and people apart, and its rows' parents; of one table alone none is
    listed."""
    if len(tables) == 1:
        return ()
    named = [*unique_columns(table, tables), table.id, table.key]
    known = {attribute.name.lower() for attribute in table.domain.attributes}
    return tuple(name for name in dict.fromkeys(named) if name is not None and name.lower() not in known)


def unique_columns(table: LinkedTable, tables: LinkedTables) -> list[str]:
    """Columns in which no two rows are alike: the primary key first."""
    by_person = [table.id] if table.max_rows == 1 and table.id is not None else []
    by_key = [below.key for below in tables if below.parent == table.name and below.key is not None]
    return list(dict.fromkeys([*by_person, *by_key])) if len(tables) > 1 else []


def foreign_key(table: LinkedTable, tables: LinkedTables) -> ForeignKey | None:
    """How a table is joined with its parent, where it has one."""
    if table.parent is None:
        return None
    return ForeignKey(table.name, *_between(table, tables))


def _between(table: LinkedTable, tables: LinkedTables) -> tuple[str, str, str]:
    own, its = keys_of(table, tables)
    return own, tables[str(table.parent)].name, its


def listed_columns(table: LinkedTable, tables: LinkedTables) -> list[ListedColumn]:
    """Key columns, then what the table may be asked by: its own attributes, and its parent's."""
    unique, foreign = unique_columns(table, tables), foreign_key(table, tables)
    found = []
    for name in key_columns(table, tables):
        part = dict.fromkeys(unique, "UNI") | dict.fromkeys(unique[:1], "PRI")
        key = part.get(name, "MUL" if foreign is not None and name == foreign.column else "")
        what = f"the key of {foreign.parent}" if key == "MUL" and foreign is not None else "tells rows apart"
        found.append(ListedColumn(name, KEY_TYPE, f"{what}; for joins and COUNT(DISTINCT …), never shown", key=key))
    return [*found, *map(ListedColumn.of, table.domain.attributes)]


def written_keys(table: LinkedTable, tables: LinkedTables) -> Iterator[str]:
    """The keys as CREATE TABLE writes them."""
    for place, name in enumerate(unique_columns(table, tables)):
        yield f"PRIMARY KEY (`{name}`)" if place == 0 else f"UNIQUE KEY `{name}` (`{name}`)"
    if (foreign := foreign_key(table, tables)) is not None:
        yield (
            f"CONSTRAINT `{foreign.name}` FOREIGN KEY (`{foreign.column}`) REFERENCES `{foreign.parent}` "
            f"(`{foreign.its}`)"
        )


def key_rows(what: str, tables: LinkedTables, database: str) -> list[Line]:
    """What the keys add to a table of information_schema."""
    return [line for table in tables for line in _rows(what, table, tables, database)]


def _rows(what: str, table: LinkedTable, tables: LinkedTables, database: str) -> Iterator[Line]:
    foreign = foreign_key(table, tables)
    here = {
        "constraint_catalog": "def",
        "constraint_schema": database,
        "table_schema": database,
        "table_name": table.name,
    }
    for name, column in _named_uniques(table, tables):
        if what == "table_constraints":
            kind = "PRIMARY KEY" if name == "PRIMARY" else "UNIQUE"
            yield {**here, "constraint_name": name, "constraint_type": kind, "enforced": "YES"}
        elif what == "key_column_usage":
            yield {
                **here,
                "table_catalog": "def",
                "constraint_name": name,
                "column_name": column,
                "ordinal_position": 1,
            }
        elif what == "statistics":
            yield {**here, "table_catalog": "def", "non_unique": 0, "index_schema": database, "index_name": name,
                   "seq_in_index": 1, "column_name": column, "collation": "A", "nullable": "", "index_type": "BTREE",
                   "comment": "", "index_comment": "", "is_visible": "YES"}  # fmt: skip
    if foreign is None:
        return
    if what == "table_constraints":
        yield {**here, "constraint_name": foreign.name, "constraint_type": "FOREIGN KEY", "enforced": "YES"}
    elif what == "key_column_usage":
        yield {**here, "table_catalog": "def", "constraint_name": foreign.name, "column_name": foreign.column,
               "ordinal_position": 1, "position_in_unique_constraint": 1, "referenced_table_schema": database,
               "referenced_table_name": foreign.parent, "referenced_column_name": foreign.its}  # fmt: skip
    elif what == "referential_constraints":
        parent = unique_columns(tables[foreign.parent], tables)
        name = "PRIMARY" if parent and parent[0] == foreign.its else foreign.its
        yield {**here, "constraint_name": foreign.name, "unique_constraint_catalog": "def",
               "unique_constraint_schema": database, "unique_constraint_name": name, "update_rule": "RESTRICT",
               "match_option": "NONE", "delete_rule": "RESTRICT", "referenced_table_name": foreign.parent}  # fmt: skip


def index_lines(table: LinkedTable, tables: LinkedTables) -> list[Sequence[Any]]:
    """The unique columns as SHOW INDEX has them."""
    return [
        (table.name, 0, name, 1, column, "A", None, None, None, "", "BTREE", "", "", "YES", None)
        for name, column in _named_uniques(table, tables)
    ]


def _named_uniques(table: LinkedTable, tables: LinkedTables) -> list[tuple[str, str]]:
    """The unique columns, each with the name of its index."""
    unique = unique_columns(table, tables)
    return list(zip(["PRIMARY", *unique[1:]], unique, strict=False))
