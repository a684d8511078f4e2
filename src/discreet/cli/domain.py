"""discreet domain propose | schema | check | fit"""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.present import Json, command, out, print_json, table, waiting
from discreet.domain.attribute import Attribute
from discreet.domain.read import read_domain

MOST_LABELS = 10_000

app = typer.Typer(help="The public description of a table's columns.", no_args_is_help=True)


@app.command()
@command
def propose(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="where the rows are, as for `discreet init`")],
    name: Annotated[str | None, typer.Option(help="the table's name in SQL; the file's name by default")] = None,
    reuse: Annotated[
        Path | None, typer.Option("--from", help="another domain: attributes are taken from it by their names")
    ] = None,
    source: Annotated[str, typer.Option(help="the public document that all other values come from")] = "",
    only: Annotated[str, typer.Option(help="the columns to draft, by comma; all by default")] = "",
    schema: Annotated[str, typer.Option(help="where an editor finds what `discreet domain schema` prints")] = "",
) -> None:
    """Print a domain to fill in: names, types and what the table's own description declares, never a value of a row."""
    from discreet.vault.vault import propose_domain

    columns = [column.strip() for column in only.split(",") if column.strip()]
    typer.echo(propose_domain(table, name, reuse=reuse, source=source, only=columns, schema=schema), nl=False)


@app.command()
@command
def schema() -> None:
    """Print the JSON schema of domains, by which editors check and complete them."""
    from discreet.domain.schema import domain_schema

    print_json(domain_schema())


@app.command()
@command
def check(
    domain: Annotated[Path, typer.Argument(metavar="DOMAIN", help="a domain in TOML")], as_json: Json = False
) -> None:
    """Check a domain, and show its attributes and codes."""
    checked = read_domain(domain)
    if as_json:
        sizes = [{"name": a.name, "kind": a.kind, "codes": a.size, "labels": _labels(a)} for a in checked.attributes]
        print_json({"name": checked.name, "points": checked.points, "attributes": sizes})
        return
    rows = [(a.name, a.kind, f"{a.size:,}", a.outside, "yes" if a.null else "", a.source) for a in checked.attributes]
    table(checked.name, ("attribute", "kind", "codes", "outside", "null", "source"), rows, right=("codes",))
    out.print(f"{checked.points:,} points; the domain is well formed.")


@app.command()
@command
def fit(
    source: Annotated[str, typer.Argument(metavar="TABLE", help="where the rows are, as for `discreet init`")],
    domain: Annotated[Path, typer.Argument(metavar="DOMAIN", help="a domain in TOML")],
    as_json: Json = False,
) -> None:
    """Say what becomes of a table's rows by a domain: exact and confidential, for the custodian alone."""
    from discreet.cli.show_fit import CONFIDENTIAL, show_fit
    from discreet.vault import fit_domain

    with waiting("reading the table", as_json) as told:
        found = fit_domain(source, domain, told)
    if as_json:
        print_json({"note": CONFIDENTIAL, "lost": found.lost, **asdict(found)})
    else:
        show_fit(found, out)


def _labels(attribute: Attribute) -> tuple[str, ...] | None:
    """The names of the codes; None where there are too many to list."""
    return attribute.labels if attribute.size <= MOST_LABELS else None
