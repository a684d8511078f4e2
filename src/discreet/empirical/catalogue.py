"""The catalogue: every mechanism of Discreet on neighbouring inputs, beside what it states.

First the laws of the noise room by themselves, on the worst numbers that neighbours can give; then everything that a
vault releases, end to end, over neighbouring tables: the usual ones and the odd ones.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.empirical.copies import Releasing, Tables, runs_of
from discreet.empirical.evidence import Outcomes
from discreet.empirical.releases import (
    asked,
    asked_in_turn,
    counted_in_subsets,
    drawn_rows,
    knowing,
    measured,
    measured_again,
    planned,
    planned_again,
    published,
)
from discreet.ledger.guarantee import ZCDP, Guarantee, PureDP
from discreet.ledger.standing import Standing
from discreet.mining.sulq import query_budget
from discreet.noise.bits import Bits
from discreet.noise.exponential import Gaps, sample_exponential
from discreet.noise.law import Binomial, Gaussian, Laplace, Noise
from discreet.query.query import Query, Residual
from discreet.vault.vault import Vault

Sampler = Callable[[int], tuple[Outcomes, Outcomes, Guarantee]]

LIKELY_FAILURE = Fraction(1, 10)
"""SuLQ's bound as loose as it may be: what happens one time in a million cannot be seen in so few runs."""
EPSILON = {"epsilon": 1_000_000}
RHO = {"rho": 1_000_000}
MU = {"mu": 1_000}
EPSILON_DELTA = {"epsilon": 1000, "delta": "1e-9"}
SMALLEST = ((0,),) * 10 + ((5,),) * 2 + ((9,),) * 12
"""Ages of which MIN takes about the eleventh: another 0 makes all that is below 5 likelier, all above less likely."""

EMPTY_OR_ONE = Tables("empty table, or one row", ("sex",), (), (("F",),), "add-remove")
NOBODY_OR_ONE = replace(EMPTY_OR_ONE, words="nobody, or one row")
ANOTHER = Tables("a row, or another", ("sex",), (("F",),), (("M",),), "replace")
IN_OR_OUT = replace(ANOTHER, words="a row in, or out")
NULL = Tables("a row, or a null", ("sex",), (("F",),), ((None,),), "replace")
EQUAL_ROWS = Tables("20 equal rows, or 19", ("sex",), (("F",),) * 20, (("F",),) * 19, "add-remove")
CLAMPED = Tables("nobody, or one to clamp", ("income",), (), ((1e12,),), "add-remove")
NULL_VALUE = Tables("nobody, or a null", ("income",), (), ((None,),), "add-remove")
LARGEST = Tables("nobody, or largest value", ("income",), (), ((50.0,),), "add-remove")
OPPOSITE = Tables("least value, or largest", ("change",), ((-5,),), ((5,),), "replace")
ONE_MORE = Tables("one row more", ("age",), SMALLEST, (*SMALLEST, (0,)), "add-remove")
MIDDLE = Tables("a row, or another", ("age",), ((0,),) * 20 + ((9,),) * 20, ((0,),) * 19 + ((9,),) * 21, "replace")
NOBODY_OR_AGED = Tables("nobody, or one row", ("age",), (), ((9,),), "add-remove")
THREE_ROWS = Tables("nobody, or 3 rows", ("sex",), (), ((0, "F"),) * 3, "add-remove", max_rows=3)
TEN_ROWS = replace(THREE_ROWS, words="nobody, or 10 rows", second=((0, "F"),) * 10)
NO_ID = replace(THREE_ROWS, words="nobody, or one without id", second=((None, "F"),))
OTHER_ROWS = Tables("3 rows, or 3 others", ("sex",), ((0, "F"),) * 3, ((0, "M"),) * 3, "replace", max_rows=3)
MOVED_CELL = Tables("a row, or another", ("sex", "income"), (("F", 5.0),), (("M", 20.0),), "replace")
FILLED_CELL = Tables("nobody, or one row", ("sex", "income"), (), (("F", 50.0),), "add-remove")
SWAPPED = Tables("a row, or another", ("sex",), (("F",),), (("M",),), "add-remove")
"""Neighbours where it is known how many rows there are."""
ON_ROSTER = Tables("all 0, or all 1", ("sex",), ((0, "M"),), ((0, "F"),), "replace", max_rows=1)
NO_ROW = replace(ON_ROSTER, words="no row, or a 1", first=())


@dataclass(frozen=True)
class Case:
    """A mechanism on two neighbouring inputs. `slower`: there are so many times fewer runs, for each takes longer."""

    mechanism: str
    inputs: str
    sample: Sampler
    slower: int = 1


def catalogue() -> list[Case]:
    return [*_laws(), *_counts(), *_values(), *_concentrated(), *_cubes(), *_rows(), *_known(), *_subsets()]


