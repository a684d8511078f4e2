"""A domain of several tables to fill in: each table's columns, and by their names what links the tables.

Which columns tables have in common is part of their description, as types are: no row is looked at. How the tables are
linked is a guess, and says so.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from discreet.domain.read import NAME
from discreet.domain.write import quoted
from discreet.errors import DomainError
from discreet.table.open import open_source
from discreet.table.propose import Wishes, blocks, heading
from discreet.table.source import Source

GUESSED = "a guess, by the names of columns"
MOST = "# max_rows =  # required: the most rows to keep of one person, from public knowledge"


@dataclass(frozen=True)
class Link:
    """How a table is guessed to be linked: what tells people apart in it, its parent, and by which column."""

    id: str | None = None
    parent: str | None = None
    key: str | None = None
    other: str = ""
    """Another parent that it could have, in words."""

    def lines(self, name: str) -> Iterator[str]:
        yield f"[tables.{name}]"
        if self.parent is None:
            told = 'id = ""' if self.id is None else f"id = {quoted(self.id)}"
            why = "required: the column that tells people apart" if self.id is None else GUESSED
            yield f"{told}  # {why}; in all tables the same ids"
            yield "# max_rows =  # leave it out where each person has one row"
            return
        if self.id is not None:
            yield f"id = {quoted(self.id)}"
        yield f"parent = {quoted(self.parent)}  # {GUESSED}"
        if self.key is not None:
            yield f"key = {quoted(self.key)}"
        if self.other:
            yield f"# {self.other}"
        yield MOST


def propose_tables(tables: Mapping[str, object], wishes: Wishes | None = None) -> str:
    """TOML with [tables.NAME] for each, and a table for each column; the first one is taken for that of the people.
    What nothing declares is left to the custodian."""
    wishes = wishes or Wishes()
    if len(tables) < 2:
        raise DomainError("two tables or more, each by its name: patients=patients.csv visits=visits.csv")
    if wrong := [name for name in tables if not NAME.fullmatch(name)]:
        raise DomainError(
            f"{wrong[0]!r:.60}: a table's name in SQL has letters, digits and _, and begins with a letter"
        )
    sources = {name: open_source(table) for name, table in tables.items()}
    for column in wishes.only:
        if not any(column in source.columns for source in sources.values()):
            raise DomainError(f"none of these tables has a column {column!r:.60}")
    links = _links(sources)
    lines = heading(wishes)
    for name, source in sources.items():
        lines += ["", *links[name].lines(name)]
        own = Wishes(wishes.reuse, wishes.source, [one for one in wishes.only if one in source.columns])
        if wishes.only and not own.only:
            continue
        for block in blocks(source, own, ("tables", name), _without(name, sources, links)):
            lines += ["", *block]
    return "\n".join(lines) + "\n"


def _links(sources: Mapping[str, Source]) -> dict[str, Link]:
    """How each table is linked to those before it."""
    [first, *others] = sources
    person = _person(sources[first], [sources[name] for name in others])
    found = {first: Link(person)}
    for name in others:
        ways = list(_ways(name, sources, found, person))
        found[name] = ways[0] if ways else Link()
        if len(ways) > 1:
            by = ways[1].key or ways[1].id
            other = f"or parent = {quoted(str(ways[1].parent))} by {by}, which is there as well"
            found[name] = Link(ways[0].id, ways[0].parent, ways[0].key, other)
    return found


def _person(first: Source, others: list[Source]) -> str | None:
    """The column that tells people apart: a key that is declared, or one that other tables have too."""
    keys = [column for column, said in first.declared().items() if said.key]
    shared = [column for column in first.columns if any(column in other.columns for other in others)]
    both = [column for column in keys if column in shared]
    return next(iter((*both, *shared, *keys)), None)


def _ways(name: str, sources: Mapping[str, Source], before: Mapping[str, Link], person: str | None) -> Iterator[Link]:
    """The parents that a table could have: the people by their id, else a table that has a column in common."""
    columns = sources[name].columns
    own = person if person in columns else None
    first = next(iter(before))
    if own is not None:
        yield Link(own, first)
    for other in reversed([one for one in before if one != first]):
        keys = [column for column, said in sources[other].declared().items() if said.key]
        shared = [column for column in columns if column in sources[other].columns and column != person]
        best = next((column for column in keys if column in shared), next(iter(shared), None))
        if best is not None:
            yield Link(own, other, best)


def _without(name: str, sources: Mapping[str, Source], links: Mapping[str, Link]) -> dict[str, str]:
    """The columns of a table that are no attributes of it: keys, and what its parents have."""
    own, found = links[name], dict[str, str]()
    above = own.parent
    while above is not None:
        theirs = f"is an attribute of {above}, which rows of {name} have too"
        found |= dict.fromkeys(sources[above].columns, theirs)
        above = links[above].parent
    keys = (own.id, own.key, *(below.key or below.id for below in links.values() if below.parent == name))
    return found | dict.fromkeys(filter(None, keys), "says which row is meant: an id is no attribute")
