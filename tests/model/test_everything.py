"""Everything public as measurements of one model: what is in, against brute force; and that more answers are nearer."""

from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.optimize import minimize

from discreet.errors import UnsupportedQuery
from discreet.model import dual as dual_module
from discreet.model import everything as everything_module
from discreet.model import mixture_fit, size
from discreet.model.dual import Dual
from discreet.model.everything import Everything, everything
from discreet.model.fit import fit
from discreet.model.measured import total_of
from discreet.model.mixture import ProductMixture
from discreet.noise.bits import SeededBits
from discreet.vault.vault import Vault

DOMAIN = """
name = "people"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "form"
[attributes.age]
kind = "integer"
low = 18
high = 21
null = true
source = "form"
[attributes.work]
kind = "category"
values = ["none", "some", "full"]
source = "form"
[attributes.income]
kind = "bins"
edges = [0, 100, 1000]
grain = 1
source = "form"
[attributes.country]
kind = "category"
values = ["here"]
source = "atlas"
"""
SHAPE = (2, 5, 3, 2)
NAMES = ("sex", "age", "work", "income")


def people(rows: int = 900, seed: int = 5) -> pa.Table:
    rng = np.random.default_rng(seed)
    sex, age = rng.integers(0, 2, rows), rng.choice(5, rows, p=[0.1, 0.2, 0.4, 0.25, 0.05])
    work = np.where(rng.random(rows) < 0.2 + 0.15 * age * sex, 2, rng.integers(0, 2, rows))
    return pa.table(
        {
            "sex": [("F", "M")[code] for code in sex],
            "age": pa.array([None if code == 4 else 18 + int(code) for code in age], pa.int64()),
            "work": [("none", "some", "full")[code] for code in work],
            "income": rng.integers(0, 150, rows) + 100 * (work == 2),
            "country": ["here"] * rows,
        }
    )


@pytest.fixture
def vault(tmp_path) -> Vault:
    pq.write_table(people(), tmp_path / "people.parquet")
    (tmp_path / "people.toml").write_text(DOMAIN)
    return Vault.init(
        tmp_path / "vault",
        table=tmp_path / "people.parquet",
        domain=tmp_path / "people.toml",
        epsilon=1000,
        neighbours="add-remove",
    )


def of_all(vault: Vault) -> Everything:
    found = everything(vault.facts._released_now(), vault.facts.current(), vault.domain)
    assert found is not None
    return found


RELEASED = [
    "SELECT COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people WHERE sex = 'F' AND age < 20",
    "SELECT work, sex, COUNT(*) FROM people GROUP BY work, sex",
    "SELECT age, COUNT(*) FROM people WHERE work <> 'none' GROUP BY age",
    "SELECT age >= 20 AS old, sex, COUNT(*) FROM people WHERE work = 'some' GROUP BY age >= 20, sex",
    "SELECT sex = 'F' OR age = 18 AS one, COUNT(*) FROM people GROUP BY sex = 'F' OR age = 18",
    "SELECT sex, SUM(age) FROM people GROUP BY sex",
    "SELECT SUM(age * 2 - 30) FROM people WHERE work = 'full'",
]
BY_HAND = (0, 1, 3, 5, 6, 7)


def added_by_hand(place: int, sex: int, age: int, work: int) -> list[float]:
    """What a row of a cell adds to each number of some of these."""
    years = 18 + age if age < 4 else None
    match place:
        case 0:
            return [1.0]
        case 1:
            return [float(sex == 0 and age < 2)]
        case 3:
            return [float(work > 0 and age == code) for code in range(5)]
        case 5:
            one = True if sex == 0 else None if years is None else years == 18
            return [float(one is False), float(one is True), float(one is None)]
        case 6:
            return [float(years or 0) * (sex == code) for code in range(2)]
    return [0.0 if years is None or work < 2 else 2.0 * years - 30]


