"""Refined answers: free, never worse than what was released, exact where facts are."""

import json
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.answer import combine as combining
from discreet.answer.index import Answers
from discreet.answer.past import Block
from discreet.cli import app
from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.errors import InvalidNoise, UnsupportedQuery
from discreet.noise.law import Laplace
from discreet.noise.spread import Draws, halfwidth
from discreet.vault import Vault

EVERYBODY = "SELECT COUNT(*) FROM people"


def least_variance(rows, variances, target):
    """By another formula: least squares within the null space of the exact rows, over single points."""
    rows, variances, target = np.array(rows, float), np.array(variances, float), np.asarray(target, float)
    exact, noisy = rows[variances == 0], rows[variances > 0]
    free = np.round(np.eye(rows.shape[1]) - np.linalg.pinv(exact, rcond=1e-10) @ exact, 12)
    seen = noisy @ free
    information = seen.T @ (seen / variances[variances > 0, None])
    wanted = free @ target
    back = np.linalg.pinv(information, rcond=1e-9, hermitian=True)
    return wanted @ back @ wanted if np.allclose(information @ back @ wanted, wanted, atol=1e-6) else None


def points(vault, **conditions):
    """A region as an indicator over the domain's points."""
    inside = np.zeros(vault.domain.shape)
    for box in vault.count(**conditions).where.boxes:
        inside[box.slices] = 1
    return inside.reshape(-1)


def groups(vault, axes):
    """The rows of a GROUP BY over all points."""
    shape = vault.domain.shape
    cells = np.arange(np.prod([shape[axis] for axis in axes])).reshape([shape[a] if a in axes else 1 for a in range(3)])
    labels = np.broadcast_to(cells, shape).reshape(-1)
    return [labels == cell for cell in range(cells.size)]


class TestVariance:
    def test_it_is_the_least_of_all_unbiased_combinations_of_everything(self, vault):
        vault.ask(f"{EVERYBODY} WHERE age < 5", scale=20)
        vault.ask(f"{EVERYBODY} WHERE age < 5", scale=20)
        vault.ask(f"{EVERYBODY} WHERE sex = 'F' OR age = 9", scale=10)
        vault.ask("SELECT age, COUNT(*) FROM people GROUP BY age", scale=8)
        vault.ask("SELECT age, sex, COUNT(*) FROM people GROUP BY age, sex", scale=5)
        vault.ask("SELECT sex, COUNT(*) FROM people WHERE age > 2 GROUP BY sex", scale=6)
        vault.facts.add(f"{EVERYBODY} WHERE sex = 'F'", 2000)
        rows, variances = [], []
        for release in vault.releases():
            for noisy in release.answers:
                query = noisy.measurement.query
                where = np.zeros(vault.domain.shape)
                for box in query.where.boxes:
                    where[box.slices] = 1
                by = [vault.domain.axis(name) for name in query.by]
                for group in groups(vault, by):
                    rows.append(group * where.reshape(-1))
                    variances.append(noisy.noise.variance)
        rows.append(points(vault, sex="F"))
        variances.append(0.0)
        for where, conditions in (("age = 3 AND sex = 'M'", {"age": 3, "sex": "M"}), ("age < 7", {"age": (0, 6)})):
            answer = vault.ask(f"{EVERYBODY} WHERE {where}", refine=True)
            expected = least_variance(rows, variances, points(vault, **conditions))
            assert answer.only.source.variance == pytest.approx(expected, rel=1e-6)

    def test_it_is_never_above_that_of_the_answer_itself(self, vault):
        asked = vault.ask(f"{EVERYBODY} WHERE age < 5", scale=20)
        vault.ask("SELECT age, COUNT(*) FROM people GROUP BY age", scale=30)
        refined = vault.ask(f"{EVERYBODY} WHERE age < 5", refine=True)
        assert refined.only.source.variance < asked.only.source.variance
        # Two independent answers: 800 and 5 groups of 1,800, each by its precision.
        one, other = asked.only.source.variance, 5 * vault.release(4).variance
        assert refined.only.source.variance == pytest.approx(1 / (1 / one + 1 / other), rel=1e-9)

    def test_example_1_of_the_seed_halves_it(self, vault):
        # refinement, Example 1: two counts and their known sum.
        vault.ask("SELECT sex, COUNT(*) FROM people WHERE sex IS NOT NULL GROUP BY sex", scale=20)
        vault.facts.add(f"{EVERYBODY} WHERE sex IS NOT NULL", 4000)
        refined = vault.ask("SELECT sex, COUNT(*) FROM people WHERE sex IS NOT NULL GROUP BY sex", refine=True)
        noisy = vault.release(2).variance
        assert [row.source.variance for row in refined.rows] == pytest.approx([noisy / 2, noisy / 2], rel=1e-9)
        assert sum(row.value for row in refined.rows) == pytest.approx(4000, abs=1e-6)


