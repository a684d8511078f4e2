"""The best that is public: exact on a table without noise, with the variance that another formula finds, and everywhere
the same number until something new is released."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from discreet.answer import best, parts
from discreet.answer.joint import MOST_WRITTEN
from discreet.cli import app
from discreet.domain.region import Region
from discreet.noise.law import Laplace
from discreet.noise.spread import Draws, halfwidth
from discreet.vault import Vault
from tests.answer.conftest import DOMAIN
from tests.answer.test_derive import SHAPE, best_by_points, box, boxes, counts, exact, marginals, released, unions

WHOLE = box(*((0, size - 1) for size in SHAPE))
EVERYBODY = "SELECT COUNT(*) FROM people"
FREE = {"scale": 10**6}
"""So little accuracy that whatever is public will do."""

tables = st.tuples(
    st.just(WHOLE),
    st.sets(st.integers(0, 2), min_size=1).map(lambda by: tuple(sorted(by))),
    st.sampled_from([1.0, 2.0]),
)


@given(
    st.lists(counts | unions | marginals | tables, max_size=8),
    st.lists(boxes(), min_size=1, max_size=2).map(Region.of),
)
@settings(max_examples=100)
def test_it_is_the_least_variance_of_all_combinations_of_everything(listed, target):
    [found] = released(*listed).joint.estimates([tuple((1, piece) for piece in target.boxes)])
    least = best_by_points(target, listed)
    assert (found is None) == (least is None)
    if found is not None:
        assert found.value == pytest.approx(exact(target), abs=1e-6)
        assert found.variance == pytest.approx(least, rel=1e-6)


@given(st.lists(counts | marginals | tables, max_size=6), boxes(), boxes())
@settings(max_examples=50)
def test_estimates_of_differences_are_the_differences_of_estimates(listed, one, other):
    joint = released(*listed).joint
    first, second, both = joint.estimates([((1, one),), ((1, other),), ((1, one), (-1, other))])
    if first is not None and second is not None:
        assert both.value == pytest.approx(first.value - second.value, abs=1e-6)
        deviation = np.sqrt(first.variance) + np.sqrt(second.variance)
        assert both.variance <= deviation**2 * (1 + 1e-6)


def test_up_to_so_many_draws_are_told_one_by_one():
    region = Region((box((1, 2), (0, 2), (0, 3)),))

    def average(many):
        [found] = released(*[(region, 1.0)] * many).joint.estimates([((1, region.boxes[0]),)])
        assert found.variance == pytest.approx(1 / many)
        assert found.sources == {(number, 0) for number in range(many)}
        return found

    told, untold = average(MOST_WRITTEN), average(MOST_WRITTEN + 1)
    assert sorted(source for _, source, _ in told.draws) == [(number, 0) for number in range(MOST_WRITTEN)]
    assert [weight for weight, _, _ in told.draws] == pytest.approx([1 / MOST_WRITTEN] * MOST_WRITTEN)
    assert untold.draws is None
    assert 1 / (MOST_WRITTEN + 1) ** 2 <= untold.largest <= untold.variance


def least_variance(rows, variances, target):
    """By another formula: least squares within the null space of the exact rows, over single points."""
    rows, variances, target = np.array(rows, float), np.array(variances, float), np.asarray(target, float)
    known, noisy = rows[variances == 0], rows[variances > 0]
    free = np.round(np.eye(rows.shape[1]) - np.linalg.pinv(known, rcond=1e-10) @ known, 12)
    seen = noisy @ free
    information = seen.T @ (seen / variances[variances > 0, None])
    wanted = free @ target
    back = np.linalg.pinv(information, rcond=1e-9, hermitian=True)
    return wanted @ back @ wanted if np.allclose(information @ back @ wanted, wanted, atol=1e-6) else None


def points(vault, **conditions):
    """A region as an indicator over the domain's points."""
    inside = np.zeros(vault.domain.shape)
    for piece in vault.count(**conditions).where.boxes:
        inside[piece.slices] = 1
    return inside.reshape(-1)


def groups(vault, axes):
    """The rows of a GROUP BY over all points."""
    shape = vault.domain.shape
    cells = np.arange(np.prod([shape[axis] for axis in axes])).reshape([shape[a] if a in axes else 1 for a in range(3)])
    labels = np.broadcast_to(cells, shape).reshape(-1)
    return [labels == cell for cell in range(cells.size)]


