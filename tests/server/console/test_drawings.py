"""What pages are made of: clicks as SQL, bars, shades, regions over each other, and the story of a budget."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discreet.demo.census import census_domain_path
from discreet.domain.read import domain_text, parse_domain
from discreet.domain.region import Box, Region
from discreet.errors import UnsupportedQuery
from discreet.server.console.budget import most_spent, spending
from discreet.server.console.heat import SHADES, heat_map
from discreet.server.console.overlap import overlap_picture
from discreet.server.console.page import number
from discreet.server.console.pick import picked_sql
from discreet.server.console.table import BAR_WIDTH, BarLine, table_of
from discreet.sql.parse import parse
from discreet.vault import Vault

DOMAIN = parse_domain(domain_text(census_domain_path()))


def sql_of(**fields):
    return picked_sql(DOMAIN, lambda name: fields.get(name, [""])[0], lambda name: fields.get(name, []))


@pytest.mark.parametrize(
    ("fields", "sql"),
    [
        ({}, "SELECT COUNT(*) FROM people"),
        ({"by": ["sex", "region"]}, "SELECT sex, region, COUNT(*) FROM people GROUP BY sex, region"),
        ({"aggregate": ["mean"], "of": ["income"]}, "SELECT AVG(income) FROM people"),
        ({"from.age": ["20"], "to.age": ["49"]}, "SELECT COUNT(*) FROM people WHERE age BETWEEN 20 AND 49"),
        ({"from.age": ["65"]}, "SELECT COUNT(*) FROM people WHERE age >= 65"),
        ({"from.age": ["0"], "to.age": ["99"]}, "SELECT COUNT(*) FROM people"),
        ({"from.income": ["6"]}, "SELECT COUNT(*) FROM people WHERE income >= 40000"),
        ({"in.sex": ["0"]}, "SELECT COUNT(*) FROM people WHERE sex = 'F'"),
        ({"in.sex": ["2"]}, "SELECT COUNT(*) FROM people WHERE sex IS NULL"),
        ({"in.sex": ["0", "1", "2"]}, "SELECT COUNT(*) FROM people"),
        ({"in.region": ["1", "2", "4"]},
         "SELECT COUNT(*) FROM people WHERE region IN ('Arden', 'Belmont', 'Dunmore')"),
    ],
)  # fmt: skip
def test_clicks_are_the_sql_that_one_would_write(fields, sql):
    assert sql_of(**fields) == sql
    parse(sql, DOMAIN)


@pytest.mark.parametrize("fields", [{"aggregate": ["drop"]}, {"in.sex": ["9"]}, {"in.sex": ["' OR 1"]},
                                    {"from.age": ["60"], "to.age": ["20"]}])  # fmt: skip
def test_what_no_page_offers_is_refused(fields):
    with pytest.raises(UnsupportedQuery):
        sql_of(**fields)


@given(st.lists(st.integers(0, DOMAIN["occupation"].size - 1), min_size=1))
def test_ticked_values_select_exactly_these_codes(codes):
    where = parse(sql_of(**{"in.occupation": list(map(str, codes))}), DOMAIN).where
    axis = DOMAIN.axis("occupation")
    met = {code for box in where.boxes for code in range(box.low[axis], box.high[axis] + 1)}
    assert met == set(codes)


@pytest.mark.parametrize(("value", "text"), [(1234.5, "1,234"), (0.05123, "0.05123"), (-3, "−3"), (None, "–"),
                                             (-0.0, "0"), (12, "12"), (999.96, "1,000")])  # fmt: skip
def test_numbers_are_as_people_write_them(value, text):
    assert number(value) == text


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e4)), min_size=1, max_size=20))
def test_bars_and_error_bars_stay_within_the_drawing_and_start_at_zero(values):
    table = table_of(["a"], "count", [BarLine(("x",), v, v - w, v + w) for v, w in values], 100)
    for line, bar in table.lines:
        assert -1e-6 <= bar.start <= bar.start + bar.width <= BAR_WIDTH + 1e-6
        assert -1e-6 <= bar.low <= bar.high <= BAR_WIDTH + 1e-6
        assert min(abs(bar.start - table.zero), abs(bar.start + bar.width - table.zero)) < 1e-6
        assert line.value is not None


@given(arrays(np.float64, st.tuples(st.integers(1, 9), st.integers(1, 12)), elements=st.floats(-1e3, 1e3)))
def test_a_heat_map_paints_every_cell_once_and_darker_where_there_is_more(values):
    rows, columns = values.shape
    heat = heat_map(values, ("r", ["x"] * rows), ("c", ["y"] * columns), lambda row, column: f"{row} {column}", str)
    painted = np.full(values.shape, -1)
    for shade, path in heat.paths:
        assert 0 <= shade < SHADES
        for run in path.split("z")[:-1]:
            place, rest = run[1:].split("h", 1)
            column, row = map(int, place.split())
            length = int(rest.split("v")[0])
            assert (painted[row, column : column + length] == -1).all()
            painted[row, column : column + length] = shade
    assert (painted >= 0).all()
    assert (np.diff(painted.ravel()[np.argsort(values, axis=None)]) >= 0).all()


def test_regions_over_each_other_have_the_area_of_their_parts():
    whole = DOMAIN.everything.boxes[0]
    asked = Region((Box((20, *whole.low[1:]), (59, 0, *whole.high[2:])),))
    answered = Region((Box((30, *whole.low[1:]), (69, *whole.high[1:])),))
    picture = overlap_picture(asked, answered, DOMAIN)
    areas = {}
    for rectangle in picture.rectangles:
        areas[rectangle.part] = areas.get(rectangle.part, 0) + rectangle.width * rectangle.height
    cell = picture.width / 100 * picture.height / 3
    # Of 100 ages × 3 sexes: asked 40 × 1, answered 40 × 3, both 30 × 1.
    assert {part: round(area / cell) for part, area in areas.items()} == {"both": 30, "asked": 10, "answered": 90}
    [age, sex] = picture.strips
    assert (age.name, sex.name) == ("age", "sex")
    assert [span.part for span in age.spans] == ["asked", "both", "answered"]
    assert sum(span.width for span in age.spans) == pytest.approx(0.5)


def test_the_story_of_a_budget_ends_at_what_is_spent(tmp_path):
    from discreet.demo.census import write_census

    write_census(tmp_path / "people.parquet", 500)
    vault = Vault.init(tmp_path / "vault", table=tmp_path / "people.parquet", domain=census_domain_path(), epsilon="1",
                       neighbours="replace")  # fmt: skip
    assert spending(vault.ledger) is None
    for low, scale in ((0, 100), (40, 50), (60, 20), (80, 40)):
        vault.measure(vault.count(age=(low, 99)), scale=scale)
    vault.measure(vault.count(age=(0, 10), sex="F"), scale=30)
    budget = vault.ledger.budget
    history = spending(vault.ledger)
    assert history.shares[0] == 0
    assert history.shares[-1] == pytest.approx(vault.ledger.spent_max / budget.limit)
    assert list(history.shares) == sorted(history.shares)
    point = most_spent(vault.ledger)
    assert point[0] >= 80
    assert vault.ledger.left(Region((Box(point, point),))) == budget.limit - vault.ledger.spent_max
