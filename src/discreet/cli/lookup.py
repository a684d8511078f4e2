"""discreet lookup add | list"""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.present import Json, VaultPath, command, out, print_json, table

app = typer.Typer(help="Look-up tables: public code lists that questions join with.", no_args_is_help=True)


@app.command("add")
@command
def add_lookup(
    vault: VaultPath,
    file: Annotated[Path, typer.Argument(help="a CSV file with a header", show_default=False)],
    name: Annotated[str, typer.Option(help="what questions call it: JOIN name ON …")],
    key: Annotated[str, typer.Option(help="the column that it is joined by; each value is on one line")],
    as_json: Json = False,
) -> None:
    """Add a public table. It is journalled with its digest, costs nothing, and cannot be changed afterwards."""
    from discreet.vault.vault import Vault

    added = Vault.open(vault).lookups.add(file, name=name, key=key)
    if as_json:
        print_json({"name": added.name, "key": added.key, "columns": list(added.columns), "lines": len(added.lines)})
    else:
        out.print(f"{added.name}: {len(added.lines):,} lines by {added.key}; columns {', '.join(added.columns)}")


@app.command("list")
@command
def list_lookups(vault: VaultPath, as_json: Json = False) -> None:
    """The look-up tables of a vault."""
    from discreet.vault.vault import Vault

    found = Vault.open(vault).lookups.current().values()
    lines = [(one.name, one.key, f"{len(one.lines):,}", ", ".join(one.columns)) for one in found]
    if as_json:
        print_json([{"name": one.name, "key": one.key, "columns": list(one.columns)} for one in found])
    else:
        table("", ("name", "key", "lines", "columns"), lines, right=("lines",))
