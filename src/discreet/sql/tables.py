"""Which of several tables a statement is about; and a join along declared keys as what it is, rows of one table.

A row has one parent, and its attributes beside its own: `encounters JOIN patients` on the declared key is `encounters`.
A join of anything else would set people beside one another, or make rows that no table has, and is refused.
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from discreet.domain.tables import LinkedTable, LinkedTables
from discreet.errors import DomainError, UnknownTable, UnsupportedQuery
from discreet.sql.passes.tree import conjuncts, sources_of, text_of
from discreet.sql.scope import Scope
from discreet.sql.syntax import only_named, place_of, read_query
from discreet.sql.tokens import shown

Named = Mapping[str, LinkedTable]
"""The tables of a SELECT by their names in it."""


def tables_asked(text: str, tables: LinkedTables) -> tuple[tuple[LinkedTable, ...], str]:
    """The tables that a statement is about, and the statement with each join along keys as what it is: every SELECT is
    about one of them then. Raises as reading it does."""
    if len(tables) == 1:
        return tables.tables, text
    tree = read_query(text)
    withs = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for table in tables:
        if table.name.lower() in withs:
            raise UnsupportedQuery(f"{table.name} is a table of this vault; give the WITH another name")
    joined = [select for select in tree.find_all(exp.Select) if len(_sources(select, tables)) > 1]
    for select in joined:
        _join(select, tables)
    asked = {found.name: found for node in tree.find_all(exp.Table) if (found := tables.find(node.name)) is not None}
    if not asked:
        raise UnknownTable(f"the statement asks nothing of the vault's tables; there are {', '.join(tables.names)}")
    return tuple(table for table in tables if table.name in asked), text_of(tree) if joined else text


def _sources(select: exp.Select, tables: LinkedTables) -> list[exp.Table]:
    return [node for node in sources_of(select) if isinstance(node, exp.Table) and tables.find(node.name) is not None]


def _join(select: exp.Select, tables: LinkedTables) -> None:
    """Write a SELECT from tables that are joined along their keys as one from the lowest of them."""
    nodes = _sources(select, tables)
    if nodes[0] is not sources_of(select)[0]:
        raise UnsupportedQuery(f"the vault's tables come first{place_of(nodes[0])}, and what is joined to them after")
    for node in nodes:
        only_named(node, f"{tables[node.name].name} by its name")
    named = {(node.alias or node.name).lower(): tables[node.name] for node in nodes}
    lowest = _lowest(list(named.values()), len(nodes), tables)
    linked = {lowest.name}
    for join in select.args.get("joins") or ():
        if join.this in nodes:
            linked |= _links(join, named, tables, lowest)
    if missing := [table.name for table in named.values() if table.name not in linked]:
        raise UnsupportedQuery(f"{missing[0]} is joined without its key; {_how(named, tables)}")
    alias = next(name for name, table in named.items() if table is lowest)
    others = [join for join in select.args.get("joins") or () if join.this not in nodes]
    own = next(node for node in nodes if (node.alias or node.name).lower() == alias).copy()
    select.set("from_", exp.From(this=own))
    select.set("joins", others or None)
    for column in [one for one in select.find_all(exp.Column) if one.find_ancestor(exp.Select) is select]:
        _rename(column, named, lowest, alias)


def _lowest(joined: Sequence[LinkedTable], nodes: int, tables: LinkedTables) -> LinkedTable:
    """The table that all others are parents of."""
    if len({table.name for table in joined}) < nodes:
        raise UnsupportedQuery(
            "a table is not joined with itself: that would set people's rows beside one another's, and one person "
            "would change as many rows of the result as there are others; group it in a sub-query, and join by its "
            "groups"
        )
    for table in joined:
        if {other.name for other in joined} <= {above.name for above in tables.above(table)}:
            return table
    names = " and ".join(table.name for table in joined)
    raise UnsupportedQuery(
        f"none of {names} is below the others: a join would set every row of a person in one beside every row in "
        "another; ask each by itself"
    )


def _links(join: exp.Join, named: Named, tables: LinkedTables, lowest: LinkedTable) -> set[str]:
    """The parents that a join finds by their key. Raises where it does anything else."""
    table = named[(join.this.alias or join.this.name).lower()]
    side, kind = (str(join.args.get(key) or "").upper() for key in ("side", "kind"))
    if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER") or join.args.get("method"):
        raise UnsupportedQuery(
            f"{side or kind or 'such a join'} is not supported between tables; {_how(named, tables)}"
        )
    if side == "LEFT" and table is lowest:
        raise UnsupportedQuery(
            f"LEFT JOIN {table.name} would also have a row for whoever has none in {table.name}, which is a row of no "
            f"table; JOIN {table.name}, and ask of people without any by themselves"
        )
    using = [node.name for node in join.args.get("using") or ()]
    if using:
        earlier = [other for other in named.values() if other is not table]
        pairs = [(table, name, other, name) for name in using for other in earlier]
        found = {parent for pair in pairs for parent in _parent(*pair, tables)}
        if not found:
            raise UnsupportedQuery(f"{', '.join(using)} is no key of {table.name}; {_how(named, tables)}")
        return found
    return {parent for part in conjuncts(join.args.get("on")) for parent in _linked(part, named, tables)}


def _linked(part: exp.Expression, named: Named, tables: LinkedTables) -> set[str]:
    sides = [side.unnest() for side in (part.this, part.expression)] if isinstance(part, exp.EQ) else []
    columns = [side for side in sides if isinstance(side, exp.Column) and side.table.lower() in named]
    if len(columns) != 2:
        raise UnsupportedQuery(f"tables are joined by their keys alone{place_of(part)}; {_how(named, tables)}")
    (one, mine), (other, theirs) = ((named[column.table.lower()], column.name) for column in columns)
    found = _parent(one, mine, other, theirs, tables)
    if not found:
        raise UnsupportedQuery(f"{mine} = {theirs} is no key of these tables; {_how(named, tables)}")
    return found


def _parent(one: LinkedTable, mine: str, other: LinkedTable, theirs: str, tables: LinkedTables) -> set[str]:
    """The name of the parent that two equal columns tell: of a row below, the one row above it. Where both are its
    person's, which they are anyway, and the parent may have several rows of a person, "" is told."""
    for below, own, above, its in ((one, mine, other, theirs), (other, theirs, one, mine)):
        if below is above or above.name not in {table.name for table in tables.above(below)}:
            continue
        own, its = own.lower(), its.lower()
        if below.parent == above.name and below.key is not None and own == its == below.key.lower():
            return {above.name}
        if below.id is not None and above.id is not None and (own, its) == (below.id.lower(), above.id.lower()):
            return {above.name if above.max_rows == 1 else ""}
    return set()


