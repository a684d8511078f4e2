"""Whether synthetic rows tell if somebody is in the table: no better than ε allows; where ε is large the attack works.

The attacker knows everybody else, asks for rows again and again, and counts those that are like the person looked for,
in a cell where nobody else is. That is the sharpest that rows tell of a person.
"""

from math import sqrt, tanh

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.synthetic.rows import SyntheticRows
from discreet.vault.vault import Vault

DOMAIN = """
name = "people"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "form"
[attributes.job]
kind = "category"
values = ["a", "b", "c"]
source = "form"
"""
RELEASES = 60
"""Of each of the two tables."""


def like_the_target(rows: SyntheticRows) -> int:
    table = rows.table
    return sum(a == "M" and b == "c" for a, b in zip(table["sex"].to_pylist(), table["job"].to_pylist(), strict=True))


def counts_of(folder, with_target, epsilon):
    """How many synthetic rows are like the target, release by release."""
    folder.mkdir()
    people = [("F", "a"), ("F", "b"), ("M", "a"), ("F", "c"), ("M", "b")] * 12 + [("M", "c")] * with_target
    sex, job = zip(*people, strict=True)
    pq.write_table(pa.table({"sex": sex, "job": job}), folder / "people.parquet")
    (folder / "people.toml").write_text(DOMAIN)
    vault = Vault.init(
        folder / "vault",
        table=folder / "people.parquet",
        domain=folder / "people.toml",
        neighbours="add-remove",
        epsilon=epsilon * RELEASES,
    )
    plan = vault.cubes.plan(epsilon=epsilon, planner="model")
    cubes = (vault.cubes.publish(plan, again=True).with_model() for _ in range(RELEASES))
    return np.array([like_the_target(vault.rows.publish(cube, seed=1)) for cube in cubes])


def advantage(there, absent):
    """The best threshold's true positive rate less its false positive rate: chosen by looking, so rather too high."""
    return max(float((there >= least).mean() - (absent >= least).mean()) for least in range(1, 20))


@pytest.mark.parametrize(("epsilon", "works"), [(1, False), (8, True)])
def test_rows_tell_of_a_person_what_epsilon_allows_and_no_more(tmp_path, epsilon, works):
    found = advantage(counts_of(tmp_path / "with", 1, epsilon), counts_of(tmp_path / "without", 0, epsilon))
    assert found <= tanh(epsilon / 2) + 4 * sqrt(0.5 / RELEASES)
    assert (found > 0.6) == works  # where ε is large the same attack finds people: it is one
