"""The catalogue: SHOW, DESCRIBE and information_schema, told from the declared domain and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mysql_mimic.constants import INFO_SCHEMA

from discreet.domain.attribute import Attribute, Bins, Category, Integer
from discreet.domain.tables import LinkedTable, LinkedTables
from discreet.errors import UnknownTable, UnsupportedQuery
from discreet.server.mysql.columns import ClientRows, text_column
from discreet.server.mysql.keys import ListedColumn, index_lines, key_rows, listed_columns, written_keys
from discreet.server.mysql.probe import Tables, evaluate, is_like
from discreet.server.mysql.schemas import DATABASE
from discreet.server.mysql.text import Token, TokenList, read_statement, standard
from discreet.sql.lookup import Lookup
from discreet.sql.tokens import shown

INFORMATION = "information_schema"
WITH_INTERVALS = "_with_intervals"
"""Behind the table's name: the view in which every number has its interval, whatever a session sets."""
CHARSET, COLLATION = "utf8mb4", "utf8mb4_general_ci"
EMPTY = {
    "index": ("Table", "Non_unique", "Key_name", "Seq_in_index", "Column_name", "Collation", "Cardinality", "Sub_part",
              "Packed", "Null", "Index_type", "Comment", "Index_comment", "Visible", "Expression"),
    "status": ("Variable_name", "Value"),
    "errors": ("Level", "Code", "Message"),
    "processlist": ("Id", "User", "Host", "db", "Command", "Time", "State", "Info"),
    "plugins": ("Name", "Status", "Type", "Library", "License"),
    "triggers": ("Trigger", "Event", "Table", "Statement", "Timing", "Created", "sql_mode", "Definer"),
    "events": ("Db", "Name", "Definer", "Time zone", "Type", "Status"),
    "procedure": ("Db", "Name", "Type", "Definer", "Modified", "Created", "Security_type", "Comment"),
    "function": ("Db", "Name", "Type", "Definer", "Modified", "Created", "Security_type", "Comment"),
}  # fmt: skip
"""What there is none of, or nobody's business; with the columns that clients expect."""
HELP = {"mysql": {"help_topic": ("help_topic_id", "name", "help_category_id", "description", "example", "url")}}
"""Besides the tables that mysql-mimic knows of: shells complete words from it."""
SYNONYMS = {"schemas": "databases", "fields": "columns", "indexes": "index", "keys": "index", "charset": "character"}
KEYS = ("table_constraints", "key_column_usage", "referential_constraints", "statistics")
"""Tables of information_schema that say how several tables are joined."""
BESIDE = ("full", "extended", "session", "global", "local", "storage")
"""Words of SHOW that change nothing here, or (FULL) are looked for by themselves."""
Line = Sequence[Any]


