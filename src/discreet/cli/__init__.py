"""The command line: thin commands over Vault, in one grammar. Human by default, --json for machines."""

import typer

from discreet.cli import ask, audit, buckets, cube, domain, fact, ledger, mine, release, serve, sulq, user, vault

app = typer.Typer(
    name="discreet",
    help="A private statistical database: SQL and cubes over a table of people, and nobody learns about one of them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for verb in (vault.init, vault.describe, ask.ask, vault.budget, vault.refresh, serve.serve):
    app.command()(verb)
app.add_typer(audit.app, name="audit")
app.add_typer(buckets.app, name="buckets")
app.add_typer(cube.app, name="cube")
app.add_typer(domain.app, name="domain")
app.add_typer(fact.app, name="fact")
app.add_typer(ledger.app, name="ledger")
app.add_typer(mine.app, name="mine")
app.add_typer(release.app, name="release")
app.add_typer(sulq.app, name="sulq")
app.add_typer(user.app, name="user")


def main() -> None:
    app()
