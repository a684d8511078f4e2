"""Errors that numbers could have had, drawn together: with the covariances that the numbers have."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.answer.joint_noise import JointNoise
from discreet.answer.public import public
from discreet.noise.law import Laplace
from discreet.noise.simulate import simulated_together
from discreet.noise.spread import Draws
from discreet.query.query import Count
from discreet.sql.parse import parse

DRAWS = 4000


def region(vault, clause):
    return parse(f"SELECT COUNT(*) FROM people WHERE {clause}", vault.domain).where


def estimates(vault, *clauses):
    """The best public counts of some groups of people."""
    desk = vault._desk
    desk.known.refresh()
    everyone = Count(vault.domain.everything)
    regions = [region(vault, clause) for clause in clauses]
    return [
        public(everyone, region, found, desk)
        for region, found in zip(regions, desk.known.best(everyone, regions), strict=True)
    ]


def test_what_least_squares_makes_of_several_releases_is_drawn_with_its_covariance(vault):
    """Where the total is known well, what one sex has too much the others have too little."""
    vault.ask("SELECT sex, COUNT(*) FROM people GROUP BY sex", scale=20)
    vault.ask("SELECT COUNT(*) FROM people", scale=5)
    made = estimates(vault, "sex = 'F'", "sex = 'M'", "sex IS NULL")
    noise = JointNoise(vault._desk)
    places = [noise.add(one) for one in made]
    drawn = noise.drawn(DRAWS, 1)[places]
    joint = vault._desk.known.of(Count(vault.domain.everything)).joint
    covariance = joint.covariance([tuple((1, box) for box in one.answered.boxes) for one in made])
    assert np.diagonal(covariance) == pytest.approx([one.variance for one in made])
    expected = covariance / np.sqrt(np.multiply.outer(np.diagonal(covariance), np.diagonal(covariance)))
    assert expected[0, 1] < -0.2
    assert np.corrcoef(drawn) == pytest.approx(expected, abs=5 / np.sqrt(DRAWS))


def test_the_covariance_is_that_of_sums_and_differences(vault):
    """Var(a + b) and Var(a − b) are known of themselves: as estimates of the sum and of the difference."""
    vault.ask("SELECT sex, COUNT(*) FROM people GROUP BY sex", scale=20)
    vault.ask("SELECT age, COUNT(*) FROM people GROUP BY age", scale=20)
    vault.ask("SELECT COUNT(*) FROM people WHERE age < 5 AND sex = 'F'", scale=20)
    joint = vault._desk.known.of(Count(vault.domain.everything)).joint
    one, other = ([(1, box) for box in region(vault, clause).boxes] for clause in ("sex = 'F'", "age < 3"))
    minus = [(-times, box) for times, box in other]
    found = joint.covariance([tuple(one), tuple(other), (*one, *other), (*one, *minus)])
    own, its = found[0, 0], found[1, 1]
    assert found[2, 2] == pytest.approx(own + its + 2 * found[0, 1])
    assert found[3, 3] == pytest.approx(own + its - 2 * found[0, 1])
    said = joint.estimates([tuple(one), tuple(other), (*one, *other), (*one, *minus)])
    assert np.diagonal(found) == pytest.approx([joined.variance for joined in said])


@pytest.mark.parametrize("group", ["age", "9 - age", "CASE WHEN age = 3 THEN 3 ELSE 10 + age END"])
def test_groups_of_one_release_share_their_draws_with_their_sums(vault, group):
    answer = vault.ask(f"SELECT {group} AS x, COUNT(*) AS n FROM people GROUP BY {group}", scale=20)
    [numbers] = answer.rows.columns[0].parts
    noise = JointNoise(vault._desk)
    all_ages = noise.add_grid(numbers)
    [third] = [noise.add(numbers[(3,)])]
    drawn = noise.drawn(50, 7)
    assert np.array_equal(drawn[third], drawn[all_ages[3]])
    assert len({tuple(line) for line in drawn[all_ages]}) == 10


def test_groups_that_were_released_under_another_expression_are_calculated_with(vault):
    vault.ask("SELECT age, sex, COUNT(*) AS n FROM people GROUP BY age, sex", scale=20)
    moved = vault.ask("SELECT age + 1 AS x, COUNT(*) AS n FROM people GROUP BY 1", scale=5)
    doubled = "SELECT n * 2 AS m FROM (SELECT age, COUNT(*) AS n FROM people GROUP BY age) t WHERE n > -99"
    lines = vault.ask(doubled, scale=5).rows
    assert [row.value for row in lines] == [2 * row.value for row in moved.rows]
    assert all(line.high - line.low >= 2 * (row.high - row.low) for line, row in zip(lines, moved.rows, strict=True))


def test_numbers_drawn_together_have_the_correlations_and_the_widths_asked_for():
    covariance = np.array([[4.0, -3.0, 0.0], [-3.0, 9.0, 0.0], [0.0, 0.0, 1.0]])
    spreads = [(Draws(1.0, Laplace(Fraction(scale)), 30),) for scale in (2, 3, 1)]
    drawn = simulated_together(covariance, spreads, 20_000, 5)
    assert np.corrcoef(drawn) == pytest.approx(np.array([[1, -0.5, 0], [-0.5, 1, 0], [0, 0, 1]]), abs=0.04)
    assert drawn.var(axis=1) == pytest.approx([sum(draw.variance for draw in one) for one in spreads], rel=0.1)
