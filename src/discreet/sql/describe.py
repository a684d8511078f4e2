"""A query as the SQL that asks it: how journals, releases and answers name what was measured."""

from discreet.domain.domain import Domain
from discreet.exact import number_text
from discreet.query.profiles import PersonGroup
from discreet.query.query import (
    Choice,
    Count,
    Distinct,
    Group,
    People,
    ProfileSum,
    Quantile,
    Query,
    Residual,
    SubsetCount,
    Sum,
)
from discreet.sql.where_text import identifier, where_text


def query_text(query: Query, domain: Domain) -> str:
    """The SQL of a query: SELECT sex, COUNT(*) FROM people WHERE age >= 50 GROUP BY sex."""
    where = "" if query.where == domain.everything else f" WHERE {where_text(query.where, domain)}"
    if isinstance(query, ProfileSum):
        return _of_profiles(query, where, domain)
    groups = [_group(group) for group in query.by]
    group_by = f" GROUP BY {', '.join(groups)}" if groups else ""
    select = f"SELECT {', '.join([*groups, _aggregate(query, domain)])} FROM {identifier(domain.name)}{where}{group_by}"
    return f"{select} over {_subsets(query)}" if isinstance(query, SubsetCount) else select


def _of_profiles(query: ProfileSum, where: str, domain: Domain) -> str:
    """People's lines, and what is asked of them."""
    person, lines = identifier(domain.person or "person"), query.profiles.domain_of(domain)
    keys = [(name, _group(key)) for name, key in query.profiles.keys]
    own = [person, *(text if text == identifier(name) else f"{text} AS {identifier(name)}" for name, text in keys)]
    own += [f"{trait.text} AS {identifier(trait.attribute.name)}" for trait in query.profiles.traits]
    grouped = ", ".join([person, *(text for _, text in keys)])
    each = f"SELECT {', '.join(own)} FROM {identifier(domain.name)}{where} GROUP BY {grouped}"
    if query.profiles.first is not None:
        columns = ", ".join(f"{trait.text} AS {identifier(trait.attribute.name)}" for trait in query.profiles.traits)
        window = f"ROW_NUMBER() OVER (PARTITION BY {person} ORDER BY {query.profiles.first.text})"
        each = f"SELECT {columns or person} FROM {identifier(domain.name)}{where}"
        each += f" QUALIFY {window} <= {query.profiles.first.most}"
    kept = "" if query.kept == lines.everything else f" WHERE {where_text(query.kept, lines)}"
    named = {key: identifier(name) for name, key in query.profiles.keys}
    groups = [group.text if isinstance(group, PersonGroup) else named[group] for group in query.by]
    added = "COUNT(*)" if query.of is None else f"SUM({query.of.text})"
    group_by = f" GROUP BY {', '.join(groups)}" if groups else ""
    return f"SELECT {', '.join([*groups, added])} FROM ({each}){kept}{group_by}"


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
        case ProfileSum():
            raise AssertionError("lines of people are described with what they are made of")
        case Choice():
            return f"CHOICE(OF {len(query.candidates):,} MARGINALS)"
