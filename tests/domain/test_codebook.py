"""Codebooks: values, labels and groups from a published list; what is wrong in one is named by file and line."""

import json
from pathlib import Path

import pytest

from discreet.domain.attribute import Category
from discreet.domain.read import domain_text, parse_domain, read_domain
from discreet.errors import DomainError

ICD = """code,label,parent
390-459,Circulatory system,
401,Essential hypertension,410-like
250,Diabetes mellitus,240-279
410-like,Heart,390-459
410,"Infarction, acute",410-like
V45,,
"""
NESTED = {
    "source": "ICD-9, CDC 2011",
    "codes": [
        {"code": "390-459", "label": "Circulatory system", "children": [{"code": 401, "label": "Hypertension"}]},
        {"code": "V45"},
    ],
}


def described(
    folder: Path, book: str, name: str = "icd9.csv", said: str = "", source: str = 'source = "ICD-9"'
) -> Category:
    (folder / name).write_text(book, encoding="utf-8")
    values_from = said or f'"{name}"'
    lines = ['name = "t"', "[attributes.diag]", 'kind = "category"', f"values_from = {values_from}", source]
    (folder / "t.toml").write_text("\n".join(lines), encoding="utf-8")
    [attribute] = read_domain(folder / "t.toml").attributes
    assert isinstance(attribute, Category)
    return attribute


def test_values_are_the_codes_that_are_nobodys_parent_group_by_group(tmp_path: Path) -> None:
    diag = described(tmp_path, ICD)
    assert diag.values == ("401", "410", "250", "V45")
    assert diag.labels == ("401 Essential hypertension", "410 Infarction, acute", "250 Diabetes mellitus", "V45")
    assert diag.hierarchy == (
        ("Circulatory system", (("Heart", ("401", "410")),)),
        ("240-279", ("250",)),
        "V45",
    )
    assert diag.levels == (("Circulatory system",) * 2 + ("240-279", None), ("Heart", "Heart", None, None))


def test_a_value_is_asked_for_by_code_label_or_both(tmp_path: Path) -> None:
    diag = described(tmp_path, ICD)
    assert [diag.code(text) for text in ("410", "Infarction, acute", "410 Infarction, acute", "Heart")] == [
        1,
        1,
        1,
        None,
    ]


def test_a_domains_text_holds_its_codebooks_and_is_the_same_without_their_files(tmp_path: Path) -> None:
    diag = described(tmp_path, ICD.replace("Heart", 'Heart "♥" \\ \x7f \t'.replace('"', "'")))
    text = domain_text(tmp_path / "t.toml")
    (tmp_path / "icd9.csv").unlink()
    assert parse_domain(text).attributes == (diag,)
    (tmp_path / "again.toml").write_text(text, encoding="utf-8")
    assert domain_text(tmp_path / "again.toml") == text


def test_json_may_nest_and_name_the_source(tmp_path: Path) -> None:
    diag = described(tmp_path, json.dumps(NESTED), "icd9.json", source="")
    assert (diag.source, diag.labels) == ("ICD-9, CDC 2011", ("401 Hypertension", "V45"))
    assert diag.hierarchy == (("Circulatory system", ("401",)), "V45")


def test_columns_may_have_other_names(tmp_path: Path) -> None:
    book = "key;title;chapter\n250;Diabetes;Endocrine\n"
    diag = described(tmp_path, book, said='{file = "icd9.csv", code = "key", label = "title", parent = "chapter"}')
    assert (diag.labels, diag.hierarchy) == (("250 Diabetes",), (("Endocrine", ("250",)),))


def test_many_codes_are_one_line(tmp_path: Path) -> None:
    book = "code,label,parent\n" + "".join(f"{n:04d},number {n},{n // 100}\n" for n in range(1331))
    diag = described(tmp_path, book)
    assert (diag.cells, len(diag.levels[0])) == (1331, 1331)


NACE = """code,label,parent
12,Manufacture of tobacco products,
12.0,Manufacture of tobacco products,12
12.00,Manufacture of tobacco products,12.0
99,"Other, not elsewhere classified",
99.9,Bodies,99
"""


def test_a_group_and_the_one_code_in_it_may_have_the_same_label_as_in_published_lists(tmp_path: Path) -> None:
    job = described(tmp_path, NACE)
    assert job.labels == ("12.00 Manufacture of tobacco products", "99.9 Bodies")
    assert job.code("Manufacture of tobacco products") == 0
    tobacco = "Manufacture of tobacco products"
    assert job.levels == ((tobacco, "Other, not elsewhere classified"), (tobacco, None))