class TestVariance:
    def test_with_facts_it_is_the_least_of_all_unbiased_combinations(self, vault, monkeypatch):
        monkeypatch.setattr(best, "WORTH", np.inf)  # none of it is given up for a narrower interval
        vault.ask(f"{EVERYBODY} WHERE age < 5", scale=20)
        vault.measure(vault.count(age=(0, 4)), scale=20)
        vault.ask(f"{EVERYBODY} WHERE sex = 'F' OR age = 9", scale=10)
        vault.ask("SELECT age, COUNT(*) FROM people GROUP BY age", scale=8)
        vault.ask("SELECT age, sex, COUNT(*) FROM people GROUP BY age, sex", scale=5)
        vault.ask("SELECT sex, COUNT(*) FROM people WHERE age > 2 GROUP BY sex", scale=6)
        vault.facts.add(f"{EVERYBODY} WHERE sex = 'F'", 2000)
        vault.facts.add(cuboid=("income",), values=[2000, 1000, 1000, 1500, 500])
        rows, variances = [points(vault, sex="F"), *groups(vault, (2,))], [0.0] * 6
        for release in vault.releases():
            for noisy in release.answers:
                query = noisy.measurement.query
                where = np.zeros(vault.domain.shape)
                for piece in query.where.boxes:
                    where[piece.slices] = 1
                for group in groups(vault, [vault.domain.axis(name) for name in query.by]):
                    rows.append(group * where.reshape(-1))
                    variances.append(noisy.noise.variance)
        for where, conditions in (
            ("age BETWEEN 3 AND 4 AND sex = 'M'", {"age": (3, 4), "sex": "M"}),
            ("age < 7", {"age": (0, 6)}),
        ):
            answer = vault.ask(f"{EVERYBODY} WHERE {where}", **FREE)
            expected = least_variance(rows, variances, points(vault, **conditions))
            assert answer.cost == 0
            assert answer.only.source.variance == pytest.approx(expected, rel=1e-6)

    def test_example_1_of_the_seed_halves_it(self, vault):
        # refinement, Example 1: two counts and their known sum.
        by_sex = "SELECT sex, COUNT(*) FROM people WHERE sex IS NOT NULL GROUP BY sex"
        vault.ask(by_sex, scale=20)
        vault.facts.add(f"{EVERYBODY} WHERE sex IS NOT NULL", 4000)
        answer = vault.ask(by_sex, scale=20)
        noisy = vault.release(2).variance
        assert [row.source.variance for row in answer.rows] == pytest.approx([noisy / 2, noisy / 2], rel=1e-9)
        assert sum(row.value for row in answer.rows) == pytest.approx(4000, abs=1e-6)

    def test_of_very_much_the_sharpest_is_solved_together_and_nothing_is_lost(self, vault, monkeypatch):
        monkeypatch.setattr(parts, "MOST_PARTS", 4)
        monkeypatch.setattr(parts, "MOST_GROUPS", 2)
        vault.ask("SELECT sex, COUNT(*) FROM people GROUP BY sex", scale=50)
        for age in range(8):
            vault.ask(f"{EVERYBODY} WHERE age <= {age}", scale=20)
        vault.ask("SELECT income, COUNT(*) FROM people WHERE sex = 'F' GROUP BY income", scale=10)
        for sql in (
            f"{EVERYBODY} WHERE age = 3",
            f"{EVERYBODY} WHERE sex = 'F' AND income < 20",
            f"{EVERYBODY} WHERE sex = 'F'",
        ):
            answer = vault.ask(sql, scale=60)
            assert answer.cost == 0
        assert answer.only.source.variance < 5 * vault.release(2).variance


