"""--table NAME: which of several tables a command is about; and their sources, by name."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import TableError

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


def sources_by_name(given: Sequence[str]) -> dict[str, str]:
    """The source of each table, as in patients=patients.csv."""
    found: dict[str, str] = {}
    for one in given:
        name, named, source = one.partition("=")
        if not named or not name.isidentifier():
            raise TableError(
                f"several tables are given by their names, patients=patients.csv (--table patients=patients.csv where "
                f"there are options), not {one!r:.60}"
            )
        if name in found:
            raise TableError(f"two sources are given for the table {name}")
        found[name] = source
    return found