def as_matrix(of: Everything) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The measurements as rows of a dense matrix over the joint, with their values and variances: cell by cell."""
    rows, values, variances = [], [], []
    shape = tuple(of.lattice.sizes)
    for one in of.measured:
        axes = of.lattice.axes(one.mask)
        columns = []
        for codes in product(*map(range, shape)):
            unit = np.zeros(of.lattice.shape(one.mask))
            unit[tuple(codes[axis] for axis in axes)] = 1.0
            columns.append(one.of(unit).reshape(-1))
        rows.append(np.array(columns).T)
        values.append(one.values.reshape(-1))
        variances.append(np.full(one.values.size, one.variance))
    return np.concatenate(rows), np.concatenate(values), np.concatenate(variances)


@pytest.mark.parametrize("place", BY_HAND)
def test_what_a_row_adds_to_a_released_number_is_what_the_question_says(vault, place):
    vault.ask("SELECT income, COUNT(*) FROM people GROUP BY income", scale=3)
    vault.ask(RELEASED[place], scale=3)
    of = of_all(vault)
    wanted = []
    for codes in product(*(range(vault.domain[name].size) for name in of.names)):
        at = {**dict.fromkeys(NAMES, 0), **dict(zip(of.names, codes, strict=True))}
        wanted.append(added_by_hand(place, at["sex"], at["age"], at["work"]))
    matrix, values, variances = (part[vault.domain["income"].size :] for part in as_matrix(of))
    released = list(vault.facts._released_now())[-1].only
    # Numbers of parts of the table are divided by the standard deviation of their noise.
    deviation = np.sqrt(released.variance / variances)
    np.testing.assert_allclose(matrix * deviation[:, None], np.array(wanted).T, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(values * deviation, released.values.reshape(-1), rtol=1e-9)


def primal(of: Everything, total: float, strength: float) -> np.ndarray:
    """The least of λ·n·KL(p ‖ uniform) + Σ(n·A p − y)²/(2v) over p = softmax(z), by SciPy."""
    matrix, values, variances = as_matrix(of)

    def value(z: np.ndarray) -> tuple[float, np.ndarray]:
        logs = z - np.logaddexp.reduce(z)
        p, above = np.exp(logs), logs + np.log(z.size)
        off = total * matrix @ p - values
        cost = strength * total * float(p @ above) + float(off @ (off / variances)) / 2
        slope = strength * total * (above + 1) + total * matrix.T @ (off / variances)
        return cost, p * (slope - p @ slope)

    found = minimize(
        value, np.zeros(matrix.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}
    ).x
    return total * np.exp(found - np.logaddexp.reduce(found))


@pytest.mark.parametrize("strength", [1.0, 0.05])
def test_the_fit_of_everything_is_the_maximum_entropy_that_brute_force_finds(vault, monkeypatch, strength):
    monkeypatch.setattr(dual_module, "NEAR", 1e-8)
    for sql in RELEASED:
        vault.ask(sql, scale=5)
    vault.cubes.publish(vault.cubes.plan(epsilon="1/2", planner="model", dimensions=["sex", "age", "work"]))
    of = of_all(vault)
    assert of.names == ("sex", "age", "work")
    assert sum(one.sums is not None for one in of.measured) >= 3
    total = total_of(of.measured)
    dual = Dual(of.lattice, of.measured, total)
    potentials = dual.potentials(dual.solve(strength, np.zeros(dual.size)).point)
    log_z, _ = dual.joint.marginals(potentials)
    found = total * dual.joint.probabilities(potentials, log_z)
    np.testing.assert_allclose(found.reshape(-1), primal(of, total, strength), atol=2e-3)


def test_facts_of_regions_hold_exactly_beside_noisy_numbers(vault):
    vault.facts.add("SELECT COUNT(*) FROM people WHERE sex = 'F' AND age < 20", 100, accept=True)
    vault.facts.add("SELECT COUNT(*) FROM people WHERE work = 'full' AND age = 18", 0, accept=True)
    vault.ask("SELECT sex, age, work, COUNT(*) FROM people GROUP BY sex, age, work", scale=4)
    of = of_all(vault)
    assert len(of.facts) == 2
    cells = fit(of.lattice, of.measured).joint
    assert cells[0, :2].sum() == pytest.approx(100, abs=0.05)
    assert cells[:, 0, 2].sum() == 0


def test_repeats_are_one_measurement_their_mean_by_precision(vault):
    table = "SELECT sex, age, COUNT(*) FROM people GROUP BY sex, age"
    count = "SELECT COUNT(*) FROM people WHERE sex = 'F' AND age < 20 AND work = 'full'"
    for scale in (8, 4, 2):
        vault.ask(table, scale=scale)
        vault.ask(count, scale=scale)
    of = of_all(vault)
    released = [one.only for one in vault.facts._released_now()]
    tables, counts = ([one for one in released if (one.units.ndim == 2) is is_table] for is_table in (True, False))
    assert len(tables) == len(counts) == 3
    [own] = [one for one in of.measured if one.is_table]
    weights = np.array([1 / one.variance for one in tables])
    np.testing.assert_allclose(
        own.values, sum(w * one.units for w, one in zip(weights, tables, strict=True)) / weights.sum()
    )
    assert own.variance == pytest.approx(1 / weights.sum())
    [single] = [one for one in of.measured if one.sums is not None]
    weights = np.array([1 / one.variance for one in counts])
    mean = sum(w * float(one.units) for w, one in zip(weights, counts, strict=True)) / weights.sum()
    assert single.values == pytest.approx(mean * np.sqrt(weights.sum()))
    assert single.values.size == 1


def test_simulated_noise_has_the_variance_that_is_said(vault):
    for scale in (6, 3):
        vault.ask("SELECT sex, age, COUNT(*) FROM people GROUP BY sex, age", scale=scale)
        vault.ask("SELECT SUM(age) FROM people WHERE work = 'full'", scale=scale)
    of = of_all(vault)
    bits = SeededBits(3)
    for one in of.measured:
        drawn = np.array([of.noise(one, bits).reshape(-1) for _ in range(4000)]).reshape(-1)
        # A variance of 4,000 draws or more is within 12% of the truth, 6 standard deviations of Laplace noise.
        assert drawn.var() == pytest.approx(one.variance, rel=0.15)
        assert drawn.var() != pytest.approx(1.3 * one.variance, rel=0.15)


def test_what_codes_do_not_tell_is_not_in(vault):
    vault.ask("SELECT COUNT(*) FROM people", scale=3)
    for sql in (
        "SELECT SUM(income) FROM people",
        "SELECT MEDIAN(age) FROM people",
        "SELECT COUNT(DISTINCT work) FROM people",
    ):
        vault.ask(sql, scale=20)
    with pytest.raises(UnsupportedQuery, match="tells rows apart"):
        vault.model  # noqa: B018 -- asked for, and refused
    vault.ask("SELECT COUNT(*) FROM people WHERE sex = 'F'", scale=3)
    of = vault.model.of
    assert len(of.all_releases) == 5
    assert len(of.releases) == 2
    assert vault.model.describe()["other_numbers"] == 1


def test_without_a_number_of_rows_there_is_no_model(vault):
    vault.ask("SELECT COUNT(*) FROM people WHERE sex = 'F'", scale=3)
    with pytest.raises(UnsupportedQuery, match="how many rows"):
        vault.ask("SELECT COUNT(*) FROM people WHERE sex = 'F'", estimate="modelled")


def test_numbers_that_are_too_many_cells_are_left_out_the_noisiest_first(vault, monkeypatch):
    vault.ask("SELECT COUNT(*) FROM people", scale=3)
    vault.ask("SELECT COUNT(*) FROM people WHERE sex = 'F' AND age < 20", scale=9)
    vault.ask("SELECT COUNT(*) FROM people WHERE sex = 'M' AND work = 'full'", scale=2)
    monkeypatch.setattr(everything_module, "MOST_SUMMED", 8)  # 6 cells of a table, and 1 that is added up
    of = of_all(vault)
    assert (of.left_out, of.releases) == (1, (2, 6))


def test_one_model_of_several_cubes_and_answers_is_nearer_than_that_of_each(tmp_path):
    """Simulated: over some vaults, the mean error falls with every further answer that is in."""
    errors = np.zeros(3)
    for seed in range(12):
        table = people(3000, seed)
        pq.write_table(table, tmp_path / f"{seed}.parquet")
        (tmp_path / "people.toml").write_text(DOMAIN)
        vault = Vault.init(
            tmp_path / f"v{seed}",
            table=tmp_path / f"{seed}.parquet",
            domain=tmp_path / "people.toml",
            epsilon=100,
            neighbours="add-remove",
        )
        truth = np.zeros(SHAPE[:3])
        for row in table.to_pylist():
            at = ("FM".index(row["sex"]), 4 if row["age"] is None else row["age"] - 18)
            truth[(*at, ("none", "some", "full").index(row["work"]))] += 1
        cubes = [[("sex", "age"), ("work",)], [("sex", "work")]]
        counts = ("age < 20 AND work = 'full'", "age < 20 AND work = 'full' AND sex = 'M'")
        for place in range(3):
            if place < 2:
                plan = vault.cubes.plan(epsilon="1/8", cuboids=cubes[place], planner="all", dimensions=NAMES[:3])
                vault.cubes.publish(plan)
            else:
                for where in counts:
                    vault.ask(f"SELECT COUNT(*) FROM people WHERE {where}", scale=8)
            errors[place] += np.abs(vault.model.cells(*NAMES[:3]) - truth).mean()
    assert errors[0] > 1.1 * errors[1] > 1.1**2 * errors[2]


def test_a_wide_table_has_a_mixture_of_everything_without_its_facts(vault, monkeypatch):
    monkeypatch.setattr(size, "MOST_CELLS", 20)
    monkeypatch.setattr(mixture_fit, "GROUPS", 20)
    vault.facts.add("SELECT COUNT(*) FROM people WHERE income < 100", 200, accept=True)
    vault.ask("SELECT sex, age, COUNT(*) FROM people GROUP BY sex, age", scale=4)
    vault.ask("SELECT age, work, COUNT(*) FROM people GROUP BY age, work", scale=4)
    vault.ask("SELECT COUNT(*) FROM people WHERE age < 20 AND work = 'full' AND sex = 'M'", scale=1)
    model = vault.model
    assert isinstance(model.model, ProductMixture)
    assert (model.of.facts, model.of.facts_left_out) == ((), 1)
    one = next(own for own in model.of.measured if own.sums is not None)
    assert float(one.of(model.model.cuboid(one.mask))[0]) == pytest.approx(float(one.values[0]), abs=4.5)
    answer = vault.ask("SELECT sex, COUNT(*) FROM people GROUP BY sex", estimate="modelled")
    assert any("left out" in note for note in answer.notes)


def test_the_model_is_the_same_wherever_it_is_made_and_follows_the_journal(vault):
    vault.ask("SELECT sex, age, COUNT(*) FROM people GROUP BY sex, age", scale=4)
    first = vault.model
    again = Vault.open(vault.path).model
    assert again.of.digest == first.of.digest
    np.testing.assert_array_equal(again.cells("sex", "age"), first.cells("sex", "age"))
    vault.ask("SELECT COUNT(*) FROM people WHERE sex = 'F' AND work = 'full'", scale=4)
    later = vault.model
    assert later.of.releases == (*first.of.releases, later.of.releases[-1])
    assert later.guarantee != first.guarantee
    assert len(list((vault.path / "models").glob("public-*"))) == 1
