"""A hospital of 1,500 people, a vault over it, and buckets published from it."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from discreet.microdata.buckets import Buckets
from discreet.vault import Vault

DISEASES = ("flu", "cold", "burn", "gout", "asthma", "cancer", "HIV")
DOMAIN = """
name = "patients"
[attributes.age]
kind = "integer"
low = 20
high = 69
null = true
source = "a test"
[attributes.sex]
kind = "category"
values = ["F", "M"]
null = true
outside = "other"
source = "a test"
[attributes.weight]
kind = "bins"
edges = [40, 60, 80, 120]
source = "a test"
[attributes.disease]
kind = "category"
values = ["flu", "cold", "burn", "gout", "asthma", "cancer", "HIV"]
null = true
source = "a test"
[attributes.number]
kind = "integer"
low = 0
high = 9999
source = "a test"
"""
QIS = ("age", "sex", "weight")


def hospital(rows=1500, missing=0, seed=7):
    """People in no order; some diseases are missing."""
    chance = np.random.default_rng(seed)
    disease = chance.choice(DISEASES, rows, p=(0.3, 0.25, 0.15, 0.12, 0.1, 0.05, 0.03)).tolist()
    return pa.table(
        {
            "age": pa.array([None if a == 20 else int(a) for a in chance.integers(20, 70, rows)], pa.int64()),
            "sex": chance.choice(["F", "M", "X", None], rows, p=(0.5, 0.44, 0.04, 0.02)).tolist(),
            "weight": chance.uniform(40, 120, rows),
            "disease": [None if place < missing else name for place, name in enumerate(disease)],
            "number": chance.permutation(rows),
        }
    )


@dataclass
class Hospital:
    """A vault and the rows behind it."""

    vault: Vault
    rows: pa.Table
    folder: object

    def publish(self, name="buckets", **choice) -> Buckets:
        asked = {"sensitive": "disease", "limits": "min(1, 2*f + 0.1)", "columns": QIS, "again": True, **choice}
        return self.vault.buckets.publish(out=self.folder / name, **asked)


@pytest.fixture
def make_hospital(tmp_path, tmp_path_factory):
    def make(rows=None, **choice):
        table = hospital() if rows is None else rows
        (tmp_path / "patients.toml").write_text(DOMAIN)
        place = tmp_path_factory.mktemp("hospital") / "vault"
        vault = Vault.init(
            place, table=table, domain=tmp_path / "patients.toml", epsilon=1, neighbours="replace", **choice
        )
        return Hospital(vault, table, place.parent)

    return make


@pytest.fixture
def patients(make_hospital):
    return make_hospital()
