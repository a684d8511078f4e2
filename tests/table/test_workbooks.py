"""Workbooks, and files of SPSS, Stata and SAS: values as the text that writes them, and labels as codebooks."""

from datetime import date

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from discreet.domain.attribute import Category, Integer
from discreet.domain.date import Date
from discreet.domain.domain import Domain
from discreet.domain.read import domain_text, parse_domain, read_domain
from discreet.errors import DomainError, TableError
from discreet.table import statistics_file
from discreet.table.open import open_source
from discreet.table.propose import propose
from discreet.table.statistics_dates import counted
from tests.populations import points, population
from tests.workbook import protected_workbook, workbook

AGE = Integer(name="age", source="s", low=0, high=99, outside="other", null=True)
SEX = Category(name="sex", source="s", values=("1", "2"), outside="other", null=True)
TOWN = Category(name="town", source="s", values=("Zürich", "Bern"), outside="other", null=True)
BORN = Date(
    name="born", source="s", low=date(1990, 1, 1), high=date(2009, 12, 31), period="year", outside="other", null=True
)
DOMAIN = Domain("t", (AGE, SEX, TOWN, BORN))
FRAME = pd.DataFrame(
    {
        "age": [31.0, 52.5, 7.0, None],
        "sex": [1.0, 2.0, 2.0, 9.0],
        "town": ["Zürich", "Bern", "", "x"],
        "born": [date(2000, 1, 1), date(1990, 5, 5), None, date(1980, 2, 2)],
    }
)
POINTS = [(31, 0, 0, 10), (100, 1, 1, 0), (7, 1, 3, 21), (101, 2, 2, 20)]
LABELS = {"sex": {1.0: "Female", 2.0: "Male"}}

CELLS = """<row><c t="inlineStr"><is><t>age</t></is></c><c t="inlineStr"><is><t>sex</t></is></c>
<c t="inlineStr"><is><t>town</t></is></c><c t="inlineStr"><is><t>born</t></is></c></row>
<row><c><v>31</v></c><c><v>1</v></c><c t="inlineStr"><is><t>Zürich</t></is></c><c s="1"><v>36526</v></c></row>
<row><c><v>52.5</v></c><c t="str"><v>2</v></c><c t="str"><v>Bern</v></c><c t="str"><v>1990-05-05</v></c></row>
<row></row>
<row><c><v>7</v></c><c><v>2</v></c></row>
<row><c t="e"><v>#N/A</v></c><c t="b"><v>1</v></c><c t="str"><v>x</v></c><c s="1"><v>29253</v></c></row>"""


def test_a_sheet_is_read_by_the_text_of_its_cells(tmp_path):
    book = workbook(tmp_path / "p.xlsx", {"People": CELLS})
    assert points(population(book, DOMAIN)) == POINTS


def test_a_sheet_is_named_where_there_are_several(tmp_path):
    book = workbook(tmp_path / "p.xlsx", {"People": CELLS, "Notes": CELLS})
    with pytest.raises(TableError, match=r"has sheets People, Notes; say which: .*p.xlsx\?sheet=NAME"):
        open_source(book)
    assert points(population(f"{book}?sheet=People", DOMAIN)) == POINTS


def test_a_workbook_that_is_none_or_without_names_is_refused(tmp_path):
    (tmp_path / "x.xlsx").write_bytes(b"private words" * 100)
    with pytest.raises(TableError, match="is it whole, and not protected by a password") as refusal:
        open_source(tmp_path / "x.xlsx")
    assert "private" not in str(refusal.value)
    with pytest.raises(TableError, match="the first row must name the columns"):
        open_source(workbook(tmp_path / "e.xlsx", {"Empty": ""}))


def test_a_title_that_was_read_as_the_names_names_the_setting(tmp_path):
    title = '<row><c t="inlineStr"><is><t>People of 2026</t></is></c></row>'
    book = workbook(tmp_path / "p.xlsx", {"People": title + CELLS, "Notes": CELLS})
    advice = r"row 1 was read as the names: if it is a title, .*p\.xlsx\?sheet=People&skip=1"
    with pytest.raises(DomainError, match=advice):
        population(f"{book}?sheet=People", DOMAIN)
    assert points(population(f"{book}?sheet=People&skip=1", DOMAIN)) == POINTS


def saved(folder, ending):
    path = folder / f"p.{ending}"
    if ending == "dta":
        pyreadstat.write_dta(FRAME, path, variable_value_labels={"sex": {1: "Female", 2: "Male"}})
    elif ending == "xpt":
        pyreadstat.write_xport(FRAME, path)
    else:
        pyreadstat.write_sav(FRAME, path, variable_value_labels=LABELS, compress=ending == "zsav")
    return path


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta", "xpt"])
@pytest.mark.parametrize("batch", [1, 2, 4, 5])
def test_a_file_of_a_statistics_program_is_read_by_the_text_of_its_values(ending, batch, tmp_path, monkeypatch):
    monkeypatch.setattr(statistics_file, "BATCH_ROWS", batch)
    assert points(population(saved(tmp_path, ending), DOMAIN)) == POINTS