class TestFacts:
    def test_a_number_that_facts_determine_is_exact_and_says_so(self, vault):
        vault.ask(f"{EVERYBODY} WHERE age < 5", scale=20)
        vault.facts.add(f"{EVERYBODY} WHERE age < 5", 3011)
        vault.facts.add(EVERYBODY, 6000)
        answer = vault.ask(f"{EVERYBODY} WHERE age >= 5", scale=1)
        assert (answer.value, answer.interval(), answer.cost) == (2989, (2989, 2989), 0)
        assert answer.notes == ("made with facts 4, 5",)

    def test_a_published_cuboid_serves_all_that_it_rolls_up_to(self, vault):
        vault.facts.add(cuboid=("age",), values=np.arange(100, 110))
        answer = vault.ask(f"{EVERYBODY} WHERE age BETWEEN 2 AND 4", scale=1)
        assert (answer.value, answer.cost) == (102 + 103 + 104, 0)

    def test_a_sum_of_counts_that_is_a_fact_is_exact(self, vault):
        combination = (
            "SELECT COUNT(*) FILTER (WHERE age = 1) + COUNT(*) FILTER (WHERE sex = 'F') FROM people"  # not disjoint
        )
        vault.facts.add(combination, 2500)
        assert vault.ask(combination, scale=50).interval() == (2500, 2500)

    def test_facts_about_an_earlier_table_are_left_out(self, vault, people):
        vault.facts.add(EVERYBODY, 6000)
        vault.refresh(table=people.iloc[:-1])
        assert vault.ask(EVERYBODY, scale=20).kind == "measured"

    def test_an_estimate_with_one_draw_in_it_has_that_draws_own_interval(self, vault):
        asked = vault.ask(f"{EVERYBODY} WHERE age < 5", scale=20)
        vault.facts.add(EVERYBODY, 6000)
        rest = vault.ask(f"{EVERYBODY} WHERE age >= 5", scale=20)
        assert rest.value == 6000 - asked.value
        assert rest.only.high - rest.value == asked.only.high - asked.value
        assert rest.notes == ("made with fact 4",)


def test_a_number_that_is_measured_is_what_is_told_to_whoever_asks_next(vault):
    vault.ask(EVERYBODY, scale=5)
    by_sex = "SELECT sex, COUNT(*) FROM people GROUP BY sex"
    measured = vault.ask(by_sex, scale=20)
    again = vault.ask(by_sex, scale=20)
    assert {row.kind for row in measured.rows} == {"measured"}
    assert [(row.value, row.low, row.high) for row in again.rows] == [
        (row.value, row.low, row.high) for row in measured.rows
    ]
    draw = halfwidth([Draws(1.0, Laplace(Fraction(20)))], Fraction(19, 20))
    assert all(row.high - row.value < draw for row in measured.rows)
    assert measured.guarantee.amount == vault.ledger.budget.amount_of(vault.ledger.spent_max)  # an earlier one is in it


def test_what_was_bought_within_a_width_stays_within_it(vault):
    vault.ask(EVERYBODY, scale=5)
    for within in (3, 4, 10, 50):
        answer = vault.ask("SELECT age, COUNT(*) FROM people GROUP BY age", within=within)
        assert all(row.high - row.value <= within for row in answer.rows)


@st.composite
def histories(draw):
    """Asks, cubes and facts, in some order."""
    where = st.sampled_from(["", " WHERE age < 4", " WHERE sex = 'F'", " WHERE age > 6 AND income < 30"])
    by = st.sampled_from(["", "age", "sex", "age, sex", "income"])
    asks = st.tuples(st.just("ask"), where, by, st.sampled_from([20, 50]))
    cubes = st.tuples(st.just("cube"), st.sampled_from([["age", "sex"], ["age", "sex", "income"], ["sex"]]))
    facts = st.tuples(st.just("fact"), st.sampled_from(["total", "sex"]))
    return draw(st.lists(asks | cubes | facts, min_size=1, max_size=4, unique_by=str))


def done(vault, people, step):
    match step:
        case "ask", where, by, scale:
            grouped = f" GROUP BY {by}" if by else ""
            vault.ask(f"SELECT {by + ', ' if by else ''}COUNT(*) FROM people{where}{grouped}", scale=scale)
        case "cube", dimensions:
            vault.cubes.publish(vault.cubes.plan(epsilon="1/20", dimensions=dimensions))
        case "fact", "total":
            vault.facts.add(EVERYBODY, len(people))
        case "fact", "sex":
            sexes = [int((people.sex == "F").sum()), int((people.sex == "M").sum()), int(people.sex.isna().sum())]
            vault.facts.add(cuboid=("sex",), values=sexes)