@dataclass(frozen=True)
class Catalogue:
    """What the declared tables tell of themselves to SQL clients, and the look-up tables that questions may join them
    with."""

    linked: LinkedTables
    lookups: Mapping[str, Lookup] = field(default_factory=dict)
    database: str = DATABASE
    databases: Sequence[str] = (DATABASE,)
    """All that there are."""

    def columns_of(self, name: str) -> list[ListedColumn]:
        """The columns of a table, of its view, or of a look-up table; an unknown one raises."""
        table = self.linked.find(name) or self._viewed(name)
        if table is not None:
            return listed_columns(table, self.linked)
        if name.lower() not in self.lookups:
            names = ", ".join([*self.linked.names, *self.lookups])
            raise UnknownTable(f"there is no table {shown(name)}; there is {names}")
        lookup = self.lookups[name.lower()]
        return [ListedColumn.of(_looked_up(lookup.name, column, values)) for column, values in lookup.columns.items()]

    @property
    def views(self) -> dict[str, LinkedTable]:
        """The names under which every number of a table comes with its interval. One that is a table's own is none."""
        found = {f"{table.name}{WITH_INTERVALS}": table for table in self.linked}
        return {name: table for name, table in found.items() if self.linked.find(name) is None}

    def _viewed(self, name: str) -> LinkedTable | None:
        return next((table for view, table in self.views.items() if view.lower() == name.lower()), None)

    def tables(self) -> Tables:
        """information_schema as this schema alone has it."""
        return information_schema([self], self.databases)

    def rows_of(self, name: str) -> list[dict[str, Any]]:
        """What this schema adds to a table of information_schema."""
        match name:
            case "tables":
                return self._tables()
            case "views":
                return [
                    {
                        "table_catalog": "def",
                        "table_schema": self.database,
                        "table_name": view,
                        "is_updatable": "NO",
                        "check_option": "NONE",
                        "character_set_client": CHARSET,
                        "collation_connection": COLLATION,
                    }
                    for view in self.views
                ]
            case "columns":
                return [
                    {**self._column(place, column), "table_name": name}
                    for name in (*self.linked.names, *self.views, *self.lookups)
                    for place, column in enumerate(self.columns_of(name), 1)
                ]
        return key_rows(name, self.linked, self.database)

    def _tables(self) -> list[dict[str, Any]]:
        return [*map(self._table, self.linked.names), *map(self._view, self.views), *map(self._lookup, self.lookups)]

    def _table(self, name: str) -> dict[str, Any]:
        return {
            "table_catalog": "def",
            "table_schema": self.database,
            "table_name": name,
            "table_type": "BASE TABLE",
            "engine": "Discreet",
            "version": 10,
            "table_collation": COLLATION,
            "create_options": "",
            "table_comment": "answers are noisy; single rows are never shown",
        }

    def _view(self, name: str) -> dict[str, Any]:
        comment = "VIEW: the same table; each noisy column n comes with n_low and n_high"
        return {
            **self._table(name),
            "table_type": "VIEW",
            "engine": None,
            "table_comment": comment,
        }

    def _lookup(self, name: str) -> dict[str, Any]:
        return {**self._table(name), "table_comment": "a public look-up table, to join with"}

    def _column(self, place: int, column: ListedColumn) -> dict[str, Any]:
        whole = column.type
        kind = whole.partition("(")[0]
        is_text = kind == "varchar"
        return {
            "table_catalog": "def",
            "table_schema": self.database,
            "column_name": column.name,
            "ordinal_position": place,
            "is_nullable": "YES" if column.null else "NO",
            "data_type": kind,
            "character_maximum_length": int(whole[8:-1]) if is_text else None,
            "character_octet_length": 4 * int(whole[8:-1]) if is_text else None,
            "numeric_precision": None if is_text else 19 if kind == "bigint" else 22,
            "numeric_scale": 0 if kind == "bigint" else None,
            "character_set_name": CHARSET if is_text else None,
            "collation_name": COLLATION if is_text else None,
            "column_type": whole,
            "column_key": column.key,
            "extra": "",
            "privileges": "select",
            "column_comment": column.comment,
            "generation_expression": "",
        }

    def show(self, statement: TokenList, variables: Sequence[tuple[str, Any]], notes: Sequence[Line]) -> ClientRows:
        """Do a SHOW; its LIKE is of the first column, its WHERE of any."""
        tokens = [token for token in statement.tokens[1:] if not token.is_word(*BESIDE)]
        full = any(token.is_word("full") for token in statement.tokens[:3])
        what = SYNONYMS.get(tokens[0].value, tokens[0].value) if tokens else ""
        if what == "create" and len(tokens) > 2 and tokens[1].is_word("table", "view"):
            return self._create(tokens[2:])
        if what == "table" and tokens[1:2] and tokens[1].is_word("status"):
            titles, lines = self._table_status()
            return _picked(titles, lines, tokens[2:])
        named, rest = _from([token for token in tokens[1:] if not token.is_word("set", "status")])
        match what:
            case "tables":
                database = named[-1] if named else self.database.lower()
                every = [(one["table_name"], one["table_type"]) for one in self._tables()]
                lines = every if database == self.database.lower() else []
                titles = (f"Tables_in_{database}", "Table_type")
                return _picked(titles, lines, rest) if full else _picked(titles[:1], [line[:1] for line in lines], rest)
            case "columns":
                return _picked(*self._columns(named, full), rest)
            case "index" if named:
                return _picked(EMPTY["index"], self._index(named), rest)
        return show_server(statement, self.databases, variables, notes)

    def _columns(self, named: list[str], full: bool) -> tuple[Sequence[str], Sequence[Line]]:
        if not named:
            raise UnsupportedQuery(f"of which table? SHOW COLUMNS FROM {self.linked.names[0]}")
        own = self.columns_of(self._named(named))
        titles = ("Field", "Type", "Null", "Key", "Default", "Extra")
        found = [self._column(place, column) for place, column in enumerate(own, 1)]
        lines = [(c["column_name"], c["column_type"], c["is_nullable"], c["column_key"], None, "") for c in found]
        if not full:
            return titles, lines
        return (*titles[:2], "Collation", *titles[2:], "Privileges", "Comment"), [
            (*line[:2], c["collation_name"], *line[2:], "select", c["column_comment"])
            for line, c in zip(lines, found, strict=True)
        ]

    def _named(self, named: list[str]) -> str:
        """The table of names after FROM, of which one may be the schema's."""
        return named[0] if named[0] != self.database.lower() or len(named) == 1 else named[1]

    def _index(self, named: list[str]) -> list[Line]:
        """The keys of a table; of a view and of a look-up table none are declared."""
        name = self._named(named)
        self.columns_of(name)  # an unknown one is refused
        table = self.linked.find(name)
        return [] if table is None else index_lines(table, self.linked)

    def describe(self, tokens: Sequence[Token]) -> ClientRows:
        """DESCRIBE table [column]."""
        named, rest = _from([Token("word", "FROM", "from"), *tokens])
        titles, lines = self._columns(named, False)
        if rest:
            lines = [line for line in lines if line[0].lower() == rest[0].value]
        return _picked(titles, lines, [])

    def _create(self, tokens: Sequence[Token]) -> ClientRows:
        named, _ = _from([Token("word", "FROM", "from"), *tokens])
        own, table = self.columns_of(named[0]), self.linked.find(named[0])
        if (viewed := self._viewed(named[0])) is not None and table is None:
            view = f"{viewed.name}{WITH_INTERVALS}"
            titles = ("View", "Create View", "character_set_client", "collation_connection")
            text = f"CREATE VIEW `{view}` AS SELECT * FROM `{viewed.name}`"
            return _picked(titles, [(view, text, CHARSET, COLLATION)], [])
        lines = [
            f"  `{column.name}` {column.type} {'DEFAULT' if column.null else 'NOT'} NULL COMMENT "
            f"'{column.comment.replace(chr(39), chr(39) * 2)}'"
            for column in own
        ]
        if table is not None:
            lines += [f"  {key}" for key in written_keys(table, self.linked)]
        body = ",\n".join(lines)
        name = named[0] if table is None else table.name
        text = f"CREATE TABLE `{name}` (\n{body}\n) ENGINE=Discreet DEFAULT CHARSET={CHARSET}"
        return _picked(("Table", "Create Table"), [(name, text)], [])

    def _table_status(self) -> tuple[Sequence[str], Sequence[Line]]:
        titles = ("Name", "Engine", "Version", "Rows", "Collation", "Comment")
        return titles, [
            (one["table_name"], one["engine"], 10, None, COLLATION, one["table_comment"]) for one in self._tables()
        ]