@pytest.mark.parametrize("ending", ["sav", "dta", "sas7bdat", "por"])
def test_a_broken_file_of_a_statistics_program_is_refused_without_a_word_of_it(ending, tmp_path):
    (tmp_path / f"x.{ending}").write_bytes(b"private words" * 100)
    with pytest.raises(TableError, match="is it a whole file of SPSS, Stata or SAS") as refusal:
        open_source(tmp_path / f"x.{ending}")
    assert "private" not in str(refusal.value)


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_value_labels_are_a_codebook(ending, tmp_path):
    path = saved(tmp_path, ending)
    lines = ['name = "t"', "[attributes.sex]", 'kind = "category"', f'values_from = "{path.name}"', 'source = "s"']
    (tmp_path / "t.toml").write_text("\n".join(lines))
    domain = read_domain(tmp_path / "t.toml")
    assert domain["sex"].labels == ("1 Female", "2 Male")
    assert parse_domain(domain_text(tmp_path / "t.toml")) == domain
    assert points(population(path, domain)) == [(0,), (1,), (1,)]
    (tmp_path / "t.toml").write_text("\n".join(lines).replace("attributes.sex", "attributes.age"))
    with pytest.raises(DomainError, match="declares no value labels for age"):
        read_domain(tmp_path / "t.toml")
    path.write_bytes(b"private words")
    with pytest.raises(DomainError, match="is it a whole file of SPSS or Stata"):
        read_domain(tmp_path / "t.toml")


def test_a_workbook_with_a_password_is_refused_and_says_so(tmp_path):
    book = protected_workbook(tmp_path / "p.xlsx")
    with pytest.raises(TableError, match=r"p\.xlsx is protected by a password; save a copy without one"):
        open_source(book)


PERIODS = {
    "week": ("%tw", 2601.0, date(2010, 1, 8)),
    "month": ("%tm", -60.0, date(1955, 1, 1)),
    "quarter": ("%tqCCYY!Qq", 58.0, date(1974, 7, 1)),
    "half": ("%th", 100.0, date(2010, 1, 1)),
    "year": ("%ty", 2010.0, date(2010, 1, 1)),
    "day": ("%tdD_m_Y", 0.0, date(1960, 1, 1)),
    "moment": ("%-tc", -1.0, date(1959, 12, 31)),
}


def days_in(place, name):
    """The days of a column, which may lie beyond Python's calendar."""
    batches = open_source(place).read([name], lambda _: None)
    return [value for batch in batches for value in batch.column(name).cast("date32").cast("int32").to_pylist()]


def test_periods_of_stata_are_their_first_days(tmp_path):
    """Examples of pandas' tests of Stata files: stata2_115.dta."""
    frame = pd.DataFrame({name: [value, None] for name, (_, value, _) in PERIODS.items()})
    formats = {name: written for name, (written, _, _) in PERIODS.items()}
    pyreadstat.write_dta(frame, tmp_path / "p.dta", variable_format=formats)
    for name, (_, _, day) in PERIODS.items():
        assert days_in(tmp_path / "p.dta", name) == [day.toordinal() - 719163, None], name
    draft = propose(tmp_path / "p.dta")
    assert draft.count('kind = "date"') == len(PERIODS)


@pytest.mark.parametrize("written", ["DATE11", "ADATE10", "QYR8", "MOYR8", "WKYR9", "DATETIME20", "YMDHMS19"])
def test_days_of_spss_are_counted_whatever_shows_them_and_may_lie_beyond_every_calendar(tmp_path, written):
    seconds = 86_400.0 * (date(2014, 10, 1).toordinal() - date(1582, 10, 14).toordinal())
    frame = pd.DataFrame({"q": [seconds, seconds + 86_399.5, 1e15, -1e300, None]})
    pyreadstat.write_sav(frame, tmp_path / "p.sav", variable_format={"q": written})
    quarter = Date(
        name="q",
        source="s",
        low=date(2014, 1, 1),
        high=date(2014, 12, 31),
        period="quarter",
        outside="clamp",
        null=True,
    )
    assert points(population(tmp_path / "p.sav", Domain("t", (quarter,)))) == [(3,), (3,), (3,), (0,), (4,)]


SAS = {
    "DATE9.": True, "YYMMDD10.": True, "YYMMDDN8": True, "MONYY7.": True, "YEAR4.": True, "E8601DA10.": True,
    "NLDATE20.": True, "WEEKDATX29.": True, "YYQ6.": True, "DATETIME20.": True, "E8601DT19.": True, "DTDATE9.": True,
    "TIME8.": False, "BEST12.": False, "DOLLAR10.2": False, "SEXF.": False, "DATEF.": False, "": False,
}  # fmt: skip