def numbers(answer):
    return [(row.value, row.low, row.high) for row in answer.rows]


@settings(max_examples=15)
@given(history=histories())
def test_a_cell_has_one_number_however_it_is_asked_for(history, people, tmp_path_factory):
    home = tmp_path_factory.mktemp("one")
    people.to_parquet(home / "people.parquet")
    (home / "people.toml").write_text(DOMAIN)
    vault = Vault.init(
        home / "vault", table=home / "people.parquet", domain=home / "people.toml", epsilon=100, neighbours="replace"
    )
    for step in history:
        done(vault, people, step)
    by_sex = "SELECT sex, COUNT(*) FROM people GROUP BY sex"
    shown = numbers(vault.ask(by_sex, **FREE))
    head = vault.ledger.head
    assert shown == numbers(vault.ask(by_sex, **FREE))
    conditions = ("sex = 'F'", "sex = 'M'", "sex IS NULL")
    assert shown == [numbers(vault.ask(f"{EVERYBODY} WHERE {where}", **FREE))[0] for where in conditions]
    filtered = ", ".join(f"COUNT(*) FILTER (WHERE {where}) AS n{at}" for at, where in enumerate(conditions))
    assert shown == numbers(vault.ask(f"SELECT {filtered} FROM people", **FREE))
    assert shown == numbers(Vault.open(vault.path).ask(by_sex, **FREE))
    said = CliRunner().invoke(app, ["ask", str(vault.path), by_sex, "--scale", str(FREE["scale"]), "--json"])
    assert shown == [(row["value"], row["low"], row["high"]) for row in json.loads(said.stdout)["rows"]]
    assert vault.ledger.head == head
    vault.ledger.close()


CELLS = [(), ("sex",), ("age",), ("age", "sex"), ("sex", "income")]


@pytest.mark.parametrize("budget", [{"epsilon": 10}, {"rho": 10}], ids=["pure", "concentrated"])
@pytest.mark.parametrize("planner", ["optimal", "base", "all"])
@pytest.mark.parametrize("known", [False, True], ids=["", "with a fact"])
def test_after_a_cube_ask_says_what_the_cube_says(make_vault, planner, budget, known):
    vault = make_vault(**budget)
    if known:
        vault.facts.add(cuboid=("sex",), values=[2000, 2000, 2000])
    currency = next(iter(budget))
    plan = vault.cubes.plan(**{currency: "1/2"}, planner=planner, facts="vault" if known else None)
    cube = vault.cubes.publish(plan)
    for names in CELLS:
        columns = "".join(f"{name}, " for name in names)
        sql = f"SELECT {columns}COUNT(*) FROM people" + (f" GROUP BY {', '.join(names)}" if names else "")
        answer = vault.ask(sql, **FREE)
        assert answer.cost == 0
        said = np.array([(row.value, row.high - row.value) for row in answer.rows])
        assert said[:, 0] == pytest.approx(cube.cells(*names).reshape(-1), rel=1e-9, abs=1e-6)
        assert said[:, 1] == pytest.approx([cube.halfwidth(*names)] * len(said), rel=1e-9, abs=1e-6)


def test_ask_is_never_wider_than_a_cube_whatever_else_was_released(make_vault):
    vault = make_vault(epsilon=100)
    vault.ask(EVERYBODY, scale=3)
    vault.ask("SELECT age, COUNT(*) FROM people WHERE sex = 'F' GROUP BY age", scale=30)
    vault.ask(f"{EVERYBODY} WHERE age > 3 AND income < 20", scale=20)
    cubes = [vault.cubes.publish(vault.cubes.plan(epsilon=share)) for share in ("1/10", "1/5")]
    vault.ask("SELECT age, COUNT(*) FROM people GROUP BY age", scale=40)
    for names in CELLS:
        columns = "".join(f"{name}, " for name in names)
        sql = f"SELECT {columns}COUNT(*) FROM people" + (f" GROUP BY {', '.join(names)}" if names else "")
        for row in vault.ask(sql, **FREE).rows:
            assert row.high - row.value <= min(cube.halfwidth(*names) for cube in cubes) * (1 + 1e-9)