def show_server(
    statement: TokenList, databases: Sequence[str], variables: Sequence[tuple[str, Any]], notes: Sequence[Line]
) -> ClientRows:
    """Do a SHOW of what is no schema's own."""
    tokens = [token for token in statement.tokens[1:] if not token.is_word(*BESIDE)]
    if not tokens:
        raise UnsupportedQuery("SHOW what? TABLES, COLUMNS FROM a table, DATABASES, VARIABLES, WARNINGS, …")
    what = SYNONYMS.get(tokens[0].value, tokens[0].value)
    _, rest = _from([token for token in tokens[1:] if not token.is_word("set", "status")])
    titles, lines = _listing(what, databases, variables, notes)
    return _picked(titles, lines, [] if what == "grants" else rest)


def _listing(
    what: str, databases: Sequence[str], variables: Sequence[tuple[str, Any]], notes: Sequence[Line]
) -> tuple[Sequence[str], Sequence[Line]]:
    match what:
        case "databases":
            return ("Database",), [(name,) for name in (*databases, INFORMATION)]
        case "variables":
            return ("Variable_name", "Value"), [(name, _text(value)) for name, value in variables]
        case "warnings":
            return EMPTY["errors"], [(level, "1105", note) for level, note in notes]
        case "engines":
            engine = ("Discreet", "DEFAULT", "differential privacy", "NO", "NO", "NO")
            return ("Engine", "Support", "Comment", "Transactions", "XA", "Savepoints"), [engine]
        case "character":
            return ("Charset", "Description", "Default collation", "Maxlen"), [(CHARSET, "", COLLATION, 4)]
        case "collation":
            line = (COLLATION, CHARSET, 45, "Yes", "Yes", 1)
            return ("Collation", "Charset", "Id", "Default", "Compiled", "Sortlen"), [line]
        case "grants":
            return ("Grants",), [(f"GRANT SELECT ON `{name}`.* TO CURRENT_USER",) for name in databases]
    if what in EMPTY:
        return EMPTY[what], []
    raise UnsupportedQuery(f"SHOW {shown(what.upper())} is not supported; TABLES, COLUMNS, DATABASES, VARIABLES are")


