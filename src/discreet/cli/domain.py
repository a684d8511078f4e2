"""discreet domain propose | check"""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.present import Json, command, out, print_json, table
from discreet.domain.attribute import Attribute
from discreet.domain.read import read_domain

MOST_LABELS = 10_000

app = typer.Typer(help="The public description of a table's columns.", no_args_is_help=True)


@app.command()
@command
def propose(
    source: Annotated[str, typer.Argument(metavar="TABLE", help="a Parquet, CSV or DuckDB file")],
    name: Annotated[str | None, typer.Option(help="the table's name in SQL; the file's name by default")] = None,
) -> None:
    """Print a domain to fill in: names and types from the schema, never a value."""
    from discreet.vault.vault import propose_domain

    typer.echo(propose_domain(source, name), nl=False)


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


def _labels(attribute: Attribute) -> tuple[str, ...] | None:
    """The names of the codes; None where there are too many to list."""
    return attribute.labels if attribute.size <= MOST_LABELS else None
