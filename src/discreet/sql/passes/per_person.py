"""Per person: SELECT … FROM (SELECT id, COUNT(*) AS n, MAX(age) AS a FROM the table … GROUP BY id) GROUP BY … .

The inner SELECT has a line for each person, and none of them is shown. Its columns are rows to the SELECTs around it,
as those of the table are: a SELECT of them that counts or adds up is private, and reads the lines FROM the inner one.
What is kept of that is what the outer one needs.
"""

from sqlglot import exp

from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.query.query import EACH_PERIOD
from discreet.sql.passes.relation import TableRows
from discreet.sql.passes.tree import (
    LINES,
    is_aggregate,
    is_star,
    map_children,
    public_parts,
    text_of,
)
from discreet.sql.syntax import only, place_of

ASKED = "SELECT n, COUNT(*) FROM (SELECT {person}, COUNT(*) AS n FROM {table} GROUP BY {person}) GROUP BY n"
INNER = (
    "by person, columns of GROUP BY, COUNT, SUM, AVG, MIN, MAX, BOOL_OR, ARG_MIN and the like, WHERE and HAVING, in a "
    "SELECT that counts those people"
)
SEVERAL = (
    "people who have several lines each are not counted once; GROUP BY all that the inner SELECT is grouped by, or by "
    "the person alone there"
)
HIDDEN = "single people are never shown"


def per_person(select: exp.Select, domain: Domain) -> TableRows | None:
    """The lines that a SELECT over ROWS makes which groups by the column of people; None where it does not."""
    clause = select.args.get("group")
    if clause is None or not any(is_person(one, domain) for one in clause.expressions):
        return None
    if domain.each_period:
        raise UnsupportedQuery(f"{EACH_PERIOD}{place_of(select)}")
    only(select, ("expressions", "from_", "where", "group", "having", "with_"), INNER)
    only(clause, ("expressions",), INNER)
    keys = {text_of(one.unnest()): one.unnest() for one in clause.expressions if not is_person(one, domain)}
    traits: dict[str, exp.Expression] = {}

    def by_line(node: exp.Expression) -> exp.Expression:
        """An expression over rows and aggregates as one over the columns of lines, each called by its text."""
        if isinstance(node, exp.Query):
            return node
        if is_person(node, domain):
            raise UnsupportedQuery(f"{node.name} is no value to calculate with{place_of(node)}; {form_of(domain)}")
        if not isinstance(node, exp.Literal) and text_of(node.unnest()) in keys:
            return _column(text_of(node.unnest()))
        if isinstance(node, exp.Window):
            raise UnsupportedQuery(
                f"a window over a person's lines is not supported{place_of(node)}; {form_of(domain)}"
            )
        mean = _averaged(node)
        if mean is not None:
            return by_line(mean)
        if is_aggregate(node):
            traits.setdefault(text_of(node), node.copy())
            return _column(text_of(node))
        if isinstance(node, exp.Column):
            raise UnsupportedQuery(
                f"{node.name} is neither in GROUP BY nor in an aggregate{place_of(node)}; a person's rows have several"
                f" values of it: write MAX({node.name}), or group by it as well"
            )
        return map_children(node, by_line)

    columns: dict[str, exp.Expression] = {}
    for one in select.expressions:
        is_own = is_person(one.this, domain)
        columns[one.alias.lower()] = exp.column(str(domain.person).lower()) if is_own else by_line(one.this.copy())
    having = select.args.get("having")
    where = () if having is None else (by_line(having.this.copy()),)
    lines = exp.Select(
        expressions=[exp.alias_(node.copy(), text, quoted=True) for text, node in traits.items()],
        from_=select.args["from_"].copy(),
        where=select.args["where"].copy() if select.args.get("where") else None,
        group=exp.Group(expressions=[node.copy() for node in keys.values()]),
    )
    return TableRows(domain.name.lower(), columns, where, is_open=False, lines=lines)


def over_people(select: exp.Select, lines: exp.Select, domain: Domain) -> exp.Select:
    """A SELECT over ROWS that are people's lines, with what it needs of those in its FROM."""
    groups = [one.unnest() for one in (select.args.get("group") or exp.Group()).expressions]
    grouped = {one.name for one in groups if isinstance(one, exp.Column)}
    first = lines.args.get("qualify")
    are_lines_apart = all(text_of(one) in grouped for one in lines.args["group"].expressions)
    has_one_line = are_lines_apart and (first is None or first.this.expression.this == "1")
    if any(is_person(one, domain) for one in groups) or any(is_star(one.unalias()) for one in select.expressions):
        raise UnsupportedQuery(f"{HIDDEN}{place_of(select)}; {form_of(domain)}")

    def counted(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Query):
            return node
        mean = _averaged(node)
        if mean is not None:
            return counted(mean)
        if isinstance(node, exp.Count) and isinstance(node.this, exp.Distinct):
            if [is_person(one, domain) for one in node.this.expressions] != [True]:
                return node.copy()
            if not has_one_line:
                raise UnsupportedQuery(f"{SEVERAL}{place_of(node)}")
            return exp.Count(this=exp.Star())
        if is_person(node, domain):
            if isinstance(node.parent, exp.Count):
                return exp.Star()
            raise UnsupportedQuery(f"{HIDDEN}{place_of(node)}; {form_of(domain)}")
        return map_children(node, counted)

    tree = select.copy()
    for part in public_parts(tree):
        part.replace(counted(part))
    if tree.args.get("where"):
        tree.set("where", counted(tree.args["where"]))
    read = {column.name for column in tree.find_all(exp.Column)}
    needed = lines.copy()
    needed.set("expressions", [one for one in needed.expressions if one.alias in read])
    tree.set("from_", exp.From(this=needed.subquery(LINES)))
    return tree


def _averaged(node: exp.Expression) -> exp.Expression | None:
    """AVG as what it is of two sums, each of which is measured, or made of a person's rows, by itself."""
    call = node.this if isinstance(node, exp.Filter) else node
    if not isinstance(call, exp.Avg) or isinstance(call.this, exp.Distinct):
        return None

    def of(kind: type[exp.Expression]) -> exp.Expression:
        made: exp.Expression = kind(this=call.this.copy())
        return exp.Filter(this=made, expression=node.expression.copy()) if isinstance(node, exp.Filter) else made

    count = exp.Nullif(this=of(exp.Count), expression=exp.Literal.number(0))
    return exp.paren(exp.Div(this=exp.cast(of(exp.Sum), "DOUBLE"), expression=count))


def _column(text: str) -> exp.Column:
    return exp.column(exp.to_identifier(text, quoted=True))


def is_person(node: exp.Expression, domain: Domain) -> bool:
    inner = node.unnest()
    if not isinstance(inner, exp.Column) or domain.person is None:
        return False
    name = inner.name.lower()
    return name == domain.person.lower() and name not in {one.name.lower() for one in domain.attributes}


def form_of(domain: Domain) -> str:
    return "ask as in " + ASKED.format(person=domain.person, table=domain.name)
