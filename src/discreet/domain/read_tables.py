"""TOML text → tables of the same people: what each is told apart by, how many rows of a person, and its parent."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from discreet.domain.domain import Domain
from discreet.domain.lines import place_of
from discreet.domain.read import NAME, parse_document, parse_domain, parts_of
from discreet.domain.tables import LinkedTable, LinkedTables
from discreet.errors import DomainError

LINKS = ("id", "max_rows", "parent", "key")
"""What a table says of people and of other tables, beside what a domain says."""
MOST_ROWS = 10**6
SEVERAL = re.compile(r"(?m)^[ \t]*\[?[ \t]*[\"']?tables[\"']?[ \t]*[.\]=]")


def parse_tables(text: str, file: str | Path | None = None) -> LinkedTables:
    """The tables that a domain's text declares: several, or the one that all of it is about."""
    if not SEVERAL.search(text):  # reading a text twice takes long where it has codebooks
        return LinkedTables((LinkedTable(domain := parse_domain(text, file), len(domain.attributes)),))
    try:
        document = parse_document(text)
        if "tables" not in document:
            return LinkedTables((LinkedTable(domain := parse_domain(text), len(domain.attributes)),))
        return _TablesReader(text, document).tables()
    except DomainError as error:
        raise (error if file is None else error.in_file(str(file))) from None


@dataclass(frozen=True)
class _TablesReader:
    """Reads the tables of a text; what is wrong has a line."""

    text: str
    document: Mapping[str, Any]

    def fail(self, name: str | None, key: str | None, problem: str) -> NoReturn:
        path = ("tables", *(part for part in (name, key) if part is not None))
        raise DomainError(f"{'.'.join(path)}: {problem}", *place_of(self.text, path))

    def tables(self) -> LinkedTables:
        said = self.document["tables"]
        for key in self.document:
            if key not in ("tables", "codebooks"):
                problem = f"{key!r} is said of each table: write it below [tables.NAME]"
                raise DomainError(problem, *place_of(self.text, (key,)))
        if not isinstance(said, dict) or len(said) < 2 or not all(isinstance(one, dict) for one in said.values()):
            self.fail(None, None, "two tables or more, each [tables.NAME]; one alone is a domain without `tables`")
        spelled: dict[str, str] = {}
        for name in said:
            if not NAME.fullmatch(name):
                self.fail(name, None, "a table's name in SQL has letters, digits and _")
            if spelled.setdefault(name.lower(), name) != name:
                self.fail(name, None, f"SQL cannot tell it from {spelled[name.lower()]}: the names differ in case only")
        found: dict[str, LinkedTable] = {}
        for name in self._ordered(said):
            found[name] = self._table(name, said[name], found)
        self._require_one_calendar(tuple(found.values()))
        return LinkedTables(tuple(found.values()))

    def _require_one_calendar(self, tables: tuple[LinkedTable, ...]) -> None:
        """A period is closed in all tables that grow at once: they have the same, up to the same end."""
        growing = [(table.name, one) for table in tables if (one := table.own_domain.growing) is not None]
        for name, one in growing[1:]:
            beside, first = growing[0]
            if (one.period, one.label(one.cells - 1)) != (first.period, first.label(first.cells - 1)):
                same = f"{one.name} needs the period and the high of {beside}.{first.name}"
                self.fail(name, "attributes", f"tables grow together: {same}")

    def _ordered(self, said: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
        """Parents before their children, and else as they are written."""
        waiting = list(said)
        while waiting:
            ready = [name for name in waiting if said[name].get("parent") not in waiting]
            if not ready:
                self.fail(waiting[0], "parent", "a table cannot be above itself: these go in a circle")
            for name in ready:
                parent = said[name].get("parent")
                if parent is not None and (not isinstance(parent, str) or parent not in said):
                    self.fail(name, "parent", f"no such table; there are {', '.join(said)}")
            yield from ready
            waiting = [name for name in waiting if name not in ready]

    def _table(self, name: str, said: Mapping[str, Any], above: Mapping[str, LinkedTable]) -> LinkedTable:
        own = self._own(name, said)
        parent = None if said.get("parent") is None else above[said["parent"]]
        id, key = (self._column(name, said, one) for one in ("id", "key"))
        max_rows = self._max_rows(name, said, parent)
        if own.found and id is None:
            self.fail(
                name,
                "attributes",
                'values are discovered in a table that has a column of ids, id = "…": by that it is known whose each '
                "is; declare them here",
            )
        if parent is None and (id is None or key is not None):
            what = "key says which row of a parent is meant; name the parent" if key is not None else ""
            self.fail(name, "key" if key else None, what or 'id = "…" is required: the column that tells people apart')
        if parent is not None:
            self._require_link(name, id, key, parent)
            if own.null_ids == "own":
                self.fail(name, "null_ids", "a row without an id has no parent: drop or refuse")
            self._require_apart(name, own, parent)
        attributes = (*own.attributes, *(parent.domain.attributes if parent else ()))
        person = id or (parent.domain.person if parent else None)
        domain = replace(own, attributes=attributes, person=person, max_rows=max_rows)
        return LinkedTable(domain, len(own.attributes), id, parent.name if parent else None, key)

    def _own(self, name: str, said: Mapping[str, Any]) -> Domain:
        if "name" in said:
            self.fail(name, "name", f"its name in SQL is {name}, as the header has it")
        told = {key: value for key, value in said.items() if key not in LINKS}
        books = self.document.get("codebooks", {})
        parts = parts_of(self.text, {"name": name, "codebooks": books, **told}, ("tables", name))
        return Domain(parts.name, tuple(reader.attribute() for reader in parts.readers), parts.null_ids)

    def _column(self, name: str, said: Mapping[str, Any], key: str) -> str | None:
        column = said.get(key)
        if column is not None and (not isinstance(column, str) or not column.strip()):
            self.fail(name, key, "a column's name")
        return column

    def _max_rows(self, name: str, said: Mapping[str, Any], parent: LinkedTable | None) -> int:
        most = said.get("max_rows")
        if most is None and parent is None:
            return 1
        if type(most) is not int or not 1 <= most <= MOST_ROWS:
            required = "max_rows = … is required" if most is None else f"a whole number from 1 to {MOST_ROWS:,}"
            self.fail(
                name,
                "max_rows",
                f"{required}: the most rows to keep of one person, over all parents; from public knowledge, not from "
                "the table",
            )
        return most

    def _require_link(self, name: str, id: str | None, key: str | None, parent: LinkedTable) -> None:
        if id is None and key is None:
            self.fail(
                name, None, f'its rows need a parent in {parent.name}: id = "…", a person\'s id, or key = "…", a column'
            )
        if key is None and (parent.max_rows != 1 or parent.id is None):
            self.fail(
                name,
                "parent",
                f"{parent.name} may have {parent.max_rows} rows of a person, and an id does not say which is meant; "
                'name a column that does: key = "…"',
            )

    def _require_apart(self, name: str, own: Domain, parent: LinkedTable) -> None:
        theirs = {attribute.name.lower() for attribute in parent.domain.attributes}
        for attribute in own.attributes:
            if attribute.name.lower() in theirs:
                self.fail(
                    name,
                    "attributes",
                    f"{attribute.name} is an attribute of {parent.name} already, which rows of {name} have too; leave "
                    "it out here, or call the column otherwise",
                )