@pytest.mark.parametrize("written", SAS)
def test_days_and_moments_of_sas_are_known_by_their_formats(written):
    found = counted(".sas7bdat", written)
    assert (found is not None) == SAS[written]
    if found is not None:
        day = 86_400.0 if "T" in written[:2] or "DT" in written or "DATETIME" in written else 1.0
        assert found.column(np.array([366 * day])).cast("date32").to_pylist() == [date(1961, 1, 1)]


def test_a_time_of_day_is_its_text(tmp_path):
    frame = pd.DataFrame({"t": [36_610.09, 0.0, 90_000.0, -1.0, None]})
    pyreadstat.write_sav(frame, tmp_path / "p.sav", variable_format={"t": "TIME11.2"})
    [batch] = open_source(tmp_path / "p.sav").read(["t"], lambda _: None)
    assert batch["t"].to_pylist() == ["10:10:10.090000", "00:00:00", "25:00:00", "-00:00:01", None]


def test_texts_in_another_encoding_than_a_file_declares_are_read_by_declaration(tmp_path):
    pyreadstat.write_dta(pd.DataFrame({"town": ["Zürich", "Bern"]}), tmp_path / "p.dta")
    said = (tmp_path / "p.dta").read_bytes()
    (tmp_path / "p.dta").write_bytes(said.replace("Zürich".encode(), "Zürich ".encode("latin-1")))
    town = Domain("t", (Category(name="town", source="s", values=("Zürich ", "Bern")),))
    with pytest.raises(
        TableError, match=r"in another encoding than it declares; say which: .*p\.dta\?encoding=latin-1"
    ):
        population(tmp_path / "p.dta", town)
    assert points(population(f"{tmp_path / 'p.dta'}?encoding=latin-1", town)) == [(0,), (1,)]
    with pytest.raises(TableError, match="no encoding is called 'runes'"):
        population(f"{tmp_path / 'p.dta'}?encoding=runes", town)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "xlsx", "sav", "sqlite", "duckdb"])
def test_a_setting_that_files_of_a_kind_have_not_is_refused(tmp_path, ending):
    path = tmp_path / f"p.{ending}"
    path.write_bytes(b"SQLite format 3\0" if ending == "sqlite" else b"age\n")
    with pytest.raises(
        TableError, match=r"colour= is not known; (what can be said of an? |nothing can be said of an? )"
    ):
        open_source(f"{path}?colour=red")


def test_rows_above_the_names_are_passed_over(tmp_path):
    title = '<row r="1"></row><row r="2"><c t="str"><v>Staff of the office</v></c></row>'
    names = '<row r="4"><c t="str"><v>age</v></c></row>'
    rows = '<row r="5"><c><v>31</v></c></row><row r="6"></row><row r="7"><c><v>7</v></c></row>'
    book = workbook(tmp_path / "p.xlsx", {"People": title + names + rows})
    age = Domain("t", (AGE,))
    for skip in (2, 3):
        assert points(population(f"{book}?skip={skip}", age)) == [(31,), (7,)]
    assert points(population(workbook(tmp_path / "q.xlsx", {"People": '<row r="1"></row>' + names + rows}), age)) == [
        (31,),
        (7,),
    ]
    with pytest.raises(TableError, match="the first row below 9 must name the columns, and there is nothing on it"):
        open_source(f"{book}?skip=9")


@pytest.mark.parametrize(
    ("text", "seems"), [("a\tb\n1\t2\n", "it is text: if it is a CSV file"), ("<HTML><table>", "it is a web page")]
)
def test_what_is_called_a_workbook_and_is_none_is_told_apart(text, seems, tmp_path):
    (tmp_path / "p.xls").write_text(text)
    with pytest.raises(TableError, match=seems):
        open_source(tmp_path / "p.xls")


def test_a_label_of_a_missing_value_of_stata_is_no_value(tmp_path):
    pyreadstat.write_dta(
        pd.DataFrame({"x": [1, 2, "a", "z"]}),
        tmp_path / "p.dta",
        variable_value_labels={"x": {1: "yes", 2: "no", "a": "refused"}},
        missing_user_values={"x": ["a", "z"]},
    )
    attribute = '{kind = "category", values_from = "p.dta", null = true, source = "s"}'
    (tmp_path / "t.toml").write_text(f'name = "t"\nattributes.x = {attribute}')
    domain = read_domain(tmp_path / "t.toml")
    assert domain["x"].labels == ("1 yes", "2 no", "(missing)")
    assert points(population(tmp_path / "p.dta", domain)) == [(0,), (1,), (2,), (2,)]