def _laws() -> list[Case]:
    one, three = PureDP(Fraction(1), "add-remove"), PureDP(Fraction(3), "add-remove")
    replaced = PureDP(Fraction(1), "replace")
    return [
        Case("Laplace noise", "0, or 1", _added(Laplace(Fraction(1)), [0], [1], one)),
        Case("Laplace noise, scale 1/3", "0, or 1", _added(Laplace(Fraction(1, 3)), [0], [1], three)),
        Case("Laplace noise, scale 50", "0, or 50", _added(Laplace(Fraction(50)), [0], [50], one)),
        Case("Laplace noise, scale 2", "(1, 0), or (0, 1)", _added(Laplace(Fraction(2)), [1, 0], [0, 1], replaced)),
        Case("Gaussian noise", "0, or 1", _added(Gaussian(Fraction(1)), [0], [1], ZCDP(Fraction(1, 2), "add-remove"))),
        Case(
            "Gaussian noise",
            "(1, 0), or (0, 1)",
            _added(Gaussian(Fraction(1)), [1, 0], [0, 1], ZCDP(Fraction(1), "replace")),
        ),
        Case("binomial noise, T = 1", "0, or 1", _binomial(1)),
        Case("binomial noise, T = 8", "all 0, or all 1", _binomial(8)),
        Case("exponential mechanism", "utilities ±1", _exponential, 4),
    ]


def _counts() -> list[Case]:
    return [
        vault_case("a count, many times", EMPTY_OR_ONE, planned_again(_everyone, Laplace(Fraction(1))), most_copies=1),
        vault_case("a count, one by one", EMPTY_OR_ONE, measured_again(_everyone, scale="1/2"), 50, most_copies=1),
        vault_case("counts", NOBODY_OR_ONE, measured(_by_copy, scale=1)),
        vault_case("two counts in a plan", NOBODY_OR_ONE, planned((_by_copy, _by_copy), Laplace(Fraction(2)))),
        vault_case("cell counts", NOBODY_OR_ONE, measured(_by_sex, scale=1)),
        vault_case("cell counts", ANOTHER, measured(_by_sex, scale=2)),
        vault_case("counts, k = 3", THREE_ROWS, measured(_by_copy, scale=3)),
        vault_case("counts, k = 3", TEN_ROWS, measured(_by_copy, scale=3)),
        vault_case("counts, k = 3", NO_ID, measured(_by_copy, scale=3)),
        vault_case("counts, k = 3", OTHER_ROWS, measured(_by_sex, scale=6)),
        vault_case("ask COUNT WHERE", IN_OR_OUT, asked("COUNT(*)", where="sex = 'F'", scale=1), 5),
        vault_case("ask COUNT", EQUAL_ROWS, asked("COUNT(*)", scale=1), 5),
        vault_case("ask COUNT GROUP BY", NULL, asked("COUNT(*)", by="sex", scale=2), 5),
    ]


def _values() -> list[Case]:
    return [
        vault_case("ask SUM", CLAMPED, asked("SUM(income)", scale=1), 5),
        vault_case("ask SUM", NULL_VALUE, asked("SUM(income)", scale=1), 5),
        vault_case("ask SUM", OPPOSITE, asked("SUM(change)", scale=2), 5),
        vault_case("ask AVG", LARGEST, asked("AVG(income)", scale=2), 5),
        vault_case("ask MIN", ONE_MORE, asked("MIN(age)", scale=1), 5),
        vault_case("ask MEDIAN", MIDDLE, asked("MEDIAN(age)", scale=1), 5),
        vault_case("ask MAX", NOBODY_OR_AGED, asked("MAX(age)", scale=1), 5),
    ]


def _concentrated() -> list[Case]:
    return [
        vault_case("counts, ρ", NOBODY_OR_ONE, measured(_by_copy, scale=1), budget=RHO),
        vault_case("counts, ε and δ", NOBODY_OR_ONE, measured(_by_copy, scale=1), budget=EPSILON_DELTA),
        vault_case("cell counts, ρ", ANOTHER, measured(_by_sex, scale=1), budget=RHO),
        vault_case("counts, ρ, k = 3", OTHER_ROWS, measured(_by_sex, scale=3), budget=RHO),
        vault_case("residual, ρ", EMPTY_OR_ONE, _residuals(6), 3, budget=RHO, most_copies=1),
        vault_case("residual, ρ", ANOTHER, _residuals(9), 3, budget=RHO, most_copies=1),
        vault_case("residual, ρ, k = 3", OTHER_ROWS, _residuals(81), 3, budget=RHO, most_copies=1),
        vault_case("ask SUM, ρ", OPPOSITE, asked("SUM(change)", scale=2), 5, budget=RHO),
        vault_case("ask MIN, ρ", ONE_MORE, asked("MIN(age)", scale=1), 5, budget=RHO),
        vault_case("residual, μ", ANOTHER, _residuals(9), 3, budget=MU, most_copies=1),
        vault_case("ask SUM, μ", OPPOSITE, asked("SUM(change)", scale=2), 5, budget=MU),
        vault_case("ask MIN, μ", ONE_MORE, asked("MIN(age)", scale=1), 5, budget=MU),
    ]


