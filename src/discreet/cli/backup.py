"""discreet backup | restore"""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from discreet.cli.present import Json, VaultPath, command, out, print_json


@command
def backup(
    vault: VaultPath,
    file: Annotated[Path, typer.Argument(help="the file to write; it holds the rows: keep it as you keep the vault")],
    as_json: Json = False,
) -> None:
    """Copy a vault into one file, also while it is asked."""
    from discreet.vault.backup import backup_vault

    made = backup_vault(vault, file)
    if as_json:
        print_json(made.to_json())
        return
    out.print(
        f"{escape(str(vault))} is in {escape(str(file))}, up to entry {made.receipt.seq} of its journal. Keep the "
        "receipt elsewhere: it shows later whether this is the last backup.",
        soft_wrap=True,
    )
    out.print(str(made.receipt), soft_wrap=True)
    if made.in_postgres:
        out.print("Its journal is in Postgres, and not in the file: back that up with pg_dump.", soft_wrap=True)


@command
def restore(
    file: Annotated[Path, typer.Argument(help="a file of `discreet backup`")],
    vault: Annotated[Path, typer.Argument(help="where the vault shall be; nothing may be there")],
    receipt: Annotated[
        str | None, typer.Option(help="the last receipt that anybody has of the vault; a backup without it is refused")
    ] = None,
    accept_rollback: Annotated[
        bool,
        typer.Option(
            "--accept-rollback",
            help="go on although something was spent since: the journal notes it, and guarantees count it",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Make a vault of a backup. One that something was spent after is refused, as far as receipts show it."""
    from discreet.vault.backup import restore_vault

    made = restore_vault(file, vault, receipt=receipt, accept_rollback=accept_rollback)
    if as_json:
        print_json(made.to_json())
        return
    out.print(
        f"{escape(str(vault))} is back as of {escape(made.at)}, up to entry {made.receipt.seq} of its journal.",
        soft_wrap=True,
    )
    out.print(escape(made.in_words()), soft_wrap=True)