def information_schema(catalogues: Sequence[Catalogue], databases: Sequence[str]) -> Tables:
    """information_schema with the tables of every schema, and the tables of MySQL's that are empty here."""
    filled: dict[str, list[dict[str, Any]]] = {
        "schemata": [{"catalog_name": "def", "schema_name": name, "default_character_set_name": CHARSET,
                      "default_collation_name": COLLATION} for name in (*databases, INFORMATION)],
        "character_sets": [{"character_set_name": CHARSET, "default_collate_name": COLLATION, "maxlen": 4}],
        "collations": [{"collation_name": COLLATION, "character_set_name": CHARSET, "id": 45, "is_default": "Yes",
                        "is_compiled": "Yes", "sortlen": 1}],
    }  # fmt: skip
    for name in ("tables", "views", "columns", *KEYS):
        filled[name] = [row for catalogue in catalogues for row in catalogue.rows_of(name)]
    return {
        f"{schema}.{name}": (
            [column.upper() for column in columns] if schema == INFORMATION else list(columns),
            [[row.get(column) for column in columns] for row in filled.get(name, ())],
        )
        for schema, tables in (*INFO_SCHEMA.items(), *HELP.items())
        for name, columns in tables.items()
    }


def _looked_up(table: str, name: str, values: Sequence[Any]) -> Attribute:
    """A column of a look-up table, as a domain would declare it."""
    there = [value for value in values if value is not None]
    about: dict[str, Any] = {"name": name, "source": f"look-up table {table}", "null": len(there) < len(values)}
    if there and all(type(value) is int for value in there):
        return Integer(low=min(there), high=max(there), **about)
    if there and all(type(value) is float for value in there):
        return Bins(edges=(None, None), **about)
    return Category(values=tuple(dict.fromkeys(map(str, there))), **about)


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return None if value is None else str(value)


def _from(tokens: Sequence[Token]) -> tuple[list[str], Sequence[Token]]:
    """The names after FROM or IN, the table's first, and what follows them."""
    named: list[str] = []
    place = 0
    while place + 1 < len(tokens) and tokens[place].is_word("from", "in"):
        path = [tokens[place + 1].value]
        place += 2
        while place + 1 < len(tokens) and tokens[place].is_sign("."):
            path.append(tokens[place + 1].value)
            place += 2
        named += reversed(path)
    return named, tokens[place:]


def _picked(titles: Sequence[str], lines: Sequence[Line], rest: Sequence[Token]) -> ClientRows:
    """The lines that LIKE or WHERE let through."""
    columns = tuple(text_column(title) for title in titles)
    match rest:
        case []:
            return ClientRows(columns, tuple(tuple(line) for line in lines))
        case [like, pattern] if like.is_word("like") and pattern.kind == "string":
            return ClientRows(columns, tuple(tuple(line) for line in lines if is_like(str(line[0]), pattern.value)))
        case [where, *condition] if where.is_word("where") and condition:
            text = " ".join(standard(token) for token in condition)
            asked = read_statement(f"SELECT * FROM told.lines WHERE {text}", ansi_quotes=True)
            found = evaluate(asked, _no_variable, {}, {"told.lines": (titles, lines)})
            return ClientRows(columns, found.rows)
        case [limit, *_] if limit.is_word("limit"):
            return ClientRows(columns, tuple(tuple(line) for line in lines))
    raise UnsupportedQuery(f"SHOW takes LIKE '…' or WHERE …; {shown(rest[0].text)} is not supported here")


def _no_variable(written: str) -> Any:
    raise UnsupportedQuery(f"{shown(written)} is not supported in SHOW")
