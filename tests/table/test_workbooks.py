"""Workbooks, and files of SPSS, Stata and SAS: values as the text that writes them, and labels as codebooks."""

from datetime import date

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