REFUSED = [
    ("code,label\n1,a\n1,b\n", "icd9.csv: line 3: code: '1' is listed before, line 2"),
    ("code,parent\n1,a\n1,b\n", "icd9.csv: line 3: code: '1' is listed before, line 2 with another parent"),
    ("code,parent\n1,2\n2,3\n3,1\n", "icd9.csv: line 2: parent: '1' is its own parent"),
    ("code,parent\n1,1\n", "icd9.csv: line 2: parent: '1' is its own parent"),
    ("code,label\n1,one\n2,one\n", "icd9.csv: line 3: label: 'one' is the label of '1' too, line 2"),
    (
        "code,label,parent\nA,one,\nB,two,\nC,one,\n1,x,A\n2,y,B\n3,z,C\n",
        "icd9.csv: line 4: label: 'one' is the label of 'A' too, line 2",
    ),
    ("code,label\n1,2\n2,two\n", "icd9.csv: line 2: label: '2' is the code of '2' too, line 3"),
    ("code,label\n1,one\n,two\n", "icd9.csv: line 3: code: is empty"),
    ("kode,label\n1,one\n", "icd9.csv: line 1: there is no column 'code'; there are kode, label"),
    ("code,label\n", "icd9.csv: a codebook needs at least one code"),
    ('code,label\n1,"one\n2,two\n', "not CSV: is a quote left open?"),
]


@pytest.mark.parametrize(("book", "message"), REFUSED)
def test_a_codebook_that_contradicts_itself_is_refused_by_file_line_and_column(
    book: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(DomainError) as refusal:
        described(tmp_path, book)
    assert message in str(refusal.value)


BAD_JSON = [
    ("[1]", 'icd9.json: entry 1: must be {"code": …'),
    ("{}", "icd9.json: a codebook is a list of codes"),
    ("[", "icd9.json: not JSON"),
    (
        '[{"code": "1", "title": "x"}]',
        "icd9.json: entry 1: unknown key 'title'; allowed: code, label, parent, children",
    ),
    ('[{"code": true}]', "icd9.json: entry 1: code, label and parent are texts"),
    ('[{"code": "1", "children": [{"label": "x"}]}]', "icd9.json: entry 1, entry 1: code: is empty"),
    ('[{"code": "1", "children": 3}]', "icd9.json: entry 1: children is a list of codes"),
]


@pytest.mark.parametrize(("book", "message"), BAD_JSON)
def test_json_that_is_no_codebook_is_refused_by_entry(book: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DomainError) as refusal:
        described(tmp_path, book, "icd9.json")
    assert message in str(refusal.value)


def test_a_codebook_that_is_not_there_or_not_utf8_is_refused_by_its_path(tmp_path: Path) -> None:
    described(tmp_path, ICD)
    (tmp_path / "icd9.csv").write_bytes("code,label\n1,a\n2,é\n".encode("latin-1"))
    with pytest.raises(DomainError, match=r"icd9.csv: line 3: not in UTF-8"):
        read_domain(tmp_path / "t.toml")
    (tmp_path / "icd9.csv").unlink()
    with pytest.raises(DomainError, match="cannot read the codebook"):
        read_domain(tmp_path / "t.toml")


WRONG_KEYS = [
    ("values_from = 3", "values_from: must be a codebook's file"),
    ('values_from = {file = "b.csv", colour = "red"}', "values_from: allowed: file, code, label, parent"),
    ('values_from = "b.csv"\nvalues = ["1"]', "values: the codebook has the values"),
    ('values_from = "c.csv"', "values_from: the codebook c.csv is not here"),
    ('values_from = "b.csv"\nprefix = 1', "prefix: must be true or false"),
    ('values_from = "b.csv"\nmissing = ["1"]', "missing: '1' is one of its values"),
]


@pytest.mark.parametrize(("lines", "message"), WRONG_KEYS)
def test_a_domain_that_misnames_its_codebook_is_refused_by_key(lines: str, message: str) -> None:
    text = (
        f'name = "t"\n[attributes.x]\nkind = "category"\nsource = "s"\n{lines}\n[codebooks]\n"b.csv" = "code\\n1\\n"\n'
    )
    with pytest.raises(DomainError) as refusal:
        parse_domain(text)
    assert message in str(refusal.value)
