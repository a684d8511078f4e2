"""A vault over patients, their encounters and what was prescribed in each, for whatever serves one."""

from fractions import Fraction

from discreet.vault import Vault
from tests.domain.test_read_tables import ALL
from tests.test_vault_tables import hospital

TABLES = ("patients", "encounters", "prescriptions")


def make_hospital(folder, name="vault", **budget):
    """The vault, with nothing spent."""
    folder.mkdir(exist_ok=True)
    (folder / "hospital.toml").write_text(ALL)
    files = {table: folder / f"{table}.parquet" for table in TABLES}
    for table, frame in hospital().items():
        frame.to_parquet(files[table])
    return Vault.init(folder / name, table=files, domain=folder / "hospital.toml",
                      **{"neighbours": "add-remove", "epsilon": Fraction(4), **budget})  # fmt: skip
