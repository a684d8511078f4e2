"""Domains on their way: drafted from what a table declares, and held against its rows."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from discreet.domain.domain import Domain
from discreet.domain.read import domain_text, read_domain
from discreet.domain.read_tables import parse_tables
from discreet.fit import Fit
from discreet.progress import Progress, silent


def fit_domain(table: object, domain: str | Path | Domain, progress: Progress = silent) -> Fit:
    """How a domain, or its file, fits a table: exact and confidential, for the custodian alone, and kept nowhere."""
    from discreet.table.fit import fit_source
    from discreet.table.open import open_source

    described = domain if isinstance(domain, Domain) else read_domain(domain)
    return fit_source(open_source(table), described, progress)


def fit_tables(tables: Mapping[str, object], domain: str | Path, progress: Progress = silent) -> dict[str, Fit]:
    """The same of several tables of the same people, by their names: columns, and keys. Rows that have no parent, or
    are more than are kept of one person, are counted as well, and so are keys that are not unique."""
    from discreet.table.fit_tables import fit_sources
    from discreet.vault.several import open_sources, require_names, require_plain

    described = parse_tables(domain_text(domain), domain)
    require_plain(described)
    return fit_sources(open_sources(require_names(tables, described)), described, progress)


def propose_domain(
    table: object,
    name: str | None = None,
    *,
    reuse: str | Path | None = None,
    source: str = "",
    only: Sequence[str] = (),
    schema: str = "",
) -> str:
    """A domain to fill in: names, types and what the table's own description declares, never a value of a row.

    Attributes are taken from the domain `reuse` where it has them by name; `source` is what all others come from; only
    some columns are drafted with `only`; `schema` is where an editor finds the JSON schema of domains."""
    from discreet.domain.reuse import attributes_in
    from discreet.table.propose import Wishes, propose

    held = {} if reuse is None else attributes_in(reuse)
    return propose(table, name, Wishes(held, source.strip(), tuple(only), schema))


def propose_tables(
    tables: Mapping[str, object],
    *,
    reuse: str | Path | None = None,
    source: str = "",
    only: Sequence[str] = (),
    schema: str = "",
) -> str:
    """The same of several tables of the same people, by their names. How they are linked is guessed by the names of
    their columns; the first is taken for that of the people."""
    from discreet.domain.reuse import attributes_in
    from discreet.table import propose_tables as drafting
    from discreet.table.propose import Wishes

    held = {} if reuse is None else attributes_in(reuse)
    return drafting.propose_tables(tables, Wishes(held, source.strip(), tuple(only), schema))
