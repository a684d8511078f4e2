"""--table NAME: which of several tables a command is about."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from discreet.vault.vault import Vault

OverTable = Annotated[
    str | None, typer.Option("--table", metavar="NAME", help="of a vault over several tables, which; the first if not")
]


def vault_over(path: Path, table: str | None) -> "Vault":
    """A vault, over one of its tables where one is named."""
    from discreet.vault.vault import Vault

    opened = Vault.open(path)
    return opened if table is None else opened.table(table)


def vault_at(path: Path, charge: int) -> "Vault":
    """A vault, over the table that a charge is of."""
    from discreet.vault.vault import Vault

    opened = Vault.open(path)
    found = opened.ledger.charge_at(charge)
    return opened if found is None else opened.of_charge(found)
