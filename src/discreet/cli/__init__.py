"""The command line: thin commands over Vault, in one grammar. Human by default, --json for machines."""

import typer

from discreet.cli import ask, cube, domain, ledger, release, vault

app = typer.Typer(
    name="discreet",
    help="A private statistical database: SQL and cubes over a table of people, and nobody learns about one of them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for verb in (vault.init, vault.describe, ask.ask, vault.budget, vault.refresh):
    app.command()(verb)
app.add_typer(cube.app, name="cube")
app.add_typer(domain.app, name="domain")
app.add_typer(ledger.app, name="ledger")
app.add_typer(release.app, name="release")


def main() -> None:
    app()
