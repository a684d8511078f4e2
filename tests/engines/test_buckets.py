"""Buckets from every engine: the same people, and everything holds."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from discreet.microdata.check import check_buckets
from discreet.vault import Vault

DOMAIN = """
name = "people"
[attributes.age]
kind = "integer"
low = 0
high = 9
null = true
source = "a test"
[attributes.sex]
kind = "category"
values = ["F", "M"]
outside = "other"
source = "a test"
[attributes.job]
kind = "category"
values = ["a", "b", "c", "d", "e"]
source = "a test"
"""


@pytest.mark.parametrize("choice", [{}, {"similar": True}], ids=["by lot", "similar"])
def test_every_engine_publishes_the_same_people(engine, tmp_path, choice):
    chance = np.random.default_rng(2)
    ages = [None if age == 10 else int(age) for age in chance.integers(0, 11, 600)]
    sexes, jobs = chance.choice(["F", "M", "X"], 600).tolist(), chance.choice(list("abcdef"), 600).tolist()
    table = pa.table({"age": pa.array(ages, pa.int64()), "sex": sexes, "job": jobs})
    (tmp_path / "d.toml").write_text(DOMAIN)
    place = engine(table, tmp_path)
    vault = Vault.init(tmp_path / "v", table=place, domain=tmp_path / "d.toml", epsilon=1, neighbours="replace")
    buckets = vault.buckets.publish(sensitive="job", limits="0.3", out=tmp_path / "b", **choice)
    kept = [row for row in zip(ages, sexes, jobs, strict=True) if row[2] != "f"]
    people = Counter((row["age"], row["sex"]) for row in buckets.qit.to_pylist())
    assert people == Counter((age, "(other)" if sex == "X" else sex) for age, sex, _ in kept)
    assert Counter(buckets.st.column("job").to_pylist()) == Counter(job for _, _, job in kept)
    assert check_buckets(buckets.path).holds
