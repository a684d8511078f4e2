"""The generated census: the same for the same seed, like a population, and described by its public domain."""

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from discreet.demo import census as census_module
from discreet.demo.census import SCHEMA, census, census_domain_path, wide_census_domain_path, write_census
from discreet.domain.attribute import Bins, Category
from discreet.domain.read import read_domain
from tests.steps import calls_of

ROWS = 200_000


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return census(ROWS, seed=7).to_pandas()


def test_the_same_seed_makes_the_same_people_and_another_seed_others() -> None:
    assert census(5_000, seed=3).equals(census(5_000, seed=3))
    assert not census(5_000, seed=3).equals(census(5_000, seed=4))


@pytest.mark.parametrize("chunk", [1_000, 1_777, 2**18])
def test_a_row_does_not_depend_on_how_the_table_is_cut(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    whole = census(5_000, seed=3)
    monkeypatch.setattr(census_module, "CHUNK", chunk)
    assert census(5_000, seed=3).combine_chunks().equals(whole.combine_chunks())
    assert census(3_210, seed=3).combine_chunks().equals(whole.slice(0, 3_210).combine_chunks())


@pytest.mark.parametrize("rows", [0, 1, 3_000])
def test_a_written_census_reads_back_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(census_module, "CHUNK", 1_000)
    path = tmp_path / "people.parquet"
    write_census(path, rows, seed=5)
    assert pa.parquet.read_table(path).equals(census(rows, seed=5))


def test_engines_see_plain_columns(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    write_census(path, 100)
    described = duckdb.sql(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
    assert [(name, kind) for name, kind, *_ in described] == [
        ("age", "SMALLINT"),
        ("sex", "VARCHAR"),
        ("region", "VARCHAR"),
        ("education", "VARCHAR"),
        ("occupation", "VARCHAR"),
        ("income", "INTEGER"),
        ("hours", "SMALLINT"),
        ("marital", "VARCHAR"),
        ("children", "SMALLINT"),
    ]


def test_a_negative_number_of_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="zero or more rows"):
        census(-1)


def test_people_are_made_by_whole_columns_and_not_one_by_one() -> None:
    census(1)  # tables that are looked up in are made once
    assert calls_of(lambda: census(200_000)) == calls_of(lambda: census(2_000))


@pytest.mark.parametrize(
    ("column", "value", "low", "high"),
    [
        ("sex", "F", 0.49, 0.52),
        ("region", "Northgate", 0.2, 0.27),
        ("region", "Lowmarsh", 0.02, 0.035),
        ("region", "Abroad", 0.001, 0.005),
        ("education", "upper secondary", 0.18, 0.26),
        ("education", "postgraduate", 0.06, 0.13),
        ("occupation", "child", 0.14, 0.19),
        ("occupation", "retired", 0.17, 0.24),
        ("occupation", "armed forces", 0.001, 0.004),
        ("marital", "married", 0.33, 0.43),
        ("marital", "widowed", 0.04, 0.08),
        ("children", 0, 0.42, 0.54),
    ],
)
def test_shares_are_those_of_a_country(
    people: pd.DataFrame, column: str, value: object, low: float, high: float
) -> None:
    assert low < (people[column] == value).mean() < high


@pytest.mark.parametrize(
    ("column", "low", "high"), [("sex", 0.002, 0.006), ("education", 0.007, 0.013), ("income", 0.017, 0.023)]
)
def test_some_values_are_missing(people: pd.DataFrame, column: str, low: float, high: float) -> None:
    assert low < people[column].isna().mean() < high


@pytest.mark.parametrize("column", ["age", "region", "occupation", "hours", "marital", "children"])
def test_the_other_columns_are_complete(people: pd.DataFrame, column: str) -> None:
    assert people[column].notna().all()


def test_some_values_lie_outside_the_public_domain(people: pd.DataFrame) -> None:
    assert 0 < (people.age > 99).mean() < 0.002
    assert 0 < (people.hours > 80).mean() < 0.005
    assert 0 < (people.income < 0).mean() < 0.002
    assert 0 < (people.income > 300_000).mean() < 0.002
    assert people.age.min() == 0
    assert people.children.max() <= 9


def test_the_pyramid_is_widest_in_middle_age_and_women_live_longer(people: pd.DataFrame) -> None:
    by_decade = people.groupby(people.age // 10).size()
    assert by_decade.idxmax() in (4, 5)
    assert by_decade[8] < by_decade[7] < by_decade[6]
    women = (people.sex == "F").groupby(people.age // 10).mean()
    assert women[0] < 0.5 < women[7] < women[9]


def test_incomes_are_heavy_tailed(people: pd.DataFrame) -> None:
    working = people.income[people.hours >= 30].dropna()
    assert 25_000 < working.median() < 45_000
    assert working.mean() > 1.1 * working.median()
    assert working.quantile(0.9999) > 10 * working.median()


ADULTS = "age >= 30 and age < 60"


@pytest.mark.parametrize(
    ("condition", "more", "less"),
    [
        (ADULTS, "education == 'postgraduate'", "education == 'upper secondary'"),
        (ADULTS, "education == 'upper secondary'", "education == 'primary'"),
        (ADULTS, "occupation == 'manager'", "occupation == 'sales'"),
        (ADULTS, "sex == 'M'", "sex == 'F'"),
        ("occupation == 'clerk'", "age >= 40", "age < 25"),
        ("occupation == 'clerk'", "hours >= 38", "hours < 25"),
        ("occupation == 'clerk'", "region == 'Northgate'", "region == 'Lowmarsh'"),
    ],
)
def test_income_depends_on_the_other_columns(people: pd.DataFrame, condition: str, more: str, less: str) -> None:
    group = people.query(condition)
    assert group.query(more).income.median() > 1.05 * group.query(less).income.median()


@pytest.mark.parametrize(
    ("column", "value", "more", "less"),
    [
        ("region", "Kestrel Bay", "age >= 70", "age < 30"),
        ("education", "bachelor", "age >= 25 and age < 40", "age >= 70"),
        ("education", "postgraduate", "sex == 'F' and age >= 25 and age < 35", "sex == 'M' and age >= 25 and age < 35"),
        ("occupation", "professional", "education == 'postgraduate'", "education == 'lower secondary'"),
        ("occupation", "building", "sex == 'M'", "sex == 'F'"),
        ("occupation", "care", "sex == 'F'", "sex == 'M'"),
        ("occupation", "student", "age >= 18 and age < 22", "age >= 30"),
        ("occupation", "retired", "age >= 70", "age < 60"),
        ("marital", "never married", "age < 25", "age >= 40"),
        ("marital", "widowed", "age >= 75 and sex == 'F'", "age >= 75 and sex == 'M'"),
        ("children", 0, "marital == 'never married'", "marital == 'married'"),
        ("hours", 0, "occupation == 'retired'", "occupation == 'clerk'"),
    ],
)
def test_categories_depend_on_each_other(
    people: pd.DataFrame, column: str, value: object, more: str, less: str
) -> None:
    assert (people.query(more)[column] == value).mean() > 1.15 * (people.query(less)[column] == value).mean()


def test_nobody_holds_a_degree_a_job_or_a_ring_as_a_child(people: pd.DataFrame) -> None:
    children = people[people.age < 15]
    assert set(children.occupation) == {"child"}
    assert set(children.education.dropna()) <= {"none", "primary"}
    assert set(children.marital) == {"never married"}
    assert (children.income.fillna(0) == 0).all()
    assert not (people[people.age >= 15].occupation == "child").any()


@pytest.mark.parametrize("path", [census_domain_path(), wide_census_domain_path()], ids=lambda path: path.stem)
def test_the_public_domain_describes_columns_of_the_census_and_fits_a_grid(path: Path, people: pd.DataFrame) -> None:
    domain = read_domain(path)
    assert domain.name == "people"
    assert domain.points < 2**25
    for attribute in domain.attributes:
        column = SCHEMA.field(attribute.name).type
        assert pa.types.is_string(column) == isinstance(attribute, Category)
        if isinstance(attribute, Category):
            met = set(people[attribute.name].dropna())
            undeclared = {"region": {"Abroad"}, "occupation": {"armed forces", "clergy"}}.get(attribute.name, set())
            assert met - set(attribute.values) == undeclared
            assert set(attribute.values) <= met


def test_the_wide_domain_describes_every_column() -> None:
    assert sorted(read_domain(wide_census_domain_path()).names) == sorted(SCHEMA.names)


def test_every_declared_income_class_and_age_is_met(people: pd.DataFrame) -> None:
    domain = read_domain(census_domain_path())
    assert set(range(100)) <= set(people.age)
    income = domain["income"]
    assert isinstance(income, Bins)
    counts, _ = np.histogram(people.income.dropna(), bins=[float(edge) for edge in income.edges if edge is not None])
    assert (counts > ROWS / 1000).all()


def test_whoever_watches_is_told_how_many_people_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(census_module, "CHUNK", 400)
    told: list[tuple[str, float]] = []
    write_census(tmp_path / "people.parquet", 1000, progress=lambda *now: told.append(now))
    assert told == [("generating 1,000 people", share) for share in (0.4, 0.8, 1.0)]
