"""Cubes of sums, and averages: charged as the ledger charges sums, exact where there is no noise to speak of."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from discreet.cube.average import Averages
from discreet.cube.cube import Cube
from discreet.cube.export import read_export
from discreet.cube.publish import measurements_of
from discreet.errors import UnsupportedQuery
from discreet.ledger.spend import UNITS
from discreet.vault import Vault

DOMAIN = """
name = "people"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "form"
[attributes.team]
kind = "category"
values = ["a", "b", "c"]
source = "form"
[attributes.age]
kind = "integer"
low = 0
high = 99
outside = "clamp"
source = "form"
[attributes.gain]
kind = "bins"
edges = [-50, 0, 100]
grain = 0.5
source = "form"
"""
PEOPLE = pd.DataFrame(
    {
        "sex": ["F", "M"] * 300,
        "team": ["a", "b", "c"] * 200,
        "age": np.arange(600) % 100,
        "gain": (np.arange(600) % 61 - 20) / 2,
    }
)


@pytest.fixture
def make(tmp_path):
    (tmp_path / "people.toml").write_text(DOMAIN)

    def vault(**budget: object) -> Vault:
        place = tmp_path / f"vault{len(list(tmp_path.iterdir()))}"
        choice = {"neighbours": "add-remove", **budget}
        return Vault.init(place, table=PEOPLE, domain=tmp_path / "people.toml", **choice)

    return vault


@pytest.mark.parametrize("consistent", [True, False])
@pytest.mark.parametrize("of", ["age", "gain"])
def test_with_next_to_no_noise_sums_are_the_sums(make, of, consistent):
    vault = make(epsilon=100_000)
    plan = vault.cubes.plan(epsilon=50_000, measure=f"sum({of})", dimensions=["sex", "team"], cuboids=[("sex", "team")])
    cube = vault.cubes.publish(plan, consistent=consistent)
    np.testing.assert_allclose(cube["team"].values, PEOPLE.groupby("team")[of].sum().to_numpy(), atol=1)
    exact = PEOPLE.groupby(["sex", "team"])[of].sum().unstack().to_numpy()
    np.testing.assert_allclose(cube["sex", "team"].values, exact, atol=1)
    assert cube["sex"].name == "sum"
    assert cube.describe()["measure"] == f"sum({of})"
    for norm in ("l1", "linf") if consistent else ():
        np.testing.assert_allclose(cube.reshaped(norm=norm)["sex", "team"].values, exact, atol=1)


@pytest.mark.parametrize(
    ("budget", "spend", "of", "largest"),
    [
        ({"epsilon": 2}, {"epsilon": 1}, "age", 99),
        ({"epsilon": 2, "neighbours": "replace"}, {"epsilon": 1}, "age", 99),
        ({"epsilon": 2}, {"epsilon": 1}, "gain", 100),
        ({"rho": 2}, {"rho": 1}, "age", 99),
        ({"rho": 2, "neighbours": "replace"}, {"rho": 1}, "age", 99),
        ({"rho": 2, "neighbours": "replace"}, {"rho": 1}, "gain", 100),
    ],
)
def test_the_ledger_is_charged_what_was_asked_for_where_values_are_largest(make, budget, spend, of, largest):
    """Λ is the largest |value|, not the range: CUBES.md on Section 3.4.2."""
    vault = make(**budget)
    plan = vault.cubes.plan(measure=f"sum({of})", dimensions=["sex", "team"], **spend)
    assert plan.noise.measure.move == largest
    cost = measurements_of(plan, vault.domain).cost(vault.domain, vault.ledger.budget)
    asked = UNITS // vault.ledger.budget.factor
    # Each source is rounded up to whole units, and shares were rounded down.
    assert asked - len(plan.shares) <= cost.peak <= asked


@pytest.mark.parametrize(("of", "grain"), [("age", 1), ("gain", Fraction(1, 2))])
def test_variances_are_those_of_the_noise_that_is_drawn(make, of, grain):
    vault = make(epsilon=50)
    plan = vault.cubes.plan(epsilon=1, measure=f"sum({of})", dimensions=["team"], cuboids=[("team",)])
    exact = PEOPLE.groupby("team")[of].sum().to_numpy()
    noise = np.array([vault.cubes.publish(plan, again=True)["team"].values - exact for _ in range(40)]).ravel()
    stated = plan.variance("team")
    assert plan.noise.measure.grain == grain
    # 120 Laplace draws: their mean square is within a factor 2 of the variance but for less than 10^-6.
    assert stated / 2 < np.mean(noise**2) < 2 * stated


def test_a_cube_of_sums_comes_back_from_its_folder(make, tmp_path):
    vault = make(epsilon=2)
    cube = vault.cubes.publish(vault.cubes.plan(epsilon=1, measure="sum(gain)", dimensions=["sex", "team"]))
    cube.save(tmp_path / "sums")
    back = Cube.load(tmp_path / "sums")
    assert back.plan == cube.plan
    np.testing.assert_array_equal(back["sex"].values, cube["sex"].values)
    assert back.halfwidth("sex") == cube.halfwidth("sex")
    raw, made = (pd.read_parquet(tmp_path / "sums" / f"{name}.parquet") for name in ("sources", "cuboids"))
    assert {"sum", "variance"} <= set(raw) & set(made)
    # Raw sums are in whole grains of 1/2, and so are their variances.
    assert raw.variance[0] == pytest.approx(4 * cube.plan.source_variances[min(cube.sources)])


def test_a_cube_of_sums_is_exported_as_sums(make, tmp_path):
    vault = make(epsilon=2)
    plan = vault.cubes.plan(epsilon=1, measure="sum(age)", dimensions=["sex"])
    vault.cubes.publish(plan).export(tmp_path / "sums.nc")
    data = read_export(tmp_path / "sums.nc")
    assert set(data.data_vars) == {"sum", "sum_by_sex"}
    assert data.attrs["measure"] == "sum(age)"


def test_averages_are_near_and_their_intervals_hold_the_truth(make):
    vault = make(epsilon=40)
    held = 0
    truth = PEOPLE.groupby("team")["age"].mean().to_numpy()
    for _ in range(20):
        sums = vault.cubes.publish(vault.cubes.plan(epsilon=1, measure="sum(age)", dimensions=["team"]))
        counts = vault.cubes.publish(vault.cubes.plan(epsilon=1, dimensions=["team"]))
        averages = Averages(sums, counts)
        low, high = averages.interval("team")
        held += int(np.sum((low.values <= truth) & (truth <= high.values)))
        assert np.all(low <= averages["team"])
        assert np.all(averages["team"] <= high)
    assert held >= 51  # of 60, at 95% or more: fewer has a probability below 10^-3


def test_an_average_of_nearly_nobody_is_bounded_by_the_declared_values(make):
    vault = make(epsilon=2)
    sums = vault.cubes.publish(vault.cubes.plan(epsilon="1/1000", measure="sum(age)", dimensions=["sex", "team"]))
    counts = vault.cubes.publish(vault.cubes.plan(epsilon="1/1000", dimensions=["sex", "team"]))
    low, high = Averages(sums, counts).interval("sex", "team")
    assert low.min() >= -99
    assert high.max() <= 99


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ("avg(age)", "an average is made of both"),
        ("sum(sex)", "is a category"),
        ("sum(nobody)", "nobody"),
        ("max(age)", "count or sum"),
    ],
)
def test_a_measure_that_there_is_not_is_refused(make, measure, words):
    with pytest.raises(Exception, match=words):
        make(epsilon=1).cubes.plan(epsilon=1, measure=measure)


def test_an_average_takes_sums_and_counts_of_one_table(make):
    vault = make(epsilon=2)
    counts = vault.cubes.publish(vault.cubes.plan(epsilon=1, dimensions=["sex"]))
    with pytest.raises(UnsupportedQuery, match="in this order"):
        Averages(counts, counts)


@pytest.mark.parametrize("missing", ["null = true", 'outside = "other"'])
def test_no_average_is_made_where_rows_without_a_value_are_counted(tmp_path, missing):
    text = DOMAIN.replace('outside = "clamp"', missing)
    (tmp_path / "people.toml").write_text(text)
    vault = Vault.init(
        tmp_path / "vault", table=PEOPLE, domain=tmp_path / "people.toml", epsilon=2, neighbours="add-remove"
    )
    sums = vault.cubes.publish(vault.cubes.plan(epsilon=1, measure="sum(age)", dimensions=["sex"]))
    counts = vault.cubes.publish(vault.cubes.plan(epsilon=1, dimensions=["sex"]))
    sums.save(tmp_path / "sums")
    with pytest.raises(UnsupportedQuery, match=r"ask for AVG\(age\) in SQL"):
        Averages(Cube.load(tmp_path / "sums"), counts)


def test_sums_cannot_be_whole_counts(make):
    vault = make(epsilon=2)
    plan = vault.cubes.plan(epsilon=1, measure="sum(age)", dimensions=["sex"])
    with pytest.raises(UnsupportedQuery, match="for counts"):
        vault.cubes.publish(plan, counts="whole")
    assert vault.budget().charges == 0
