"""What a journal's first entry declares: the tables, and what its spend map is over."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from discreet.domain.domain import Domain
from discreet.domain.read_tables import parse_tables
from discreet.domain.tables import LinkedTables
from discreet.errors import JournalCorrupt

REMEMBERED = 16
"""Declarations that were read: a service is asked about the same ones all the time, and reading takes milliseconds."""


def tables_in(header: Mapping[str, Any]) -> LinkedTables:
    """The tables that a header holds, with the columns of people that it names."""
    try:
        tables = _read(header["domain"])
        unit = header.get("unit")
        if not unit:
            return tables
        [table] = tables
        people: dict[str, Any] = {"person": unit["id"], "max_rows": int(unit["max_rows"])}
        if unit.get("each_period"):
            people["each_period"] = True
        domain = replace(table.domain, **people)
        return LinkedTables((replace(table, domain=domain),))
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError):
        raise JournalCorrupt("the journal's first entry cannot be read", "restore it from a backup") from None


def domain_in(header: Mapping[str, Any]) -> Domain:
    """What the spend map is over: the domain of a header; of several tables, what a person is in all of them."""
    tables = tables_in(header)
    return tables.person if len(tables) > 1 else tables.tables[0].domain


@lru_cache(REMEMBERED)
def _read(text: str) -> LinkedTables:
    return parse_tables(text)
