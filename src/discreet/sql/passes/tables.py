"""Which table a SELECT over rows is of: a statement may have SELECTs over several, each over one."""

from collections.abc import Mapping

from sqlglot import exp

from discreet.domain.domain import Domain
from discreet.sql.passes.tree import ROWS, lines_of, sources_of

Domains = Mapping[str, Domain]
"""The tables that a statement may ask, by their names in lower case."""


def domains_of(*domains: Domain) -> Domains:
    return {domain.name.lower(): domain for domain in domains}


def rows_of(domain: Domain) -> exp.Table:
    """What a SELECT over the rows of a table reads, once they are inlined."""
    return exp.Table(this=exp.to_identifier(ROWS), db=exp.to_identifier(domain.name, quoted=True))


def domain_of(select: exp.Select, domains: Domains) -> Domain:
    """The table that a SELECT over rows, or over people's lines, is of."""
    [source] = sources_of(lines_of(select) or select)
    assert isinstance(source, exp.Table)
    return domains[source.db.lower()]
