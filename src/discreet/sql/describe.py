"""A query as the SQL that asks it: how journals, releases and answers name what was measured."""

from discreet.domain.domain import Domain
from discreet.exact import number_text
from discreet.query.query import Choice, Count, Distinct, Group, People, Quantile, Query, Residual, SubsetCount, Sum
from discreet.query.rows_per_person import RowsPerPerson
from discreet.sql.where_text import identifier, where_text


def query_text(query: Query, domain: Domain) -> str:
    """The SQL of a query: SELECT sex, COUNT(*) FROM people WHERE age >= 50 GROUP BY sex."""
    where = "" if query.where == domain.everything else f" WHERE {where_text(query.where, domain)}"
    if any(isinstance(group, RowsPerPerson) for group in query.by):
        return _per_person(query, where, domain)
    groups = [_group(group) for group in query.by]
    group_by = f" GROUP BY {', '.join(groups)}" if groups else ""
    select = f"SELECT {', '.join([*groups, _aggregate(query, domain)])} FROM {identifier(domain.name)}{where}{group_by}"
    return f"{select} over {_subsets(query)}" if isinstance(query, SubsetCount) else select


def _per_person(query: Query, where: str, domain: Domain) -> str:
    """People by how many rows they have."""
    groups = [_group(group) for group in query.by if not isinstance(group, RowsPerPerson)]
    own, names = ", ".join([identifier(domain.person or "person"), *groups]), ", ".join([*groups, "n"])
    each = f"SELECT {own}, COUNT(*) AS n FROM {identifier(domain.name)}{where} GROUP BY {own}"
    return f"SELECT {names}, COUNT(*) FROM ({each}) GROUP BY {names}"


def _subsets(query: SubsetCount) -> str:
    return str(query.subsets[0]) if len(query.subsets) == 1 else f"{len(query.subsets):,} subsets"


def _group(group: Group) -> str:
    return identifier(group) if isinstance(group, str) else group.text


def _aggregate(query: Query, domain: Domain) -> str:
    match query:
        case Count() | SubsetCount():
            return "COUNT(*)"
        case Distinct():
            return f"COUNT(DISTINCT {', '.join(map(_group, query.of))})"
        case People():
            return f"COUNT(DISTINCT {identifier(domain.person or 'person')})"
        case Residual():
            return "RESIDUAL(COUNT(*))"
        case Sum():
            return f"SUM({identifier(query.of) if isinstance(query.of, str) else query.of.text})"
        case Quantile():
            return f"QUANTILE({_group(query.of)}, {number_text(query.level)})"
        case Choice():
            return f"CHOICE(OF {len(query.candidates):,} MARGINALS)"
