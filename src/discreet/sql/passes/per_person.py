"""Per person: SELECT n, COUNT(*) FROM (SELECT id, COUNT(*) AS n FROM the table … GROUP BY id) GROUP BY n.

The inner SELECT has a line for each person, and none of them is shown. What is private is how many people have 1, 2, …
rows; so the inner one becomes a SELECT by that number with how many people there are, and the outer one counts and
averages those lines by their people.
"""

from dataclasses import dataclass

from sqlglot import exp

from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.query.query import EACH_PERIOD
from discreet.sql.passes.tree import (
    has_aggregate,
    is_aggregate,
    is_star,
    map_children,
    name_of,
    qualifier_of,
)
from discreet.sql.scope import ROWS_PER_PERSON
from discreet.sql.syntax import OWN, only, place_of

PEOPLE = f"{OWN}people"
"""The column of how many people a line stands for."""
ASKED = "SELECT n, COUNT(*) FROM (SELECT {person}, COUNT(*) AS n FROM {table} GROUP BY {person}) GROUP BY n"
INNER = "by person, columns of GROUP BY, COUNT(*), WHERE and HAVING, in a SELECT that counts those people"
SEVERAL = (
    "people who have several lines each are not counted once; GROUP BY all that the inner SELECT is grouped by, or by "
    "the person alone there"
)
OUTER = "of rows per person, COUNT, SUM and AVG are answered"


@dataclass(frozen=True)
class PerPerson:
    """A SELECT over rows with a line for each person: by how many rows they have, and with how many people."""

    tree: exp.Select
    person: frozenset[str]
    """The names of the columns that would tell who it is."""
    keys: tuple[frozenset[str], ...] = ()
    """What else parts a person's lines, each by the names of the columns that show it."""


def per_person(select: exp.Select, domain: Domain) -> PerPerson | None:
    """What a SELECT over ROWS is that groups by the column of people; None where it does not."""
    clause = select.args.get("group")
    if clause is None or not any(_is_person(one, domain) for one in clause.expressions):
        return None
    if domain.each_period:
        raise UnsupportedQuery(f"{EACH_PERIOD}{place_of(select)}")
    only(select, ("expressions", "from_", "where", "group", "having", "with_"), INNER)
    only(clause, ("expressions",), INNER)
    each = exp.Anonymous(this=ROWS_PER_PERSON, expressions=[exp.column(str(domain.person).lower())])

    def by_rows(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Query):
            return node
        if isinstance(node, exp.Count) and isinstance(node.this, exp.Star | exp.Literal):
            only(node, ("this", "big_int"), INNER)
            return each.copy()
        if is_aggregate(node) or isinstance(node, exp.Window):
            raise UnsupportedQuery(f"of a person's rows only COUNT(*) is answered{place_of(node)}; {form_of(domain)}")
        if _is_person(node, domain):
            raise UnsupportedQuery(f"{node.name} is no value to calculate with{place_of(node)}; {form_of(domain)}")
        return map_children(node, by_rows)

    own = [one for one in select.expressions if _is_person(one.this, domain)]
    outputs = [
        exp.alias_(by_rows(one.this.copy()), one.alias, quoted=True) for one in select.expressions if one not in own
    ]
    people = exp.Count(this=exp.Distinct(expressions=[exp.column(str(domain.person).lower())]))
    tree = exp.Select(expressions=[*outputs, exp.alias_(people, PEOPLE)], from_=select.args["from_"].copy())
    tree.set("with_", select.args.get("with_"))
    tree.set("where", select.args["where"].copy() if select.args.get("where") else None)
    plain = [one.copy() for one in clause.expressions if not _is_person(one, domain)]
    tree.set("group", exp.Group(expressions=[*plain, each.copy()]))
    if select.args.get("having"):
        tree.set("having", exp.Having(this=by_rows(select.args["having"].this.copy())))
    keys = tuple(frozenset(one.alias.lower() for one in select.expressions if one.this == key) for key in plain)
    return PerPerson(tree, frozenset(one.alias.lower() for one in own), keys)