def _rename(column: exp.Column, named: Named, lowest: LinkedTable, alias: str) -> None:
    """Let a column of any of the tables be one of the lowest, which has its parents' too."""
    table = named.get(column.table.lower()) if column.table else lowest
    if table is None or not isinstance(column.this, exp.Identifier):
        return
    ids = {one.id.lower() for one in ([table] if column.table else named.values()) if one.id is not None}
    person = lowest.domain.person
    known = Scope.over(table.domain, column.table).knows(column)
    if not known and column.name.lower() in ids and person is not None:
        column.set("this", exp.to_identifier(person, quoted=True))
    elif not known and table is not lowest:
        try:
            table.domain.axis(column.name)
        except DomainError as error:
            raise UnsupportedQuery(str(error)) from None
    if column.table:
        column.set("table", exp.to_identifier(alias))


def keys_of(table: LinkedTable, tables: LinkedTables) -> tuple[str, str]:
    """The columns that say which row of its parent a row belongs to: here, and there. Requires a parent."""
    own = table.key or table.id
    its = table.key or tables[str(table.parent)].id
    assert own is not None  # a domain that says neither is refused
    assert its is not None
    return own, its


def _how(named: Named, tables: LinkedTables) -> str:
    """How these tables are joined."""
    for table in named.values():
        for above in named.values():
            if table.parent == above.name:
                own, its = keys_of(table, tables)
                return f"write FROM {table.name} JOIN {above.name} ON {table.name}.{own} = {above.name}.{its}"
    return f"ask FROM one of {', '.join(shown(name) for name in tables.names)}"
