"""discreet release list | show"""

from typing import Annotated

import typer

from discreet.answer.reply import number
from discreet.cli.present import Json, VaultPath, command, out, pairs, print_json, table
from discreet.domain.attribute import equals_text
from discreet.release.release import Release

COLUMNS = ("value", "95% low", "95% high")

app = typer.Typer(help="What was released: public, and free to read.", no_args_is_help=True)


@app.command("list")
@command
def list_releases(vault: VaultPath, as_json: Json = False) -> None:
    """List everything that was released."""
    from discreet.vault import Vault

    opened = Vault.open(vault)
    releases = list(opened.releases())
    if as_json:
        print_json({"releases": releases})
        return
    rows = [
        (
            release.charge,
            "\n".join(opened.plan_text(release.plan)),
            _numbers(release),
            equals_text(release.guarantee.epsilon)[2:],
        )
        for release in releases
    ]
    table("releases", ("charge", "what", "answer", "ε"), rows, right=("charge", "answer", "ε"))


@app.command("show")
@command
def show_release(
    vault: VaultPath, charge: Annotated[int, typer.Argument(help="the release's charge")], as_json: Json = False
) -> None:
    """Show one release: values, variances, intervals, guarantee, receipt."""
    from discreet.vault import Vault

    opened = Vault.open(vault)
    release = opened.release(charge)
    if as_json:
        print_json(release)
        return
    pairs(f"release {charge}", [("guarantee", release.guarantee), ("receipt", release.receipt)])
    for what, noisy in zip(opened.plan_text(release.plan), release.answers, strict=True):
        rows = [(*row.labels, *map(number, row[1:])) for row in noisy.rows(opened.domain)]
        out.print()
        table(what, (*noisy.measurement.query.by, *COLUMNS), rows, right=COLUMNS)


def _numbers(release: Release) -> str:
    cells = sum(noisy.units.size for noisy in release.answers)
    return f"{release.value:,}" if cells == 1 else f"{cells:,} numbers"


def _epsilon(release: Release) -> str:
    return equals_text(release.guarantee.epsilon).removeprefix("= ")