class TestFacts:
    def test_a_number_that_facts_determine_is_exact(self, vault):
        vault.ask(f"{EVERYBODY} WHERE age < 5", scale=20)
        vault.facts.add(f"{EVERYBODY} WHERE age < 5", 3011)
        vault.facts.add(EVERYBODY, 6000)
        answer = vault.ask(f"{EVERYBODY} WHERE age >= 5", refine=True)
        assert (answer.value, answer.interval()) == (2989, (2989, 2989))
        assert answer.notes == ("made of facts 4, 5",)

    def test_a_published_cuboid_serves_all_that_it_rolls_up_to(self, vault):
        vault.facts.add(cuboid=("age",), values=np.arange(100, 110))
        answer = vault.ask("SELECT COUNT(*) FROM people WHERE age BETWEEN 2 AND 4", refine=True)
        assert answer.value == 102 + 103 + 104

    def test_a_sum_of_counts_is_estimated_as_one(self, vault):
        combination = (
            "SELECT COUNT(*) FILTER (WHERE age = 1) + COUNT(*) FILTER (WHERE sex = 'F') FROM people"  # not disjoint
        )
        vault.facts.add(combination, 2500)
        assert vault.ask(combination, refine=True).interval() == (2500, 2500)

    def test_facts_about_an_earlier_table_are_left_out(self, vault, people):
        vault.facts.add(EVERYBODY, 6000)
        vault.refresh(table=people.iloc[:-1])
        with pytest.raises(UnsupportedQuery, match="nothing that was released or is known determines this"):
            vault.ask(EVERYBODY, refine=True)


class TestAnswers:
    def test_it_spends_nothing_and_journals_nothing(self, vault):
        vault.ask("SELECT sex, COUNT(*), AVG(income), MEDIAN(income) FROM people GROUP BY sex", scale=20)
        before = vault.ledger.head
        answer = vault.ask("SELECT sex, COUNT(*), AVG(income), MEDIAN(income) FROM people GROUP BY sex", refine=True)
        assert (answer.cost, vault.ledger.head) == (Fraction(0), before)
        assert all(row.value is not None for row in answer.rows)

    def test_intervals_are_those_of_any_combination_of_independent_draws(self, vault):
        vault.ask("SELECT age, COUNT(*) FROM people GROUP BY age", scale=20)
        row = vault.ask(f"{EVERYBODY} WHERE age < 4", refine=True, confidence=0.9).only
        assert row.high - row.value == halfwidth([Draws(1.0, Laplace(Fraction(20)), 4)], Fraction(9, 10))
        assert row.kind == "derived"

    def test_groups_that_nothing_determines_are_left_open_with_a_note(self, vault):
        vault.ask(f"{EVERYBODY} WHERE sex = 'F'", scale=20)
        answer = vault.ask("SELECT sex, COUNT(*) FROM people GROUP BY sex", refine=True)
        assert [row.value is None for row in answer.rows] == [False, True, True]
        assert any("nothing that was released or is known determines some numbers" in note for note in answer.notes)

    def test_what_nothing_determines_is_refused(self, vault):
        vault.ask(f"{EVERYBODY} WHERE sex = 'F'", scale=20)
        with pytest.raises(UnsupportedQuery, match="ask without refine"):
            vault.ask(EVERYBODY, refine=True)

    @pytest.mark.parametrize("accuracy", [{"scale": 10}, {"within": 10}])
    def test_an_accuracy_cannot_be_asked_for(self, vault, accuracy):
        with pytest.raises(InvalidNoise, match="leave out scale and within"):
            vault.ask(EVERYBODY, refine=True, **accuracy)

    def test_of_too_much_the_nearest_is_combined_and_the_answer_says_so(self, vault, monkeypatch):
        for age in range(8):
            vault.ask(f"{EVERYBODY} WHERE age <= {age}", scale=20)
        monkeypatch.setattr(combining, "MOST_REGIONS", 4)
        answer = vault.ask(f"{EVERYBODY} WHERE age = 3", refine=True)
        assert answer.value is not None
        assert "only the answers nearest to each region were combined" in answer.notes[-1]

    @pytest.mark.parametrize("most", [8, 9])
    def test_as_many_answers_as_may_be_combined_are_all_of_them(self, vault, monkeypatch, most):
        for age in range(7):
            vault.ask(f"{EVERYBODY} WHERE age <= {age}", scale=20)
        vault.ask(f"{EVERYBODY} WHERE sex = 'F' AND income < 20 AND age > 7", scale=20)  # meets none of the others
        monkeypatch.setattr(combining, "MOST_REGIONS", most)
        answer = vault.ask(f"{EVERYBODY} WHERE age = 3", refine=True)
        assert not [note for note in answer.notes if "nearest to each region" in note]

    def test_targets_that_are_too_many_together_are_solved_one_by_one(self, vault, monkeypatch):
        by_age = "SELECT age, COUNT(*) FROM people GROUP BY age"
        vault.ask(by_age, scale=20)
        vault.ask(f"{EVERYBODY} WHERE age < 5", scale=20)
        together = vault.ask(by_age, refine=True)
        monkeypatch.setattr(combining, "MOST_LABELS", 40)
        apart = vault.ask(by_age, refine=True)
        values = [[row.value for row in answer.rows] for answer in (together, apart)]
        assert values[0] == pytest.approx(values[1], rel=1e-9)

    def test_more_targets_than_can_be_solved_one_by_one_are_refused(self, vault, monkeypatch):
        by_age = "SELECT age, COUNT(*) FROM people GROUP BY age"
        vault.ask(by_age, scale=20)
        monkeypatch.setattr(combining, "MOST_LABELS", 20)
        monkeypatch.setattr(combining, "MOST_ALONE", 3)
        with pytest.raises(UnsupportedQuery, match="at most 3 groups are refined at once, and these are 10"):
            vault.ask(by_age, refine=True)
        assert vault.ask("SELECT age, COUNT(*) FROM people WHERE age < 2 GROUP BY age", refine=True).rows

    def test_groups_that_have_nothing_to_do_with_each_other_need_no_large_system(self, vault, monkeypatch):
        by_age = "SELECT age, COUNT(*) FROM people WHERE {} GROUP BY age"
        for condition in ("sex = 'F'", "sex IN ('F', 'M')", "income >= 20", "sex = 'M'", "sex = 'F' AND income < 20"):
            vault.ask(by_age.format(condition), scale=20)
        asked = by_age.format("sex IN ('F', 'M')")
        whole = vault.ask(asked, refine=True)
        monkeypatch.setattr(
            combining, "DENSE_ENTRIES", 60
        )  # of one age; the ten ages together have a hundred times that
        assert [row.value for row in vault.ask(asked, refine=True).rows] == [row.value for row in whole.rows]

    @pytest.mark.parametrize("aggregate", ["COUNT(*)", "2 * COUNT(*)", "AVG(age)"])
    def test_no_groups_at_all_are_refined_to_no_rows(self, vault, aggregate):
        vault.ask(EVERYBODY, scale=20)
        asked = f"SELECT age, {aggregate} FROM people WHERE age > 5 AND age < 2 GROUP BY age"
        assert vault.ask(asked, refine=True).rows == ()

    def test_an_estimate_with_one_draw_in_it_has_that_draws_own_interval(self, vault):
        asked = vault.ask(f"{EVERYBODY} WHERE age < 5", scale=20)
        vault.facts.add(EVERYBODY, 6000)
        rest = vault.ask(f"{EVERYBODY} WHERE age >= 5", refine=True)
        assert rest.value == 6000 - asked.value
        assert rest.only.high - rest.value == asked.only.high - asked.value
        assert rest.notes == ("made of 1 measurement and fact 4",)