def over_people(select: exp.Select, lines: PerPerson, domain: Domain) -> exp.Select:
    """A SELECT over such lines as one over those by rows, each of which stands for its people."""
    if not (select.args.get("group") or any(map(has_aggregate, select.expressions))):
        raise UnsupportedQuery(f"single people are never shown{place_of(select)}; {form_of(domain)}")
    source = select.args["from_"].this
    name = qualifier_of(source) or PEOPLE
    by = _grouped(select)
    has_one_line = all(by & key for key in lines.keys)

    def weighted(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Query):
            return node
        if isinstance(node, exp.Column) and node.name.lower() in lines.person:
            raise UnsupportedQuery(f"single people are never shown{place_of(node)}; {form_of(domain)}")
        return _weighted(node, lines, has_one_line) if is_aggregate(node) else map_children(node, weighted)

    if any(map(is_star, select.expressions)):
        raise UnsupportedQuery(f"single people are never shown{place_of(select)}; {form_of(domain)}")
    tree = select.copy()
    outputs = [exp.alias_(weighted(one.unalias()), name_of(one), quoted=True) for one in select.expressions]
    tree.set("expressions", outputs)
    for part in ("where", "group", "having", "qualify", "order"):
        if select.args.get(part) is not None:
            tree.set(part, weighted(select.args[part]))
    tree.set("from_", exp.From(this=lines.tree.subquery(name)))
    return tree


def _grouped(select: exp.Select) -> frozenset[str]:
    """The names of the columns that a SELECT is grouped by, in all of its lines."""
    clause = select.args.get("group")
    if clause is None or any(value for key, value in clause.args.items() if key != "expressions"):
        return frozenset()
    outputs = {name_of(one).lower(): one.unalias() for one in select.expressions}
    found = set()
    for one in clause.expressions:
        shown = one.unnest()
        if isinstance(shown, exp.Literal) and shown.is_int and 0 < int(shown.this) <= len(select.expressions):
            shown = select.expressions[int(shown.this) - 1].unalias().unnest()
        elif isinstance(shown, exp.Column) and not shown.table:
            shown = outputs.get(shown.name.lower(), shown).unnest()
        if isinstance(shown, exp.Column):
            found.add(shown.name.lower())
    return frozenset(found)


def _weighted(node: exp.Expression, lines: PerPerson, has_one_line: bool) -> exp.Expression:
    """An aggregate of people by one of lines that stand for several. `has_one_line`: each person has, in a group."""
    call = node.this if isinstance(node, exp.Filter) else node
    condition = node.expression.this if isinstance(node, exp.Filter) else None
    of = call.this if isinstance(call, exp.Count | exp.Sum | exp.Avg) else None
    if isinstance(of, exp.Distinct) and len(of.expressions) == 1 and _is_own(of.expressions[0], lines):
        if not has_one_line:
            raise UnsupportedQuery(f"{SEVERAL}{place_of(node)}")
        of = exp.Star()
    more = [key for key, value in call.args.items() if value and key not in ("this", "big_int")]
    if of is None or isinstance(of, exp.Distinct) or more:
        raise UnsupportedQuery(f"{OUTER}{place_of(node)}, and not {call.key.upper()}")
    if isinstance(call, exp.Count) and (isinstance(of, exp.Star | exp.Literal) or _is_own(of, lines)):
        return _or_zero(_sum(exp.column(PEOPLE), [condition]))
    if _is_own(of, lines):
        raise UnsupportedQuery(f"single people are never shown{place_of(node)}")
    present = exp.not_(exp.Is(this=exp.paren(of.copy()), expression=exp.null()))
    people = _sum(exp.column(PEOPLE), [condition, present])
    if isinstance(call, exp.Count):
        return _or_zero(people)
    total = _sum(exp.Mul(this=exp.paren(of.copy()), expression=exp.column(PEOPLE)), [condition])
    if isinstance(call, exp.Sum):
        return total
    return exp.paren(exp.Div(this=total, expression=exp.Nullif(this=people, expression=exp.Literal.number(0))))


def _or_zero(number: exp.Expression) -> exp.Expression:
    return exp.Coalesce(this=number, expressions=[exp.Literal.number(0)])


def _sum(number: exp.Expression, conditions: list[exp.Expression | None]) -> exp.Expression:
    total, kept = exp.Sum(this=number), [one.copy() for one in conditions if one is not None]
    return exp.Filter(this=total, expression=exp.Where(this=exp.and_(*kept))) if kept else total


def _is_own(node: exp.Expression, lines: PerPerson) -> bool:
    inner = node.unnest()
    return isinstance(inner, exp.Column) and inner.name.lower() in lines.person


def _is_person(node: exp.Expression, domain: Domain) -> bool:
    inner = node.unnest()
    if not isinstance(inner, exp.Column) or domain.person is None:
        return False
    name = inner.name.lower()
    return name == domain.person.lower() and name not in {one.name.lower() for one in domain.attributes}


def form_of(domain: Domain) -> str:
    return "ask as in " + ASKED.format(person=domain.person, table=domain.name)
