"""Vaults to attack: of one small census domain, and of nobody, since no attack reads their table."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from discreet.vault import Vault

ATTRIBUTES = {"age": 100, "street": 60, "rooms": 4}
DOMAIN = 'name = "people"\n' + "".join(
    f'[attributes.{name}]\nkind = "integer"\nlow = 0\nhigh = {codes - 1}\nsource = "made up"\n'
    for name, codes in ATTRIBUTES.items()
)


@contextmanager
def vault_of(**budget: object) -> Iterator[Vault]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "domain.toml").write_text(DOMAIN)
        nobody = pa.table({attribute: np.zeros(0, np.int64) for attribute in ATTRIBUTES})
        yield Vault.init(folder / "vault", table=nobody, domain=folder / "domain.toml", **budget)
