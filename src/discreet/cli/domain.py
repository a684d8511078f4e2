"""discreet domain propose | schema | edit | check | fit"""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from discreet.cli.over import sources_by_name
from discreet.cli.present import Json, command, out, print_json, table, waiting
from discreet.domain.attribute import Attribute
from discreet.domain.domain import Domain
from discreet.domain.read import domain_text
from discreet.domain.read_tables import parse_tables
from discreet.errors import DomainError, VaultError
from discreet.exact import count_text
from discreet.fit import Fit

MOST_LABELS = 10_000
ONE_OR_SEVERAL = "where the rows are, as for `discreet init`; of several tables each by its name, NAME=SOURCE"

app = typer.Typer(help="The public description of a table's columns.", no_args_is_help=True)


@app.command()
@command
def propose(
    tables: Annotated[list[str], typer.Argument(metavar="TABLE...", help=ONE_OR_SEVERAL)],
    name: Annotated[str | None, typer.Option(help="the table's name in SQL; the file's name by default")] = None,
    reuse: Annotated[
        Path | None, typer.Option("--from", help="another domain: attributes are taken from it by their names")
    ] = None,
    source: Annotated[str, typer.Option(help="the public document that all other values come from")] = "",
    only: Annotated[str, typer.Option(help="the columns to draft, by comma; all by default")] = "",
    schema: Annotated[str, typer.Option(help="where an editor finds what `discreet domain schema` prints")] = "",
) -> None:
    """Print a domain to fill in: names, types and what the table's own description declares, never a value of a row."""
    from discreet.vault.drafts import propose_domain, propose_tables

    columns = [column.strip() for column in only.split(",") if column.strip()]
    if len(tables) == 1:
        drafted = propose_domain(tables[0], name, reuse=reuse, source=source, only=columns, schema=schema)
    elif name is not None:
        raise DomainError(
            "several tables have the names that they are given by, patients=patients.csv: leave out --name"
        )
    else:
        sources = sources_by_name(tables)
        drafted = propose_tables(sources, reuse=reuse, source=source, only=columns, schema=schema)
    typer.echo(drafted, nl=False)


@app.command()
@command
def schema() -> None:
    """Print the JSON schema of domains, by which editors check and complete them."""
    from discreet.domain.schema import domain_schema

    print_json(domain_schema())


@app.command()
@command
def edit(
    domain: Annotated[Path, typer.Argument(metavar="DOMAIN", help="a domain in TOML; it need not be there yet")],
    table: Annotated[
        str | None, typer.Option(help="where the rows are: a new domain begins as its draft, and can be tried on it")
    ] = None,
    port: Annotated[int, typer.Option(help="0 takes any that is free, and says which")] = 8802,
) -> None:
    """Edit a domain in the browser, with live checks; served to this machine alone, until interrupted."""
    try:
        from discreet.server.auth import new_token
        from discreet.server.editor.app import create_editor
        from discreet.server.editor.file import DomainFile
        from discreet.server.run import serve_here
    except ModuleNotFoundError:
        raise VaultError("editing in the browser needs FastAPI and uvicorn: pip install 'discreet[server]'") from None
    file, token = DomainFile(domain, table), new_token()
    file.read()
    serve_here(
        create_editor(file, token),
        port,
        lambda address: out.print(
            f"[bold]{escape(str(domain))}[/] is edited at {address}/login#token={token}", soft_wrap=True
        ),
    )


@app.command()
@command
def check(
    domain: Annotated[Path, typer.Argument(metavar="DOMAIN", help="a domain in TOML")], as_json: Json = False
) -> None:
    """Check a domain, or one of several tables, and show its attributes and codes."""
    checked = [each.domain for each in parse_tables(domain_text(domain), domain)]
    if as_json:
        shown = [_as_json(one) for one in checked]
        print_json(shown[0] if len(shown) == 1 else {"tables": shown})
        return
    for one in checked:
        _show_checked(one)


def _as_json(checked: Domain) -> dict[str, object]:
    sizes = [{"name": a.name, "kind": a.kind, "codes": a.size, "labels": _labels(a)} for a in checked.attributes]
    return {"name": checked.name, "points": checked.points, "attributes": sizes}


def _show_checked(checked: Domain) -> None:
    more = {name: f" + {able.most:,} at most" for name, able in checked.undiscovered.items()}
    rows = [
        (a.name, a.kind, f"{a.size:,}{more.get(a.name, '')}", a.outside, "yes" if a.null else "", a.source)
        for a in checked.attributes
    ]
    table(checked.name, ("attribute", "kind", "codes", "outside", "null", "source"), rows, right=("codes",))
    found = " before values are discovered" if more else ""
    out.print(f"{count_text(checked.points)} points{found}; the domain is well formed.")


@app.command()
@command
def fit(
    sources: Annotated[list[str], typer.Argument(metavar="TABLE...", help=ONE_OR_SEVERAL)],
    domain: Annotated[Path, typer.Argument(metavar="DOMAIN", help="a domain in TOML")],
    as_json: Json = False,
) -> None:
    """Say what becomes of a table's rows by a domain: exact and confidential, for the custodian alone."""
    from discreet.cli.show_fit import CONFIDENTIAL, show_fit
    from discreet.vault.drafts import fit_domain, fit_tables

    if sources[0].endswith(".toml") and domain.suffix != ".toml":
        given = " ".join([*sources[1:], str(domain), sources[0]])
        raise DomainError(f"the table comes first: discreet domain fit {given}")
    several = len(parse_tables(domain_text(domain), domain)) > 1
    if len(sources) > 1 and not several:
        raise DomainError(f"{domain} is of one table, and {len(sources)} sources are given; declare [tables.NAME]")
    with waiting("reading the table", as_json) as told:
        if several:
            found = list(fit_tables(sources_by_name(sources), domain, told).values())
        else:
            found = [fit_domain(sources[0], domain, told)]
    if as_json:
        shown = [_fit_as_json(fit) for fit in found]
        print_json({"note": CONFIDENTIAL, **({"tables": shown} if several else shown[0])})
        return
    for fit in found:
        show_fit(fit, out)


def _fit_as_json(fit: Fit) -> dict[str, object]:
    own = {} if fit.table is None else {"table": fit.table, "alike": fit.alike}
    others = {name: value for name, value in asdict(fit).items() if name not in ("table", "alike")}
    return {**own, "lost": fit.lost, **others}


def _labels(attribute: Attribute) -> tuple[str, ...] | None:
    """The names of the codes; None where there are too many to list."""
    return attribute.labels if attribute.size <= MOST_LABELS else None