@pytest.mark.parametrize("mix", [combining.MIX, np.uint64(0)], ids=["mostly", "where numbers coincide"])
def test_cells_of_one_kind_are_those_that_no_row_tells_apart(monkeypatch, mix):
    monkeypatch.setattr(combining, "MIX", mix)
    rows = np.random.default_rng(5).integers(-2, 3, (4, 300))
    atoms = combining.one_of_each(list(rows))
    assert {tuple(cell) for cell in rows[:, atoms].T} == {tuple(cell) for cell in rows.T}
    assert len(atoms) == len({tuple(cell) for cell in rows.T})


def test_the_command_line_refines(folder):  # noqa: ARG001
    vault = Vault.init("vault", table="people.parquet", domain="people.toml", epsilon=1, neighbours="replace")
    vault.measure(vault.count(by=("sex",)), scale=100)
    vault.facts.add(EVERYBODY, 600)
    line = ["ask", "vault", "SELECT COUNT(*) FROM people WHERE sex = 'F'", "--refine"]
    shown = CliRunner().invoke(app, line)
    assert shown.exit_code == 0
    assert "made of 1 measurement and fact 4" in shown.stdout
    assert "spent nothing" in shown.stdout
    answer = json.loads(CliRunner().invoke(app, [*line, "--json"]).stdout)
    assert (answer["kind"], answer["cost"]) == ("derived", "0")
    refused = CliRunner().invoke(app, [*line, "--explain"])
    assert refused.exit_code == 1
    assert "there is nothing to explain" in refused.stderr


@pytest.mark.parametrize("spare", [0, -1])
def test_the_labels_of_all_that_is_told_are_counted_before_they_are_made(monkeypatch, spare):
    domain = Domain("t", tuple(Integer(name=name, source="a test", low=0, high=4) for name in "ab"))
    past = Answers(domain.shape)
    for source in range(3):
        past.add(Block(domain.everything.boxes[0], (0,), np.arange(5), 1.0, (source, 0)))
    asked = [((1, domain.slab("a", 1, 2)),)]
    # Three intervals of a, one of b; told of them are the sum that is asked for and three tables of groups.
    monkeypatch.setattr(combining, "MOST_LABELS", 3 * (1 + 3) + spare)
    told = combining._told(asked, [], past, [], domain)
    assert (told is None) == (spare < 0)