def _cubes() -> list[Case]:
    every = ("sex",), ("income",), ("sex", "income")
    return [
        vault_case("cube, consistent", MOVED_CELL, published(*every, epsilon=1)),
        vault_case("cube, consistent", FILLED_CELL, published(("sex",), epsilon=1)),
        vault_case("cube, not consistent", MOVED_CELL, published(*every, consistent=False, epsilon=1)),
        vault_case("cube, whole counts", FILLED_CELL, published(("sex",), counts="whole", epsilon=1)),
        vault_case("cube of sums", FILLED_CELL, published(("sex",), measure="sum(income)", epsilon=1)),
        vault_case("cube, ρ", FILLED_CELL, published(("sex",), rho=1), budget=RHO),
    ]


def _rows() -> list[Case]:
    """Synthetic rows: each run measures, fits and draws by itself, for a model is of all copies at once."""
    both = ("sex", "income")
    return [
        vault_case("synthetic rows", tables, drawn_rows(both, epsilon=1), 40, most_copies=1)
        for tables in (FILLED_CELL, MOVED_CELL)
    ]


def _known() -> list[Case]:
    """What is made of what is public anyway, or was released before."""
    in_turn = asked_in_turn(("COUNT(*)", "sex"), ("COUNT(*)", ""), scale=1, again=("COUNT(*)", "sex"))
    return [
        vault_case("cube beside a fact", SWAPPED, knowing(1, published(("sex",), epsilon=1))),
        vault_case("cube, agreeing with a fact", SWAPPED, knowing(1, published(("sex",), epsilon=1, facts="vault"))),
        vault_case("ask twice, then the first again", NOBODY_OR_ONE, in_turn, 20),
        vault_case("ask twice, then the first again", ANOTHER, in_turn, 20),
        vault_case("ask twice beside a fact", SWAPPED, knowing(1, in_turn), 20),
    ]


def _subsets() -> list[Case]:
    def asking(tables: Tables) -> Sampler:
        return lambda runs: counted_in_subsets(tables, "sex = 'F'", queries=4, failure=LIKELY_FAILURE, runs=runs)

    return [Case("sulq ask, T = 4", tables.words, asking(tables), 5) for tables in (ON_ROSTER, NO_ROW)]


def _added(law: Noise, first: Sequence[int], second: Sequence[int], stated: Guarantee) -> Sampler:
    """Noise on these numbers."""

    def sample(runs: int) -> tuple[Outcomes, Outcomes, Guarantee]:
        bits, shape = Bits(), (runs, len(first))
        noisy = [np.array(truth) + law.sample(runs * len(first), bits).reshape(shape) for truth in (first, second)]
        return noisy[0].astype(np.float64), noisy[1].astype(np.float64), stated

    return sample


def _binomial(queries: int) -> Sampler:
    budget = query_budget(queries, 1, people=1000, points=2, calibration="exact", failure=LIKELY_FAILURE)
    return _added(Binomial(budget.trials), [0] * queries, [1] * queries, Standing.of(budget).guarantee())


def _exponential(runs: int) -> tuple[Outcomes, Outcomes, Guarantee]:
    """Five candidates, one of which a row makes better while it makes the others worse."""
    stated, bits = PureDP(Fraction(1), "add-remove"), Bits()
    drawn = [
        sample_exponential([Gaps(np.tile(gaps, (runs, 1)), stated.epsilon / 2)], bits).astype(np.float64)
        for gaps in ([0, 0, 0, 0, 0], [0, 2, 2, 2, 2])  # below the best, of utilities 0 and ±1
    ]
    return drawn[0], drawn[1], stated


def vault_case(
    mechanism: str,
    tables: Tables,
    release: Releasing,
    slower: int = 1,
    *,
    budget: Mapping[str, Any] = EPSILON,
    most_copies: int = 1 << 16,
) -> Case:
    """What a vault releases over copies of two tables."""
    return Case(mechanism, tables.words, lambda runs: runs_of(tables, release, runs, budget, most_copies), slower)


def _residuals(sigma_squared: int) -> Releasing:
    """The residual by sex, many times: a row moves all of its numbers, so that copies would not be apart."""
    return planned_again(lambda vault: Residual(vault.domain.everything, ("sex",)), Gaussian(Fraction(sigma_squared)))


def _everyone(vault: Vault) -> Query:
    return vault.count()


def _by_copy(vault: Vault) -> Query:
    return vault.count(by="copy")


def _by_sex(vault: Vault) -> Query:
    return vault.count(by=["copy", "sex"])
