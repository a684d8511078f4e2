"""Everything that is written to a place of its own: how it is begun, how it is gone on with, and when it is whole."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.cube.cube import Cube
from discreet.cube.export import export_cube, read_export
from discreet.cube.sdmx import check_sdmx
from discreet.microdata.buckets import Buckets
from discreet.mining.statistics import Statistics
from discreet.vault import Vault

DOMAIN = """\
name = "people"
[attributes.smoker]
kind = "category"
values = ["false", "true"]
source = "questionnaire"
[attributes.old]
kind = "category"
values = ["false", "true"]
source = "questionnaire"
[attributes.place]
kind = "integer"
low = 0
high = 2999
source = "registry"
[attributes.disease]
kind = "category"
values = ["flu", "cold", "burn", "gout", "asthma"]
source = "registry"
"""
N = 400
DISEASES = ("flu", "cold", "burn", "gout", "asthma")
BUCKETS = {"sensitive": "disease", "limits": "0.5", "columns": ["smoker", "place"]}


@dataclass(frozen=True)
class Work:
    """Something that is published: how it is begun, how it is gone on with, and what must hold where it is there."""

    do: Callable[[Path], None]
    place: str
    require_whole: Callable[[Path], None]


def make(folder: Path, **budget: object) -> Vault:
    """A vault over the folder's table."""
    choice = budget or {"epsilon": 10, "neighbours": "add-remove"}
    return Vault.init(folder / "vault", table=folder / "people.parquet", domain=folder / "people.toml", **choice)


def make_sulq(folder: Path) -> Vault:
    return make(folder, id="person", roster=str(folder / "roster.csv"), queries=500, delta=1, calibration="paper")


def charge_of(vault: Vault) -> int | None:
    """The one charge that there may be: whoever goes on spends nothing more."""
    charges = [entry.seq for entry in vault.ledger.entries() if entry.kind == "charge"]
    assert len(charges) <= 1
    return charges[0] if charges else None


def publish_cube(folder: Path) -> None:
    vault = Vault.open(folder / "vault")
    plan = vault.cubes.plan(epsilon="1/2", dimensions=["smoker", "place"])
    vault.cubes.publish(charge_of(vault) or plan).save(folder / "cube")


def require_cube(folder: Path) -> None:
    cube, vault = Cube.load(folder / "cube"), Vault.open(folder / "vault")
    released = vault.release(charge_of(vault))
    units = np.concatenate([np.ravel(answer.units) for answer in released.answers])
    assert np.array_equal(np.sort(units), np.sort(np.concatenate([np.ravel(s) for s in cube.sources.values()])))


def publish_statistics(folder: Path) -> None:
    vault = Vault.open(folder / "vault")
    plan = vault.sulq.plan(["smoker", "old"], arity=1, subsets=20)
    vault.sulq.publish(charge_of(vault) or plan).save(folder / "statistics")


def require_statistics(folder: Path) -> None:
    statistics, vault = Statistics.load(folder / "statistics"), Vault.open(folder / "vault")
    released = vault.release(charge_of(vault))
    assert np.array_equal(np.ravel([answer.units for answer in released.answers]), statistics.counts.ravel())


def publish_buckets(folder: Path) -> None:
    vault = Vault.open(folder / "vault")
    again = bool(vault.ledger.publications)
    vault.buckets.publish(out=folder / "buckets", **BUCKETS, again=again)


def require_buckets(folder: Path) -> None:
    """Whole, and no guarantee is silent about it."""
    assert Buckets.load(folder / "buckets").qit.num_rows == N
    assert "F'-privacy" in str(Vault.open(folder / "vault").ledger.guarantee)


def export(name: str, folder: Path) -> None:
    export_cube(Cube.load(folder / "source"), folder / name)


def require_export(name: str, folder: Path) -> None:
    check_sdmx(folder / name) if name.endswith(".csv") else read_export(folder / name)


def require_vault(folder: Path) -> None:
    vault = Vault.open(folder / "vault")
    assert [entry.kind for entry in vault.ledger.entries()] == ["init"]
    vault.ask("SELECT COUNT(*) FROM people", scale=10)


WORKS = {
    "a cube": Work(publish_cube, "cube", require_cube),
    "statistics": Work(publish_statistics, "statistics", require_statistics),
    "buckets": Work(publish_buckets, "buckets", require_buckets),
    **{
        f"an export to {name}": Work(partial(export, name), name, partial(require_export, name))
        for name in ("people.csv", "people.nc", "people.zarr")
    },
    "a new vault": Work(make, "vault", require_vault),
}


def prepare(what: str, folder: Path) -> None:
    """What a publication begins with: a table, and a vault over it or a cube."""
    rows = range(N)
    people = {"person": rows, "smoker": [i % 3 == 0 for i in rows], "old": [i % 5 < 2 for i in rows]}
    people |= {"place": [i % 150 * 20 for i in rows], "disease": [DISEASES[i * 31 % 11 % 5] for i in rows]}
    folder.mkdir()
    pq.write_table(pa.table(people), folder / "people.parquet")
    pd.DataFrame({"id": rows}).to_csv(folder / "roster.csv", index=False)
    (folder / "people.toml").write_text(DOMAIN)
    if what == "a new vault":
        return
    vault = (make_sulq if what == "statistics" else make)(folder)
    if what.startswith("an export"):
        plan = vault.cubes.plan(epsilon=1, dimensions=["smoker", "old", "disease"])
        vault.cubes.publish(plan).save(folder / "source")
    vault.ledger.close()
